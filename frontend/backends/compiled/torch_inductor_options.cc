#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/backends/autocast_dtype.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// The one table of options: what --help prints, and how a value is taken.
struct Option {
  std::string name;
  std::function<ConfigValue(const InductorOptions&)> get;
  // The type is right already; false for a value out of range.
  std::function<bool(const ConfigValue&, InductorOptions*)> set;
  std::string range;  // for the text when `set` refuses
  std::string help;
};

Option BoolOption(std::string name, bool InductorOptions::* member,
                  std::string help) {
  return {std::move(name),
          [member](const InductorOptions& options) {
            return ConfigValue(options.*member);
          },
          [member](const ConfigValue& value, InductorOptions* options) {
            options->*member = *value.get_if<bool>();
            return true;
          },
          "", std::move(help)};
}

Option IntOption(std::string name, int64_t InductorOptions::* member,
                 std::function<bool(int64_t)> in_range, std::string range,
                 std::string help) {
  return {
      std::move(name),
      [member](const InductorOptions& options) {
        return ConfigValue(options.*member);
      },
      [member, in_range](const ConfigValue& value, InductorOptions* options) {
        options->*member = *value.get_if<int64_t>();
        return in_range(options->*member);
      },
      std::move(range), std::move(help)};
}

// Seconds; -1 stands for no limit. Integers are taken too.
Option SecondsOption(std::string name, double InductorOptions::* member,
                     std::string help) {
  return {std::move(name),
          [member](const InductorOptions& options) {
            return ConfigValue(options.*member);
          },
          [member](const ConfigValue& value, InductorOptions* options) {
            const auto* whole = value.get_if<int64_t>();
            const double seconds = whole != nullptr
                                       ? static_cast<double>(*whole)
                                       : *value.get_if<double>();
            options->*member = seconds;
            return seconds == -1 || (seconds >= 0 && std::isfinite(seconds));
          },
          "-1 or seconds that are not negative", std::move(help)};
}

Option TextOption(std::string name, std::string InductorOptions::* member,
                  std::function<bool(const std::string&)> in_range,
                  std::string range, std::string help) {
  return {
      std::move(name),
      [member](const InductorOptions& options) {
        return ConfigValue(options.*member);
      },
      [member, in_range](const ConfigValue& value, InductorOptions* options) {
        options->*member = *value.get_if<std::string>();
        return in_range(options->*member);
      },
      std::move(range), std::move(help)};
}

bool IsGuardFilter(const std::string& name) {
  return name.empty() || name == "skip_guard_on_inbuilt_nn_modules_unsafe" ||
         name == "skip_guard_on_all_nn_modules_unsafe" ||
         name == "keep_tensor_guards_unsafe" ||
         name == "skip_guard_on_globals_unsafe";
}

const std::vector<Option>& Options() {
  static const auto* const options = new std::vector<Option>{
      BoolOption("backends.cuda.matmul.allow_tf32",
                 &InductorOptions::tf32_matmul,
                 "On a GPU, round the operands of float32 matrix products to "
                 "tf32: several times faster, 10 bits of mantissa."),
      BoolOption("backends.cudnn.allow_tf32",
                 &InductorOptions::tf32_convolution,
                 "On a GPU, round the operands of float32 convolutions to "
                 "tf32, as eager does."),
      BoolOption("check_versions", &InductorOptions::check_versions,
                 "Compare each version that a call has compiled with eager, on "
                 "that call's inputs; what is wrong is replaced, at last by "
                 "LibTorch."),
      IntOption(
          "cpp.threads", &InductorOptions::cpp_threads,
          [](int64_t threads) {
            return threads == -1 || (threads > 0 && threads <= 1024);
          },
          "-1 or 1 to 1024",
          "Threads that calls compute with, and candidates are measured with; "
          "-1: as many as LibTorch uses."),
      BoolOption("emulate_precision_casts",
                 &InductorOptions::emulate_precision_casts,
                 "Round to the tensor's dtype after every operation, as eager "
                 "does, instead of once at the end of a fused group."),
      BoolOption("coordinate_descent_tuning",
                 &InductorOptions::coordinate_descent_tuning,
                 "Search the schedules of the kernels that take longest, for "
                 "20 seconds in the build if no budget is given "
                 "(`--tune-budget`). What was found is kept in the tuning "
                 "database."),
      TextOption(
          "guard_filter_fn", &InductorOptions::guard_filter_fn, IsGuardFilter,
          "'', 'skip_guard_on_inbuilt_nn_modules_unsafe', "
          "'skip_guard_on_all_nn_modules_unsafe', "
          "'keep_tensor_guards_unsafe' or 'skip_guard_on_globals_unsafe'",
          "The filter that says which guards are checked at a call; '' checks "
          "all. A guard that is skipped can let a wrong result through. Only "
          "keep_tensor_guards_unsafe finds guards to skip, those of constants: "
          "models have none on modules and globals."),
      BoolOption("max_autotune", &InductorOptions::max_autotune,
                 "Measure every candidate of each matrix product and "
                 "convolution, of the library and generated, and keep the "
                 "fastest."),
      IntOption(
          "recompile_limit", &InductorOptions::recompile_limit,
          [](int64_t limit) { return limit > 0; }, "a positive number",
          "How many versions of a graph may be compiled; LibTorch runs what "
          "they don't fit then."),
      SecondsOption(
          "recompile_total_seconds", &InductorOptions::recompile_total_seconds,
          "Seconds that the versions of later calls may take to compile, all "
          "together; LibTorch runs what no version fits then. -1: no limit."),
      SecondsOption(
          "recompile_wait_seconds", &InductorOptions::recompile_wait_seconds,
          "Seconds that a call waits for its version to be compiled; then "
          "LibTorch runs it, and the version is for later calls. -1: until it "
          "is compiled, or the call's deadline."),
      TextOption(
          "trace.debug_dir", &InductorOptions::debug_dir,
          [](const std::string&) { return true; }, "",
          "A folder for the IR after each phase, the object code and a "
          "benchmark of each kernel; '' writes none."),
      BoolOption("triton.cudagraphs", &InductorOptions::cudagraphs,
                 "Record a GPU's launches once as a CUDA graph and replay "
                 "them, at the price of memory that stays allocated."),
      BoolOption("unchecked_indices", &InductorOptions::unchecked_indices,
                 "Give some result of the tensor's own memory for an index out "
                 "of range or an integer divided by 0, instead of eager's "
                 "error.")};
  return *options;
}

