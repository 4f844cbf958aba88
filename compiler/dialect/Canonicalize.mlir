// RUN: aitune-opt %s -canonicalize | FileCheck %s

// CHECK-DAG: #[[SIZES:.*]] = affine_map<()[s0] -> (s0, 2, 1, 4)>
#rows = affine_map<()[s0] -> (s0 * 2, 4)>
#split = affine_map<()[s0] -> (s0, 2, 4)>
#units = affine_map<()[s0] -> (s0, 2, 1, 4)>

// Chains of reshapes are one, and equal sizes are none.
// CHECK-LABEL: func @reshapes
func.func @reshapes(%x: tensor<?x4xf32, #rows>)
    -> (tensor<?x4xf32, #rows>, tensor<?x2x1x4xf32, #units>) {
  // CHECK-NEXT: %[[R:.*]] = ait.reshape %arg0 : {{.*}} -> tensor<?x2x1x4xf32, #[[SIZES]]>
  // CHECK-NEXT: return %arg0, %[[R]]
  %0 = ait.reshape %x : tensor<?x4xf32, #rows> -> tensor<?x2x4xf32, #split>
  %1 = ait.reshape %0 : tensor<?x2x4xf32, #split> -> tensor<?x4xf32, #rows>
  %2 = ait.reshape %0 : tensor<?x2x4xf32, #split> -> tensor<?x2x1x4xf32, #units>
  return %1, %2 : tensor<?x4xf32, #rows>, tensor<?x2x1x4xf32, #units>
}

// CHECK-LABEL: func @permutes
func.func @permutes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x3x2xf32>) {
  // CHECK-NEXT: %[[P:.*]] = ait.permute %arg0 {permutation = array<i64: 2, 1, 0>}
  // CHECK-NEXT: return %arg0, %[[P]]
  %0 = ait.permute %x {permutation = array<i64: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = ait.permute %0 {permutation = array<i64: 1, 2, 0>} : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %2 = ait.permute %0 {permutation = array<i64: 0, 2, 1>} : tensor<4x2x3xf32> -> tensor<4x3x2xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<4x3x2xf32>
}

// CHECK-LABEL: func @permute_of_unit_axes
func.func @permute_of_unit_axes(%x: tensor<2x1x4x1xf32>) -> (tensor<2x4x1x1xf32>, tensor<4x2x1x1xf32>) {
  // CHECK-NEXT: ait.reshape
  // CHECK-NEXT: ait.permute
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x1x4x1xf32> -> tensor<2x4x1x1xf32>
  %1 = ait.permute %x {permutation = array<i64: 2, 0, 1, 3>} : tensor<2x1x4x1xf32> -> tensor<4x2x1x1xf32>
  return %0, %1 : tensor<2x4x1x1xf32>, tensor<4x2x1x1xf32>
}

// A reshape that takes or adds leading axes of size 1 is none for an expansion.
// CHECK-LABEL: func @expands_of_leading_units
func.func @expands_of_leading_units(%x: tensor<1x3x1xf32>) -> (tensor<1x3x4xf32>, tensor<2x2x3x4xf32>) {
  // CHECK-NOT: ait.reshape
  // CHECK-DAG: ait.expand %arg0 : tensor<1x3x1xf32> -> tensor<1x3x4xf32>
  // CHECK-DAG: ait.expand %arg0 : tensor<1x3x1xf32> -> tensor<2x2x3x4xf32>
  %0 = ait.reshape %x : tensor<1x3x1xf32> -> tensor<3x1xf32>
  %1 = ait.expand %0 : tensor<3x1xf32> -> tensor<1x3x4xf32>
  %2 = ait.reshape %x : tensor<1x3x1xf32> -> tensor<1x1x3x1xf32>
  %3 = ait.expand %2 : tensor<1x1x3x1xf32> -> tensor<2x2x3x4xf32>
  return %1, %3 : tensor<1x3x4xf32>, tensor<2x2x3x4xf32>
}

// CHECK-LABEL: func @expands
func.func @expands(%x: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<1x4xf32>) {
  // CHECK-DAG: ait.expand %arg0 : tensor<4xf32> -> tensor<2x3x4xf32>
  // CHECK-DAG: ait.reshape %arg0 : tensor<4xf32> -> tensor<1x4xf32>
  %0 = ait.reshape %x : tensor<4xf32> -> tensor<1x4xf32>
  %1 = ait.expand %0 : tensor<1x4xf32> -> tensor<3x4xf32>
  %2 = ait.expand %1 : tensor<3x4xf32> -> tensor<2x3x4xf32>
  %3 = ait.expand %x : tensor<4xf32> -> tensor<1x4xf32>
  return %2, %3 : tensor<2x3x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func @views_of_full
func.func @views_of_full() -> tensor<3x2x4xf32> {
  // CHECK-NEXT: %[[F:.*]] = ait.full 2.000000e+00 : f32 : tensor<3x2x4xf32>
  // CHECK-NEXT: return %[[F]]
  %0 = ait.full 2.0 : f32 : tensor<1xf32>
  %1 = ait.expand %0 : tensor<1xf32> -> tensor<2x12xf32>
  %2 = ait.reshape %1 : tensor<2x12xf32> -> tensor<2x3x4xf32>
  %3 = ait.permute %2 {permutation = array<i64: 1, 0, 2>} : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  return %3 : tensor<3x2x4xf32>
}

// CHECK-LABEL: func @slices
func.func @slices(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[S:.*]] = ait.slice %arg0 {starts = array<i64: 3>, steps = array<i64: 4>}
  // CHECK-NEXT: return %arg0, %[[S]]
  %0 = ait.slice %x {starts = array<i64: 0>, steps = array<i64: 1>} : tensor<10xf32> -> tensor<10xf32>
  %1 = ait.slice %0 {starts = array<i64: 1>, steps = array<i64: 2>} : tensor<10xf32> -> tensor<4xf32>
  %2 = ait.slice %1 {starts = array<i64: 1>, steps = array<i64: 2>} : tensor<4xf32> -> tensor<2xf32>
  return %0, %2 : tensor<10xf32>, tensor<2xf32>
}

// A step that 64 bits don't hold is none.
// CHECK-LABEL: func @far_slices
func.func @far_slices(%x: tensor<5xf32>) -> tensor<1xf32> {
  // CHECK-COUNT-2: ait.slice %{{.*}} {starts = array<i64: 0>, steps = array<i64: 1099511627776>}
  // CHECK: return
  %0 = ait.slice %x {starts = array<i64: 0>, steps = array<i64: 1099511627776>} : tensor<5xf32> -> tensor<1xf32>
  %1 = ait.slice %0 {starts = array<i64: 0>, steps = array<i64: 1099511627776>} : tensor<1xf32> -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// There and back is nothing through a wider type only.
// CHECK-LABEL: func @converts
func.func @converts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[N:.*]] = ait.convert %arg1 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-NEXT: %[[W:.*]] = ait.convert %[[N]] : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-NEXT: return %arg0, %[[W]]
  %0 = ait.convert %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = ait.convert %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = ait.convert %y : tensor<4xf32> -> tensor<4xbf16>
  %3 = ait.convert %2 : tensor<4xbf16> -> tensor<4xf32>
  return %1, %3 : tensor<4xbf16>, tensor<4xf32>
}

