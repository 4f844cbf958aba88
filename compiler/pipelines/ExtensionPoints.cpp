#include "compiler/pipelines/ExtensionPoints.h"

#include <utility>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace aitune {
namespace {

std::vector<std::pair<PassPoint, PassFactory>> &registered() {
  static auto *const all = new std::vector<std::pair<PassPoint, PassFactory>>();
  return *all;
}

} // namespace

void registerPass(PassPoint point, PassFactory factory) {
  registered().emplace_back(point, std::move(factory));
}

void addRegisteredPasses(PassPoint point, OpPassManager &passManager) {
  for (const auto &[where, factory] : registered()) {
    if (where != point)
      continue;
    std::unique_ptr<Pass> pass = factory();
    if (pass->getOpName() == func::FuncOp::getOperationName())
      passManager.nest<func::FuncOp>().addPass(std::move(pass));
    else
      passManager.addPass(std::move(pass));
  }
}

} // namespace aitune
