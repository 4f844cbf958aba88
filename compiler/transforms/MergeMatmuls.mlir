// RUN: aitune-opt %s -ait-merge-matmuls | FileCheck %s

// CHECK-LABEL: @query_key_value
// CHECK: %[[W:.*]] = ait.concat {{.*}} {dim = 0 : i64} : (tensor<8x16xf16>, tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<16x16xf16>
// CHECK: %[[M:.*]] = ait.matmul %arg0, %[[W]] {transpose_rhs} : (tensor<2x3x16xf16>, tensor<16x16xf16>) -> tensor<2x3x16xf16>
// CHECK: %[[B:.*]] = ait.concat {{.*}} {dim = 0 : i64} : (tensor<8xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<16xf16>
// CHECK: %[[E:.*]] = ait.expand %[[B]]
// CHECK: %[[A:.*]] = ait.add %[[M]], %[[E]]
// CHECK: ait.slice %[[A]] {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x3x16xf16> -> tensor<2x3x8xf16>
// CHECK: ait.slice %[[A]] {starts = array<i64: 0, 0, 8>
// CHECK: ait.slice %[[A]] {starts = array<i64: 0, 0, 12>
// CHECK-NOT: ait.matmul %arg0
func.func @query_key_value(%x: tensor<2x3x16xf16>) -> (tensor<2x2x3x3xf16>, tensor<2x1x3x3xf16>) {
  %wq = ait.constant 0 : tensor<8x16xf16>
  %wk = ait.constant 1 : tensor<4x16xf16>
  %wv = ait.constant 2 : tensor<4x16xf16>
  %bq = ait.constant 3 : tensor<8xf16>
  %bk = ait.constant 4 : tensor<4xf16>
  %0 = ait.matmul %x, %wq {transpose_rhs} : (tensor<2x3x16xf16>, tensor<8x16xf16>) -> tensor<2x3x8xf16>
  %1 = ait.expand %bq : tensor<8xf16> -> tensor<2x3x8xf16>
  %2 = ait.add %0, %1 : tensor<2x3x8xf16>
  %q = ait.reshape %2 : tensor<2x3x8xf16> -> tensor<2x3x2x4xf16>
  %3 = ait.matmul %x, %wk {transpose_rhs} : (tensor<2x3x16xf16>, tensor<4x16xf16>) -> tensor<2x3x4xf16>
  %4 = ait.expand %bk : tensor<4xf16> -> tensor<2x3x4xf16>
  %5 = ait.add %4, %3 : tensor<2x3x4xf16>
  %k = ait.reshape %5 : tensor<2x3x4xf16> -> tensor<2x1x3x4xf16>
  %6 = ait.matmul %x, %wv {transpose_rhs} : (tensor<2x3x16xf16>, tensor<4x16xf16>) -> tensor<2x3x4xf16>
  %7 = ait.add %6, %4 : tensor<2x3x4xf16>
  %v = ait.reshape %7 : tensor<2x3x4xf16> -> tensor<2x1x3x4xf16>
  %8 = ait.permute %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x2x4xf16> -> tensor<2x2x3x4xf16>
  %9 = ait.matmul %8, %8 {transpose_rhs} : (tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>) -> tensor<2x2x3x3xf16>
  %10 = ait.matmul %k, %v {transpose_rhs} : (tensor<2x1x3x4xf16>, tensor<2x1x3x4xf16>) -> tensor<2x1x3x3xf16>
  return %9, %10 : tensor<2x2x3x3xf16>, tensor<2x1x3x3xf16>
}

// The activation would no longer be an epilogue.
// CHECK-LABEL: @gated
// CHECK-NOT: ait.concat
func.func @gated(%x: tensor<4x16xf16>) -> tensor<4x8xf16> {
  %w0 = ait.constant 0 : tensor<8x16xf16>
  %w1 = ait.constant 1 : tensor<8x16xf16>
  %0 = ait.matmul %x, %w0 {transpose_rhs} : (tensor<4x16xf16>, tensor<8x16xf16>) -> tensor<4x8xf16>
  %1 = ait.matmul %x, %w1 {transpose_rhs} : (tensor<4x16xf16>, tensor<8x16xf16>) -> tensor<4x8xf16>
  %2 = ait.silu %0 : tensor<4x8xf16>
  %3 = ait.mul %2, %1 : tensor<4x8xf16>
  return %3 : tensor<4x8xf16>
}

