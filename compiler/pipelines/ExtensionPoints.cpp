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
    if (!operation || operation == ModuleOp::getOperationName())
      passManager.addPass(std::move(pass));
    else if (operation == func::FuncOp::getOperationName())
      passManager.nest<func::FuncOp>().addPass(std::move(pass));
    else
      passManager.addPass(std::make_unique<UnusablePass>(
          what + ": " + pass->getName().str() + " is on " + operation->str() +
          ", where a pass on builtin.module, on func.func or on any operation "
          "can run"));
  }
}

} // namespace aitune
