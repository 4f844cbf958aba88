#include "compiler/candidates/LaunchModel.h"

#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::ElementsAre;

namespace aitune {
namespace {

/// Two launches of a group, @first and @second, with a third on each side.
constexpr char kModel[] = R"(
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  %c = ait.constant 0 : tensor<2x4xf32>
  %0 = ait.launch @before(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1:2 = ait.launch @first(%0, %0) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %2 = ait.reshape %1#0 : tensor<8xf32> -> tensor<2x4xf32>
  %3 = ait.reshape %c : tensor<2x4xf32> -> tensor<8xf32>
  %4 = ait.launch @second(%2, %3, %0) : (tensor<2x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4xf32>
  %5 = ait.reshape %1#1 : tensor<8xf32> -> tensor<2x4xf32>
  %6 = ait.reshape %5 : tensor<2x4xf32> -> tensor<8xf32>
  %7 = ait.launch @behind(%6) : (tensor<8xf32>) -> tensor<8xf32>
  return %7, %4 : tensor<8xf32>, tensor<2x4xf32>
}
func.func private @before(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ait.kind = #ait.kind<loop>} { return %x : tensor<8xf32> }
func.func private @first(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {ait.kind = #ait.kind<loop>} { return %x, %y : tensor<8xf32>, tensor<8xf32> }
func.func private @second(%x: tensor<2x4xf32>, %y: tensor<8xf32> {ait.constant}, %z: tensor<8xf32>) -> tensor<2x4xf32> attributes {ait.kind = #ait.kind<loop>} { return %x : tensor<2x4xf32> }
func.func private @behind(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ait.kind = #ait.kind<loop>} { return %x : tensor<8xf32> }
)";

TEST(LaunchModel, LaunchesPassOnWhatTheyGiveEachOther) {
  MLIRContext context;
  context.loadDialect<ait::AitDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kModel, &context);
  ASSERT_TRUE(module);
  SmallVector<ait::LaunchOp> launches(
      module->lookupSymbol<func::FuncOp>("main").getOps<ait::LaunchOp>());
  ASSERT_EQ(launches.size(), 4u);
  func::FuncOp wrapper = wrapLaunches(*module, ArrayRef(launches).slice(1, 2));
  ASSERT_TRUE(succeeded(verify(*module)));
  // What @before gives is read three times and is one argument; @behind reads a
  // reshape of the second result of @first, and the caller that of @second.
  EXPECT_EQ(wrapper.getNumArguments(), 1u);
  std::vector<std::string> operations;
  for (Operation &op : wrapper.getBody().front())
    operations.push_back(isa<ait::LaunchOp>(op)
                             ? cast<ait::LaunchOp>(op).getKernel().str()
                             : op.getName().stripDialect().str());
  EXPECT_THAT(operations, ElementsAre("first", "reshape", "constant", "reshape",
                                      "second", "return"));
  SmallVector<ait::LaunchOp> copies(wrapper.getOps<ait::LaunchOp>());
  Operation *end = wrapper.getBody().front().getTerminator();
  EXPECT_EQ(
      SmallVector<Value>(end->getOperands()),
      (SmallVector<Value>{copies[0].getResult(1), copies[1].getResult(0)}));
}

} // namespace
} // namespace aitune