// One row: a kernel less saves more than an epilogue.
// CHECK-LABEL: @gated_row
// CHECK: ait.concat {{.*}} -> tensor<16x16xf16>
// CHECK: ait.matmul {{.*}} -> tensor<1x16xf16>
// CHECK: ait.silu
func.func @gated_row(%x: tensor<1x16xf16>) -> tensor<1x8xf16> {
  %w0 = ait.constant 0 : tensor<8x16xf16>
  %w1 = ait.constant 1 : tensor<8x16xf16>
  %0 = ait.matmul %x, %w0 {transpose_rhs} : (tensor<1x16xf16>, tensor<8x16xf16>) -> tensor<1x8xf16>
  %1 = ait.matmul %x, %w1 {transpose_rhs} : (tensor<1x16xf16>, tensor<8x16xf16>) -> tensor<1x8xf16>
  %2 = ait.silu %0 : tensor<1x8xf16>
  %3 = ait.mul %2, %1 : tensor<1x8xf16>
  return %3 : tensor<1x8xf16>
}

// Weights in the other orientation, joined along their columns, but neither
// with one of another orientation nor with one that has a bias.
// CHECK-LABEL: @columns
// CHECK: ait.concat {{.*}} {dim = 1 : i64} : (tensor<16x8xf16>, tensor<16x24xf16>) -> tensor<16x32xf16>
// CHECK-NOT: ait.concat
func.func @columns(%x: tensor<4x16xf16>, %y: tensor<4x8xf16>) -> (tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x24xf16>) {
  %w0 = ait.constant 0 : tensor<16x8xf16>
  %w1 = ait.constant 1 : tensor<16x24xf16>
  %w2 = ait.constant 2 : tensor<8x16xf16>
  %b = ait.constant 3 : tensor<8xf16>
  %0 = ait.matmul %x, %w0 : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf16>
  %1 = ait.matmul %x, %w1 : (tensor<4x16xf16>, tensor<16x24xf16>) -> tensor<4x24xf16>
  %2 = ait.matmul %x, %w2 {transpose_rhs} : (tensor<4x16xf16>, tensor<8x16xf16>) -> tensor<4x8xf16>
  %3 = ait.matmul %x, %w0 : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf16>
  %4 = ait.expand %b : tensor<8xf16> -> tensor<4x8xf16>
  %5 = ait.add %3, %4 : tensor<4x8xf16>
  %6 = ait.matmul %0, %y {transpose_rhs} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  %7 = ait.matmul %2, %y {transpose_rhs} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  %8 = ait.matmul %5, %y {transpose_rhs} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  %9 = ait.matmul %6, %1 : (tensor<4x4xf16>, tensor<4x24xf16>) -> tensor<4x24xf16>
  return %6, %7, %8, %9 : tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x24xf16>
}

