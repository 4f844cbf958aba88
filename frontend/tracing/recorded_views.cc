#include "frontend/tracing/recorded_views.h"

#include <stdexcept>
#include <utility>

namespace aitune::frontend {

RecordedViews::RecordedViews(const std::vector<ViewStep>& steps,
                             std::vector<ArgumentTemplate>& recipes) {
  for (const ViewStep& step : steps) {
    steps_.push_back({c10::Dispatcher::singleton().findSchemaOrThrow(
                          step.name.c_str(), step.overload.c_str()),
                      step.arguments.size() - 1});
    recipes.insert(recipes.end(), step.arguments.begin() + 1,
                   step.arguments.end());
  }
}

at::Tensor RecordedViews::Apply(const at::Tensor& whole,
                                std::vector<c10::IValue>& stack,
                                size_t& next) const {
  at::Tensor view = whole;
  for (const Step& step : steps_) {
    std::vector<c10::IValue> arguments = {view};
    for (size_t i = 0; i < step.arguments; ++i)
      arguments.push_back(std::move(stack.at(next++)));
    step.run.callBoxed(arguments);
    view = arguments.at(0).toTensor();
  }
  return view;
}

at::Tensor RecordedViews::Of(const at::Tensor& whole,
                             std::vector<c10::IValue>& stack,
                             size_t& next) const {
  at::Tensor view = Apply(whole, stack, next);
  if (!view.is_alias_of(whole))
    throw std::runtime_error(
        "what is to be a part of the model's tensor is no view of it");
  return view;
}

}  // namespace aitune::frontend
