#include "frontend/compiled_model/replace_weights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/trace/outlined_program.h"
#include "frontend/trace/print_trace.h"
#include "frontend/trace/trace.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// `weights` are the names of some.
absl::Status Refuse(const std::string& weights, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the new elements of ", weights, " need another build: ", why,
      "; tune the module again with them"));
}

absl::StatusOr<bool> SameBytes(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  if (a.data == b.data) return true;
  AITUNE_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(a.dtype, a.sizes));
  return bytes == 0 || std::memcmp(a.data, b.data, bytes) == 0;
}

// The weights that differ between the models, as "'fc.weight', 'fc.bias'".
std::string DifferingWeights(const Model& a, const Model& b) {
  constexpr size_t kShown = 4;
  const std::vector<ConstantTensor> ours = ModelTensors(a),
                                    theirs = ModelTensors(b);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const absl::StatusOr<bool> same = SameBytes(ours[i].view, theirs[i].view);
    if (same.ok() && !*same)
      names.push_back(absl::StrCat("'", ours[i].name, "'"));
  }
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// Bit by bit: a printed trace rounds them.
bool SameNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool SameNumbers(const Argument& a, const Argument& b) {
  if (const auto* number = std::get_if<double>(&a)) {
    const auto* other = std::get_if<double>(&b);
    return other != nullptr && SameNumbers(std::vector<double>{*number},
                                           std::vector<double>{*other});
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&a)) {
    const auto* others = std::get_if<std::vector<double>>(&b);
    return others != nullptr && SameNumbers(*numbers, *others);
  }
  return true;
}

// Whether both traces call the same operators with the same arguments, but for
// the elements of constants.
bool SameProgram(const Trace& a, const Trace& b) {
  if (PrintTrace(a) != PrintTrace(b) || a.ops.size() != b.ops.size() ||
      a.constraints != b.constraints ||
      a.constants.size() != b.constants.size())
    return false;
  for (size_t i = 0; i < a.ops.size(); ++i) {
    const std::vector<Argument>& ours = a.ops[i].arguments;
    const std::vector<Argument>& theirs = b.ops[i].arguments;
    if (!std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const Argument& x, const Argument& y) {
                      return SameNumbers(x, y);
                    }))
      return false;
  }
  return true;
}

// What the compiler made of a constant of the trace beside reading it; empty if
// nothing.
std::string MadeOf(const ConstantTensor& constant) {
  if (ElementCount(constant.view.sizes) == 1)
    return "it is a number in the compiled code";
  if (!IsFloatingPoint(constant.view.dtype))
    return "the compiled code relies on the range of these integers";
  return "";
}

bool IsUsed(const ConstantTensor& constant) {
  return constant.owner != nullptr || constant.view.data != nullptr;
}

}  // namespace

absl::StatusOr<ArtifactBlobs> ReplaceWeights(const ArtifactBlobs& stored,
                                             const IdentifiedModel& old,
                                             const IdentifiedModel& changed,
                                             std::string_view gpu) {
  AITUNE_ASSIGN_OR_RETURN(
      CompiledParts parts,
      ReadArtifact(stored.model, stored.constants, old.model, old.sha256, gpu));
  AITUNE_ASSIGN_OR_RETURN(const Trace before, TraceAgain(old.model, parts));
  AITUNE_ASSIGN_OR_RETURN(Trace after, TraceAgain(changed.model, parts));
  // A constant has the name of a weight, or none where tracing computed it.
  const auto refuse = [&](const std::string& name, const std::string& why) {
    return Refuse(name.empty() ? DifferingWeights(old.model, changed.model)
                               : absl::StrCat("'", name, "'"),
                  why);
  };
  if (!SameProgram(before, after))
    return refuse("",
                  "the program decides or computes sizes by weights, and "
                  "takes another path with the new ones");
  const size_t count = before.constants.size();
  const auto other_trace = [] {
    return absl::FailedPreconditionError(
        "the stored model does not fit its trace; tune the module again");
  };
  if (parts.constants.size() < count) return other_trace();
  std::vector<bool> differs(count);
  std::string first;  // the first weight that differs
  for (size_t i = 0; i < count; ++i) {
    const ConstantTensor& was = before.constants[i];
    ConstantTensor& is = after.constants[i];
    AITUNE_ASSIGN_OR_RETURN(const bool same, SameBytes(was.view, is.view));
    differs[i] = !same;
    if (differs[i]) {
      if (first.empty()) first = was.name;
      if (const std::string made = MadeOf(was); !made.empty())
        return refuse(was.name, made);
    }
    if (!IsUsed(parts.constants[i])) continue;
    AITUNE_ASSIGN_OR_RETURN(const bool known,
                            SameBytes(parts.constants[i].view, was.view));
    if (!known) return other_trace();
    parts.constants[i] = std::move(is);
  }
  const bool any =
      std::find(differs.begin(), differs.end(), true) != differs.end();
  for (const QuantizedLayer& layer : parts.report.quantized_layers) {
    if (any && layer.refusal.empty())
      return refuse(first,
                    absl::StrCat("layers are quantised, such as ", layer.layer,
                                 ", and what is in 8 bits was chosen "
                                 "for the old weights"));
  }
  // What the compiler computed from constants is named after them.
  for (size_t i = count; any && i < parts.constants.size(); ++i) {
    if (!IsUsed(parts.constants[i])) continue;
    const std::string& name = parts.constants[i].name;
    bool found = false;
    for (size_t j = 0; j < count; ++j) {
      if (name.empty() || before.constants[j].name != name) continue;
      found = true;
      if (differs[j])
        return refuse(name,
                      "the compiler stored this filter in an order of its own");
    }
    if (!found)
      return refuse("",
                    "the compiler stored a filter, or another constant, "
                    "in an order of its own");
  }
  for (OutlinedParts& outlined : parts.outlined) {
    const auto place = static_cast<size_t>(outlined.program);
    if (outlined.program < 0 || place >= before.outlined.size() ||
        place >= after.outlined.size())
      return other_trace();
    const OutlinedProgram &was = *before.outlined[place],
                          &is = *after.outlined[place];
    for (std::shared_ptr<const ArtifactBlobs>& version : outlined.versions) {
      AITUNE_ASSIGN_OR_RETURN(
          ArtifactBlobs replaced,
          ReplaceWeights(*version, {was.model(), outlined.sha256},
                         {is.model(), outlined.sha256}, gpu));
      version = std::make_shared<const ArtifactBlobs>(std::move(replaced));
    }
  }
  parts.output_structure = std::move(after.output_structure);
  return WriteArtifact(parts, changed.model, changed.sha256);
}

}  // namespace aitune::frontend
