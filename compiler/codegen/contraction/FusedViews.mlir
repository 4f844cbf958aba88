// The views that fusion leaves to a contraction's kernel are those that the
// analysis follows: no operand has a reason in place of a view.
// RUN: aitune-opt %s -ait-form-kernels -ait-outline-kernels -ait-analyze-contractions -split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @attention_
// CHECK-SAME: sizes = () -> (6, 5, 7, 4)
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = f32, offset = () -> (0), axes = [() -> (2, 60), () -> (3, 4), () -> (5, 12), () -> (4, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = f32, offset = () -> (0), axes = [() -> (2, 168), () -> (3, 4), () -> (7, 24), () -> (4, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = f32, offset = () -> (12), axes = [() -> (2, 168), () -> (3, 4), () -> (7, 24), () -> (4, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 2, element_type = f32, offset = () -> (0), axes = [() -> (2, 7), () -> (3, 0), () -> (5, 0), () -> (7, 1)]>]>
func.func @main(%q: tensor<2x5x3x4xf32>, %kv: tensor<2x7x6x4xf32>, %m: tensor<2x1x1x7xf32>) -> tensor<2x5x12xf32> {
  %0 = ait.permute %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %1 = ait.slice %kv {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x7x6x4xf32> -> tensor<2x7x3x4xf32>
  %2 = ait.permute %1 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x7x3x4xf32> -> tensor<2x3x7x4xf32>
  %3 = ait.slice %kv {starts = array<i64: 0, 0, 3, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x7x6x4xf32> -> tensor<2x7x3x4xf32>
  %4 = ait.permute %3 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x7x3x4xf32> -> tensor<2x3x7x4xf32>
  %5 = ait.expand %m : tensor<2x1x1x7xf32> -> tensor<2x3x5x7xf32>
  %6 = ait.attention %0, %2, %4, %5 {scale = 0.5 : f64} : (tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x4xf32>
  %7 = ait.permute %6 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x4xf32> -> tensor<2x5x3x4xf32>
  %8 = ait.reshape %7 : tensor<2x5x3x4xf32> -> tensor<2x5x12xf32>
  return %8 : tensor<2x5x12xf32>
}

// -----

// The heads of a projection's input, merged in the kernel that reads them: two
// modes on the contracted axis.
// CHECK-LABEL: func.func private @matmul_
// CHECK-SAME: sizes = () -> (1, 10, 8, 96)
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = f32, offset = () -> (0), axes = [() -> (2, 480), () -> (5, 32), () -> (3, 160, 32, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = f32, offset = () -> (0), axes = [() -> (96, 8), () -> (8, 1)]>]>
func.func @main(%x: tensor<2x3x5x32xf32>, %w: tensor<96x8xf32>) -> tensor<2x5x8xf32> {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x32xf32> -> tensor<2x5x3x32xf32>
  %1 = ait.reshape %0 : tensor<2x5x3x32xf32> -> tensor<2x5x96xf32>
  %2 = ait.matmul %1, %w : (tensor<2x5x96xf32>, tensor<96x8xf32>) -> tensor<2x5x8xf32>
  return %2 : tensor<2x5x8xf32>
}
