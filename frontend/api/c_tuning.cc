// Tuning a module, in C.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/backend_choice.h"
#include "frontend/api/c_handles.h"
#include "frontend/torchscript/model_inputs.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/strategy.h"

namespace {

using ait::Need;

// The strategy of a program that names none.
constexpr char kDefaultStrategy[] = "MaxThroughput";

// Adds `count` texts of an array that is called `what`, "backends" say.
absl::Status AddTexts(const char* const* texts, size_t count, const char* what,
                      std::vector<std::string>& out) {
  if (count > 0) AITUNE_RETURN_IF_ERROR(Need(texts, what));
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat(what, "[", i, "] is NULL"));
    out.emplace_back(texts[i]);
  }
  return absl::OkStatus();
}

absl::Status Tune(ait_module& module, const ait_tune_options& with) {
  AITUNE_ASSIGN_OR_RETURN(
      const auto strategy,
      aitune::StrategyByName(
          with.strategy == nullptr ? kDefaultStrategy : with.strategy,
          with.milliseconds));
  ait::TuneOptions options;
  std::vector<std::string> backends;
  AITUNE_RETURN_IF_ERROR(
      AddTexts(with.backends, with.backend_count, "backends", backends));
  for (const std::string& text : backends) {
    AITUNE_ASSIGN_OR_RETURN(ait::BackendChoice choice,
                            ait::ParseBackendChoice(text));
    options.backends.push_back(std::move(choice));
  }
  aitune::frontend::InputChoice inputs;
  AITUNE_RETURN_IF_ERROR(
      AddTexts(with.inputs, with.input_count, "inputs", inputs.specs));
  if (!inputs.specs.empty()) {
    AITUNE_ASSIGN_OR_RETURN(options.inputs, module.module->Inputs(inputs));
  }
  if (with.batch_count > 0) {
    AITUNE_RETURN_IF_ERROR(Need(with.batches, "batches"));
    options.batches.assign(with.batches, with.batches + with.batch_count);
  }
  if (with.tolerance_is_set != 0) options.tolerance = with.tolerance;
  if (with.timing_milliseconds < 0 || std::isnan(with.timing_milliseconds))
    return absl::InvalidArgumentError(
        absl::StrCat("timing_milliseconds is ", with.timing_milliseconds,
                     "; give 0 for the default, or more"));
  if (with.timing_milliseconds > 0)
    options.timing.milliseconds = with.timing_milliseconds;
  options.seed = with.seed;
  return module.module->Tune(*strategy, options);
}

}  // namespace

ait_error* ait_module_tune_with(ait_module* module,
                                const ait_tune_options* options) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(options, "options"));
    AITUNE_RETURN_IF_ERROR(
        ait::CheckFields(*options, &ait_tune_options::seed, "options"));
    return Tune(*module, *options);
  });
}

ait_error* ait_module_tune(ait_module* module, const char* strategy,
                           double milliseconds) {
  return ait_module_tune_for(module, strategy, milliseconds, -1, nullptr, 0);
}

ait_error* ait_module_tune_within(ait_module* module, const char* strategy,
                                  double milliseconds, double tolerance) {
  return ait_module_tune_for(module, strategy, milliseconds, tolerance, nullptr,
                             0);
}

ait_error* ait_module_tune_for(ait_module* module, const char* strategy,
                               double milliseconds, double tolerance,
                               const char* const* inputs, size_t count) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(strategy, "strategy"));
    ait_tune_options options = {};
    options.strategy = strategy;
    options.milliseconds = milliseconds;
    options.tolerance_is_set = tolerance < 0 ? 0 : 1;
    options.tolerance = tolerance;
    options.inputs = inputs;
    options.input_count = count;
    return Tune(*module, options);
  });
}

ait_error* ait_module_warm_up(const ait_module* module,
                              const ait_tensor* inputs, size_t count) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    if (inputs == nullptr && count == 0) return module->module->WarmUp();
    AITUNE_ASSIGN_OR_RETURN(aitune::frontend::ValueList arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    return ait::OnBorrowed(
        std::move(arguments), [&](const aitune::frontend::ValueList& call) {
          return module->module->WarmUp(absl::MakeConstSpan(&call, 1));
        });
  });
}

ait_error* ait_module_warm_up_for(const ait_module* module,
                                  const char* const* inputs, size_t count) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(inputs, "inputs"));
    aitune::frontend::InputChoice choice;
    AITUNE_RETURN_IF_ERROR(AddTexts(inputs, count, "inputs", choice.specs));
    AITUNE_ASSIGN_OR_RETURN(const aitune::frontend::ModelInputs made,
                            module->module->Inputs(choice));
    return module->module->WarmUpInputs(made);
  });
}

ait_error* ait_module_cancel_tune(ait_module* module) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    module->module->CancelTune();
    return absl::OkStatus();
  });
}