// CHECK-LABEL: func @transposed_operand
func.func @transposed_operand(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>) -> tensor<2x5xf32> {
  // CHECK-NEXT: ait.matmul %arg0, %arg1 {transpose_rhs}
  %0 = ait.permute %w {permutation = array<i64: 1, 0>} : tensor<5x3xf32> -> tensor<3x5xf32>
  %1 = ait.matmul %x, %0 : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// What is multiplied with codes is read by rows.
// CHECK-LABEL: func @transposed_before_codes
func.func @transposed_before_codes(%x: tensor<3x2xf32>, %w: tensor<5x3xi8>) -> tensor<2x5xf32> {
  // CHECK-NEXT: %[[ROWS:.*]] = ait.permute %arg0
  // CHECK-NEXT: ait.matmul %[[ROWS]], %arg1 {transpose_rhs}
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
  %1 = ait.matmul %0, %w {transpose_rhs} : (tensor<2x3xf32>, tensor<5x3xi8>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// A permutation of the heads stays: it is no transposition of the matrices.
// CHECK-LABEL: func @permuted_heads
func.func @permuted_heads(%x: tensor<2x3x4x5xf32>, %y: tensor<2x4x5x6xf32>) -> tensor<2x4x3x6xf32> {
  // CHECK-NEXT: ait.permute
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x4x5xf32> -> tensor<2x4x3x5xf32>
  %1 = ait.matmul %0, %y : (tensor<2x4x3x5xf32>, tensor<2x4x5x6xf32>) -> tensor<2x4x3x6xf32>
  return %1 : tensor<2x4x3x6xf32>
}

// What has no elements along the axis is not read.
// CHECK-LABEL: func.func @concat_of_nothing
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<0x3xf32>, %[[C:.*]]: tensor<1x3xf32>)
// CHECK: ait.concat %[[A]], %[[C]] {dim = 0 : i64}
func.func @concat_of_nothing(%a: tensor<2x3xf32>, %b: tensor<0x3xf32>, %c: tensor<1x3xf32>) -> tensor<3x3xf32> {
  %0 = ait.concat %b, %a, %b, %c {dim = 0 : i64} : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<0x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
