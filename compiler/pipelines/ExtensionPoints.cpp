#include "compiler/pipelines/ExtensionPoints.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/PluginName.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace aitune {
namespace {

struct Registered {
  PassPoint point;
  PassFactory factory;
  std::string plugin; ///< ofPlugin
};

std::vector<Registered> &registered() {
  static auto *const all = new std::vector<Registered>();
  return *all;
}

const char *nameOf(PassPoint point) {
  switch (point) {
  case PassPoint::AfterImport:
    return "AfterImport";
  case PassPoint::AfterTransforms:
    return "AfterTransforms";
  case PassPoint::AfterFusion:
    return "AfterFusion";
  case PassPoint::BeforeCodegen:
    return "BeforeCodegen";
  }
  return "";
}

/// In place of a pass that cannot run: the compilation ends with the reason.
struct UnusablePass : PassWrapper<UnusablePass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnusablePass)
  explicit UnusablePass(std::string reason) : reason(std::move(reason)) {}
  StringRef getArgument() const final { return "ait-unusable-pass"; }
  void runOnOperation() final {
    getOperation()->emitError() << reason;
    signalPassFailure();
  }
  std::string reason;
};

/// Runs a pass of a plug-in. What it throws is an error on the operation, and
/// unwinds MLIR's frames, which have no handlers and leave memory behind.
class GuardedPass : public OperationPass<> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GuardedPass)
  /// `what`: the pass, as errors name it.
  GuardedPass(std::unique_ptr<Pass> pass, std::string what)
      : OperationPass(resolveTypeID()), what(std::move(what)) {
    pipeline.addPass(std::move(pass));
  }

  StringRef getName() const final { return "GuardedPass"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    pipeline.getDependentDialects(registry);
  }
  std::unique_ptr<Pass> clonePass() const final {
    return std::make_unique<GuardedPass>(*this);
  }
  void runOnOperation() final {
    LogicalResult ran = failure();
    const std::string thrown =
        whatIsThrown([&] { ran = runPipeline(pipeline, getOperation()); });
    if (!thrown.empty())
      getOperation()->emitError() << what << ": " << thrown;
    if (failed(ran))
      signalPassFailure();
  }

private:
  OpPassManager pipeline;
  std::string what;
};

} // namespace

void registerPass(PassPoint point, PassFactory factory) {
  registered().push_back({point, std::move(factory), ofPlugin()});
}

void addRegisteredPasses(PassPoint point, OpPassManager &passManager) {
  for (const Registered &added : registered()) {
    if (added.point != point)
      continue;
    std::unique_ptr<Pass> pass;
    const std::string thrown =
        whatIsThrown([&] { pass = added.factory ? added.factory() : nullptr; });
    const std::string what =
        std::string("a pass at ") + nameOf(point) + added.plugin;
    if (!pass) {
      passManager.addPass(std::make_unique<UnusablePass>(
          what + ": its factory gave none" +
          (thrown.empty() ? "" : ": " + thrown)));
      continue;
    }
    const std::optional<StringRef> operation = pass->getOpName();
    const bool onFunctions = operation == func::FuncOp::getOperationName();
    const std::string named = what + ": " + pass->getName().str();
    if (operation && operation != ModuleOp::getOperationName() && !onFunctions)
      passManager.addPass(std::make_unique<UnusablePass>(
          named + " is on " + operation->str() +
          ", where a pass on builtin.module, on func.func or on any operation "
          "can run"));
    else
      (onFunctions ? passManager.nest<func::FuncOp>() : passManager)
          .addPass(std::make_unique<GuardedPass>(std::move(pass), named));
  }
}

} // namespace aitune
