#include "compiler/candidates/JudgeKernel.h"

#include "compiler/candidates/LaunchModel.h"

using namespace mlir;

namespace aitune {
namespace {

/// The number of the constant of the pool that `value` is, perhaps reshaped.
int64_t constantOf(Value value) {
  while (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    value = reshape.getInput();
  return value.getDefiningOp<ait::ConstantOp>().getIndex();
}

} // namespace

std::unique_ptr<KernelJudge> judgeOf(const Kernel &kernel,
                                     absl::Span<const ConstantTensor> constants,
                                     const ReferenceOptions &options,
                                     const StreamedConstants &streamed) {
  ait::LaunchOp launch = kernel.launches.front();
  int inputs = 0;
  std::vector<JudgedArgument> arguments;
  for (Value input : launch.getInputs()) {
    JudgedArgument &argument = arguments.emplace_back();
    if (!isOfPool(input)) {
      argument.input = inputs++;
      continue;
    }
    const int64_t constant = constantOf(input);
    const auto found =
        llvm::find(streamed.constants, static_cast<int>(constant));
    if (found != streamed.constants.end())
      argument.input =
          streamed.first + static_cast<int>(found - streamed.constants.begin());
    else if (constant < static_cast<int64_t>(constants.size()))
      argument.constant = constants[constant].view;
  }
  return std::make_unique<KernelJudge>(kernel.function, std::move(arguments),
                                       options);
}

} // namespace aitune
