// RUN: aitune-opt %s -ait-patches-to-matmul | FileCheck %s

#image = affine_map<()[s0] -> (s0, 3, 8, 12)>
#result = affine_map<()[s0] -> (s0, 5, 2, 3)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// CHECK-LABEL: @patches
// CHECK: %[[R:.*]] = ait.reshape %arg0 : {{.*}} -> tensor<?x3x2x4x3x4xf16,
// CHECK: %[[P:.*]] = ait.permute %[[R]] {permutation = array<i64: 0, 2, 4, 1, 3, 5>} : {{.*}} -> tensor<?x2x3x3x4x4xf16,
// CHECK: %[[A:.*]] = ait.reshape %[[P]] : {{.*}} -> tensor<?x6x48xf16,
// CHECK: %[[W:.*]] = ait.reshape %{{.*}} : tensor<5x3x4x4xf16> -> tensor<5x48xf16>
// CHECK: %[[M:.*]] = ait.matmul %[[A]], %[[W]] {transpose_rhs} : {{.*}} -> tensor<?x6x5xf16,
// CHECK: %[[B:.*]] = ait.reshape %[[M]] : {{.*}} -> tensor<?x2x3x5xf16,
// CHECK: ait.permute %[[B]] {permutation = array<i64: 0, 3, 1, 2>} : {{.*}} -> tensor<?x5x2x3xf16,
func.func @patches(%x: tensor<?x3x8x12xf16, #image>) -> tensor<?x5x2x3xf16, #result> {
  %w = ait.constant 0 : tensor<5x3x4x4xf16>
  %0 = ait.convolution %x, %w {stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x3x8x12xf16, #image>, tensor<5x3x4x4xf16>) -> tensor<?x5x2x3xf16, #result>
  return %0 : tensor<?x5x2x3xf16, #result>
}

// Of volumes.
// CHECK-LABEL: @tubelets
// CHECK: %[[R:.*]] = ait.reshape %arg0 : {{.*}} -> tensor<1x3x3x2x2x4x3x4xf16>
// CHECK: %[[P:.*]] = ait.permute %[[R]] {permutation = array<i64: 0, 2, 4, 6, 1, 3, 5, 7>} : {{.*}} -> tensor<1x3x2x3x3x2x4x4xf16>
// CHECK: %[[A:.*]] = ait.reshape %[[P]] : {{.*}} -> tensor<1x18x96xf16>
// CHECK: %[[M:.*]] = ait.matmul %[[A]], %{{.*}} {transpose_rhs} : {{.*}} -> tensor<1x18x5xf16>
// CHECK: %[[B:.*]] = ait.reshape %[[M]] : {{.*}} -> tensor<1x3x2x3x5xf16>
// CHECK: ait.permute %[[B]] {permutation = array<i64: 0, 4, 1, 2, 3>} : {{.*}} -> tensor<1x5x3x2x3xf16>
func.func @tubelets(%x: tensor<1x3x6x8x12xf16>) -> tensor<1x5x3x2x3xf16> {
  %w = ait.constant 0 : tensor<5x3x2x4x4xf16>
  %0 = ait.convolution %x, %w {stride = array<i64: 2, 4, 4>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<1x3x6x8x12xf16>, tensor<5x3x2x4x4xf16>) -> tensor<1x5x3x2x3xf16>
  return %0 : tensor<1x5x3x2x3xf16>
}

// Patches that overlap, that leave a rest, and channels that kernels read well.
// CHECK-LABEL: @others
// CHECK-COUNT-3: ait.convolution
// CHECK-NOT: ait.matmul
func.func @others(%x: tensor<1x3x8x12xf16>, %y: tensor<1x3x9x12xf16>, %z: tensor<1x8x8x12xf16>) -> (tensor<1x5x3x5xf16>, tensor<1x5x2x3xf16>, tensor<1x5x2x3xf16>) {
  %w = ait.constant 0 : tensor<5x3x4x4xf16>
  %v = ait.constant 1 : tensor<5x8x4x4xf16>
  %0 = ait.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x12xf16>, tensor<5x3x4x4xf16>) -> tensor<1x5x3x5xf16>
  %1 = ait.convolution %y, %w {stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x9x12xf16>, tensor<5x3x4x4xf16>) -> tensor<1x5x2x3xf16>
  %2 = ait.convolution %z, %v {stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x8x12xf16>, tensor<5x8x4x4xf16>) -> tensor<1x5x2x3xf16>
  return %0, %1, %2 : tensor<1x5x3x5xf16>, tensor<1x5x2x3xf16>, tensor<1x5x2x3xf16>
}
}
