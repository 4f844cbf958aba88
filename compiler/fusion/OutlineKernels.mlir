// RUN: aitune-opt %s -split-input-file -ait-outline-kernels | FileCheck %s

// Two equal kernels share a function, one of another size does not.
// CHECK-LABEL: func @main
func.func @main(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ait.launch @matmul_gelu_0(%arg0, %arg2)
  // CHECK-NEXT: %[[B:.*]] = ait.launch @matmul_gelu_0(%[[A]], %arg2)
  // CHECK-NEXT: %[[C:.*]] = ait.launch @matmul_gelu_1(%arg1, %arg2)
  // CHECK-NEXT: %[[D:.*]] = ait.launch @softmax_0(%[[C]])
  // CHECK-NEXT: return %[[A]], %[[B]], %[[D]]
  %0 = ait.kernel <matmul>(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>):
    %1 = ait.matmul %a, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %2 = ait.gelu %1 : tensor<2x4xf32>
    ait.yield %2 : tensor<2x4xf32>
  }
  %3 = ait.kernel <matmul>(%0, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%c: tensor<2x4xf32>, %d: tensor<4x4xf32>):
    %4 = ait.matmul %c, %d : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %5 = ait.gelu %4 : tensor<2x4xf32>
    ait.yield %5 : tensor<2x4xf32>
  }
  %6 = ait.kernel <matmul>(%y, %w) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>, %b: tensor<4x4xf32>):
    %7 = ait.matmul %a, %b : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %8 = ait.gelu %7 : tensor<3x4xf32>
    ait.yield %8 : tensor<3x4xf32>
  }
  %9 = ait.kernel <loop>(%6) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%a: tensor<3x4xf32>):
    %10 = ait.amax %a {dims = array<i64: 1>} : tensor<3x4xf32> -> tensor<3x1xf32>
    %11 = ait.expand %10 : tensor<3x1xf32> -> tensor<3x4xf32>
    %12 = ait.sub %a, %11 : tensor<3x4xf32>
    %13 = ait.exp %12 : tensor<3x4xf32>
    %14 = ait.sum %13 {dims = array<i64: 1>} : tensor<3x4xf32> -> tensor<3x1xf32>
    %15 = ait.expand %14 : tensor<3x1xf32> -> tensor<3x4xf32>
    %16 = ait.div %13, %15 : tensor<3x4xf32>
    ait.yield %16 : tensor<3x4xf32>
  }
  return %0, %3, %9 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>
}

// CHECK-NOT: ait.kernel
// CHECK: func.func private @matmul_gelu_0(%arg0: tensor<2x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<2x4xf32>
// CHECK-SAME: attributes {ait.config = {}, ait.kind = #ait.kind<matmul>}
// CHECK-NEXT: ait.matmul
// CHECK-NEXT: ait.gelu
// CHECK-NEXT: return
// CHECK: func.func private @matmul_gelu_1(%arg0: tensor<3x4xf32>
// CHECK: func.func private @softmax_0
// CHECK-SAME: ait.kind = #ait.kind<loop>

// -----

// Launches of one kernel differ in where their checks stand, by number.
// CHECK-LABEL: func @checks
func.func @checks(%i: tensor<5xi64>, %j: tensor<5xi64>) -> (tensor<5xi64>, tensor<5xi64>) {
  // CHECK-NEXT: ait.launch @[[K:.*]](%arg0) {check_locations = ["model.py:3", "model.py:4"]}
  // CHECK-NEXT: ait.launch @[[K]](%arg1) {check_locations = ["model.py:7", ""]}
  %0 = ait.kernel <loop>(%i) : (tensor<5xi64>) -> tensor<5xi64> {
  ^bb0(%a: tensor<5xi64>):
    %1 = ait.check %a {operator_name = "aten::fmod"} : tensor<5xi64> loc("model.py":3:1)
    %2 = ait.check %1 {operator_name = "aten::remainder"} : tensor<5xi64> loc("model.py":4:1)
    %3 = ait.fmod %1, %2 : tensor<5xi64>
    ait.yield %3 : tensor<5xi64>
  }
  %4 = ait.kernel <loop>(%j) : (tensor<5xi64>) -> tensor<5xi64> {
  ^bb0(%a: tensor<5xi64>):
    %5 = ait.check %a {operator_name = "aten::fmod"} : tensor<5xi64> loc("model.py":7:1)
    %6 = ait.check %5 {operator_name = "aten::remainder"} : tensor<5xi64> loc(unknown)
    %7 = ait.fmod %5, %6 : tensor<5xi64>
    ait.yield %7 : tensor<5xi64>
  }
  return %0, %4 : tensor<5xi64>, tensor<5xi64>
}
// CHECK: func.func private @[[K]]
// CHECK: ait.check %{{.*}} {number = 0 : i64, operator_name = "aten::fmod"}
// CHECK: ait.check %{{.*}} {number = 1 : i64, operator_name = "aten::remainder"}
