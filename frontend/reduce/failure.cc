#include "frontend/reduce/failure.h"

#include <array>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace aitune::reduce {
namespace {

using Kind = Failure::Kind;
using nlohmann::json;

constexpr std::array<std::pair<Kind, const char*>, 6> kNames = {
    {{Kind::kNone, "none"},
     {Kind::kWrong, "wrong"},
     {Kind::kCrash, "crash"},
     {Kind::kHang, "hang"},
     {Kind::kError, "error"},
     {Kind::kSlow, "slow"}}};

// Exit codes of `aitune tune`; frontend/cli/options.h lists them.
constexpr int kExitSuccess = 0, kExitUsage = 2, kExitWrong = 3;
// The least share of the whole program's loss that a slow candidate loses.
constexpr double kShareOfLoss = 0.1;

// The program's own message: the last line, without its name.
std::string Message(const std::string& errors) {
  const std::vector<std::string> lines =
      absl::StrSplit(errors, '\n', absl::SkipWhitespace());
  if (lines.empty()) return "";
  return std::string(absl::StripPrefix(lines.back(), "aitune: "));
}

std::string WithoutNumbers(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) {
      result += c;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

// The text of a case that differs: its note, or the problem of an output.
std::string CaseText(const json& entry) {
  if (entry.contains("note")) return entry.at("note").get<std::string>();
  for (const json& output : entry.at("outputs")) {
    if (output.at("agrees").get<bool>()) continue;
    const std::string name =
        absl::StrCat("output", output.at("output").get<std::string>());
    if (output.contains("problem"))
      return absl::StrCat(name, ": ", output.at("problem").get<std::string>());
    const json& error = output.at("max_error");
    return absl::StrCat(name, " differs from eager",
                        error.is_number()
                            ? absl::StrFormat(" by %.2g", error.get<double>())
                            : std::string());
  }
  return "differs from eager";
}

Failure WrongResult(const json& report) {
  for (const json& entry : report.at("check").at("cases")) {
    if (entry.at("skipped").get<bool>() || entry.at("agrees").get<bool>())
      continue;
    const std::string name = entry.at("name").get<std::string>();
    Failure failure{Kind::kWrong, absl::StrCat(name, ": ", CaseText(entry)),
                    name};
    if (entry.contains("note")) failure.signature += ", raises";
    return failure;
  }
  return {Kind::kNone, "eager itself raises for all inputs of the check", ""};
}

Failure Slowness(const json& report, double factor) {
  const json& timing = report.at("timing");
  const auto ours = timing.at("ours").at("median").get<double>();
  const auto eager = timing.at("eager").at("median").get<double>();
  Failure failure;
  failure.text = absl::StrFormat("%.4g ms a call, %.3g times eager's %.4g ms",
                                 ours, ours / eager, eager);
  if (ours <= factor * eager) return failure;
  failure.kind = Kind::kSlow;
  failure.lost_milliseconds = ours - eager;
  return failure;
}

}  // namespace

std::string Name(Kind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "";
}

std::optional<Kind> KindNamed(absl::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

absl::StatusOr<Failure> FailureShown(const ChildOutcome& outcome,
                                     const std::string& json_text, double limit,
                                     std::optional<double> factor) {
  switch (outcome.end) {
    case ChildOutcome::End::kStopped:
      return Failure();
    case ChildOutcome::End::kTimedOut:
      return Failure{Kind::kHang, absl::StrFormat("not done in %g s", limit),
                     ""};
    case ChildOutcome::End::kSignaled:
      return Failure{Kind::kCrash, strsignal(outcome.signal),
                     absl::StrCat(outcome.signal)};
    case ChildOutcome::End::kExited:
      break;
  }
  const std::string message = Message(outcome.errors);
  if (outcome.exit_code == kExitUsage)
    return absl::InvalidArgumentError(message);
  if (outcome.exit_code == kExitSuccess && !factor) return Failure();
  if (outcome.exit_code != kExitSuccess && outcome.exit_code != kExitWrong)
    return Failure{Kind::kError, message, WithoutNumbers(message)};
  try {
    const json report = json::parse(json_text);
    return outcome.exit_code == kExitWrong ? WrongResult(report)
                                           : Slowness(report, *factor);
  } catch (const json::exception& error) {
    return absl::InternalError(absl::StrCat(
        "the report of `aitune tune` cannot be read (", error.what(),
        "); the disk of the folder for temporary "
        "files, TMPDIR, may be full"));
  }
}

bool SameFailure(const Failure& whole, const Failure& candidate) {
  return whole.kind == candidate.kind &&
         whole.signature == candidate.signature &&
         candidate.lost_milliseconds >= kShareOfLoss * whole.lost_milliseconds;
}

}  // namespace aitune::reduce