// With codes of 8 bits: the scales of the columns are joined, that of a row is
// one for all.
// CHECK-LABEL: @codes
// CHECK-SAME: %[[X:.*]]: tensor<4x16xui8>, %[[ROWS:.*]]: tensor<4x1xf32>
// CHECK: %[[W:.*]] = ait.concat {{.*}} {dim = 0 : i64} : (tensor<8x16xi8>, tensor<4x16xi8>) -> tensor<12x16xi8>
// CHECK: %[[M:.*]] = ait.matmul %[[X]], %[[W]] {transpose_rhs} : (tensor<4x16xui8>, tensor<12x16xi8>) -> tensor<4x12xi32>
// CHECK: ait.concat {{.*}} -> tensor<12xi32>
// CHECK: %[[SUB:.*]] = ait.sub %[[M]], {{.*}} : tensor<4x12xi32>
// CHECK: %[[F:.*]] = ait.convert %[[SUB]] : tensor<4x12xi32> -> tensor<4x12xf32>
// CHECK: %[[R:.*]] = ait.expand %[[ROWS]] : tensor<4x1xf32> -> tensor<4x12xf32>
// CHECK: ait.mul %[[F]], %[[R]]
// CHECK: ait.concat {{.*}} -> tensor<12xf32>
// CHECK: ait.mul
// CHECK: %[[RESULT:.*]] = ait.convert {{.*}} -> tensor<4x12xf16>
// CHECK: ait.slice %[[RESULT]] {starts = array<i64: 0, 0>
// CHECK: ait.slice %[[RESULT]] {starts = array<i64: 0, 8>
// CHECK-NOT: ait.matmul %[[X]]
func.func @codes(%x: tensor<4x16xui8>, %rows: tensor<4x1xf32>, %y: tensor<8x3xf16>, %z: tensor<4x3xf16>) -> (tensor<4x3xf16>, tensor<4x3xf16>) {
  %w0 = ait.constant 0 : tensor<8x16xi8>
  %w1 = ait.constant 1 : tensor<4x16xi8>
  %s0 = ait.constant 2 : tensor<8xi32>
  %s1 = ait.constant 3 : tensor<4xi32>
  %f0 = ait.constant 4 : tensor<8xf32>
  %f1 = ait.constant 5 : tensor<4xf32>
  %0 = ait.matmul %x, %w0 {transpose_rhs} : (tensor<4x16xui8>, tensor<8x16xi8>) -> tensor<4x8xi32>
  %1 = ait.expand %s0 : tensor<8xi32> -> tensor<4x8xi32>
  %2 = ait.sub %0, %1 : tensor<4x8xi32>
  %3 = ait.convert %2 : tensor<4x8xi32> -> tensor<4x8xf32>
  %4 = ait.expand %rows : tensor<4x1xf32> -> tensor<4x8xf32>
  %5 = ait.mul %3, %4 : tensor<4x8xf32>
  %6 = ait.expand %f0 : tensor<8xf32> -> tensor<4x8xf32>
  %7 = ait.mul %5, %6 : tensor<4x8xf32>
  %8 = ait.convert %7 : tensor<4x8xf32> -> tensor<4x8xf16>
  %9 = ait.matmul %8, %y : (tensor<4x8xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
  %10 = ait.matmul %x, %w1 {transpose_rhs} : (tensor<4x16xui8>, tensor<4x16xi8>) -> tensor<4x4xi32>
  %11 = ait.expand %s1 : tensor<4xi32> -> tensor<4x4xi32>
  %12 = ait.sub %10, %11 : tensor<4x4xi32>
  %13 = ait.convert %12 : tensor<4x4xi32> -> tensor<4x4xf32>
  %14 = ait.expand %rows : tensor<4x1xf32> -> tensor<4x4xf32>
  %15 = ait.mul %13, %14 : tensor<4x4xf32>
  %16 = ait.expand %f1 : tensor<4xf32> -> tensor<4x4xf32>
  %17 = ait.mul %15, %16 : tensor<4x4xf32>
  %18 = ait.convert %17 : tensor<4x4xf32> -> tensor<4x4xf16>
  %19 = ait.matmul %18, %z : (tensor<4x4xf16>, tensor<4x3xf16>) -> tensor<4x3xf16>
  return %9, %19 : tensor<4x3xf16>, tensor<4x3xf16>
}

// The first group's result is what the second one's branches are multiplied by.
// CHECK-LABEL: func @rows_of_another_group
func.func @rows_of_another_group(%x: tensor<1x16xf16>) -> (tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x1xf16>) {
  // CHECK: %[[GH:.*]] = ait.matmul %arg0, {{.*}} -> tensor<1x2xf16>
  // CHECK: ait.slice %[[GH]]
  // CHECK: ait.matmul %arg0, {{.*}} -> tensor<1x16xf16>
  // CHECK-NOT: ait.matmul
  %wa = ait.constant 0 : tensor<1x16xf16>
  %wb = ait.constant 1 : tensor<1x16xf16>
  %wc = ait.constant 2 : tensor<8x16xf16>
  %wd = ait.constant 3 : tensor<8x16xf16>
  %g = ait.matmul %x, %wa {transpose_rhs} : (tensor<1x16xf16>, tensor<1x16xf16>) -> tensor<1x1xf16>
  %h = ait.matmul %x, %wb {transpose_rhs} : (tensor<1x16xf16>, tensor<1x16xf16>) -> tensor<1x1xf16>
  %ge = ait.expand %g : tensor<1x1xf16> -> tensor<1x8xf16>
  %c = ait.matmul %x, %wc {transpose_rhs} : (tensor<1x16xf16>, tensor<8x16xf16>) -> tensor<1x8xf16>
  %d = ait.matmul %x, %wd {transpose_rhs} : (tensor<1x16xf16>, tensor<8x16xf16>) -> tensor<1x8xf16>
  %p = ait.mul %c, %ge : tensor<1x8xf16>
  %q = ait.mul %d, %ge : tensor<1x8xf16>
  return %p, %q, %h : tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x1xf16>
}