absl::Status Apply(const ConfigDict& values, InductorOptions* options) {
  for (const auto& [name, value] : values) {
    const Option* found = nullptr;
    for (const Option& option : Options()) {
      if (option.name == name) found = &option;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Unexpected optimization option ", name, ", known options are ",
          absl::StrJoin(Options(), ", ",
                        [](std::string* out, const Option& option) {
                          absl::StrAppend(out, option.name);
                        })));
    }
    const ConfigValue expected = found->get(*options);
    const bool is_number = value.get_if<int64_t>() != nullptr &&
                           expected.get_if<double>() != nullptr;
    if (value.variant().index() != expected.variant().index() && !is_number) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unexpected type of option ", name, ", got ",
                       std::string(PythonTypeName(value)), ", should be ",
                       std::string(PythonTypeName(expected))));
    }
    if (!found->set(value, options)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid value of option ", name, ": ",
                       ToPythonStr(value), "; it must be ", found->range));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OptionDescription> ListOptions() {
  std::vector<OptionDescription> list;
  for (const Option& option : Options())
    list.push_back({option.name, option.get(InductorOptions()), option.help});
  return list;
}

std::vector<ModeDescription> ListModeOptions() {
  return {
      {"default", {}, "A good balance of the time to compile and speed."},
      {"reduce-overhead",
       {{"triton.cudagraphs", true}},
       "Least time for each launch, for small batches on a GPU; takes more "
       "memory."},
      {"max-autotune-no-cudagraphs",
       {{"max_autotune", true}},
       "The fastest kernels that measuring finds; takes longest to compile."},
      {"max-autotune",
       {{"max_autotune", true}, {"triton.cudagraphs", true}},
       "As max-autotune-no-cudagraphs, and as reduce-overhead on a GPU."}};
}

absl::StatusOr<InductorOptions> ResolveOptions(
    const TorchInductorBackendConfig& config) {
  if (config.mode.has_value() && config.options.has_value()) {
    return absl::InvalidArgumentError(
        "Cannot specify both 'mode' and 'options' parameters in config. "
        "Use either 'mode' for predefined configurations or 'options' "
        "for custom configurations, but not both.");
  }
  AITUNE_RETURN_IF_ERROR(ValidateAutocastDtype(config.autocast_dtype));
  InductorOptions options;
  if (config.options.has_value())
    AITUNE_RETURN_IF_ERROR(Apply(*config.options, &options));
  if (!config.mode.has_value()) return options;
  const std::vector<ModeDescription> modes = ListModeOptions();
  for (const ModeDescription& mode : modes) {
    if (mode.name != *config.mode) continue;
    AITUNE_RETURN_IF_ERROR(Apply(mode.options, &options));
    return options;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Invalid mode: ", *config.mode, ". It must be one of ",
      absl::StrJoin(modes, ", ",
                    [](std::string* out, const ModeDescription& mode) {
                      absl::StrAppend(out, mode.name);
                    }),
      "."));
}

}  // namespace aitune::frontend
