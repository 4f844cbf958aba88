// RUN: aitune-opt %s -ait-layout -canonicalize -split-input-file | FileCheck %s

// A convolution, its bias and activation, and the next convolution: one permute
// before, one after, none between.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[IN:.*]] = ait.permute %{{.*}} {permutation = array<i64: 0, 2, 3, 1>}
// CHECK:         %[[A:.*]] = ait.convolution %[[IN]], %{{.*}} {channels_last
// CHECK:         %[[BIAS:.*]] = ait.expand %{{.*}} -> tensor<1x8x8x4xf32>
// CHECK:         %[[B:.*]] = ait.add %[[A]], %[[BIAS]] : tensor<1x8x8x4xf32>
// CHECK:         %[[C:.*]] = ait.relu %[[B]]
// CHECK:         %[[D:.*]] = ait.convolution %[[C]], %{{.*}} {channels_last
// CHECK:         %[[OUT:.*]] = ait.permute %[[D]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK:         return %[[OUT]]
func.func @chain(%x: tensor<1x3x8x8xf32>, %w0: tensor<4x3x3x3xf32>, %b: tensor<4x1x1xf32>, %w1: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = ait.convolution %x, %w0 {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = ait.expand %b : tensor<4x1x1xf32> -> tensor<1x4x8x8xf32>
  %2 = ait.add %0, %1 : tensor<1x4x8x8xf32>
  %3 = ait.relu %2 : tensor<1x4x8x8xf32>
  %4 = ait.convolution %3, %w1 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %4 : tensor<1x4x8x8xf32>
}

// -----

// Squeeze and excitation: the mean over the image leaves no permute behind.
// CHECK-LABEL: func.func @squeeze
// CHECK:         ait.permute
// CHECK:         %[[A:.*]] = ait.convolution
// CHECK:         %[[M:.*]] = ait.mean %[[A]] {dims = array<i64: 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
// CHECK:         %[[E:.*]] = ait.expand %[[M]] : tensor<1x1x1x4xf32> -> tensor<1x8x8x4xf32>
// CHECK:         ait.mul %[[A]], %[[E]]
// CHECK:         %[[OUT:.*]] = ait.permute
// CHECK-NEXT:    return %[[OUT]]
func.func @squeeze(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = ait.mean %0 {dims = array<i64: 2, 3>} : tensor<1x4x8x8xf32> -> tensor<1x4x1x1xf32>
  %2 = ait.expand %1 : tensor<1x4x1x1xf32> -> tensor<1x4x8x8xf32>
  %3 = ait.mul %0, %2 : tensor<1x4x8x8xf32>
  return %3 : tensor<1x4x8x8xf32>
}

// -----

// Concatenated channels are the last axis.
// CHECK-LABEL: func.func @concat
// CHECK:         ait.concat %{{.*}}, %{{.*}} {dim = 3 : i64}
func.func @concat(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = ait.concat %0, %0 {dim = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %1 : tensor<1x8x8x8xf32>
}

// -----

// Nothing with windows: nothing to gain.
// CHECK-LABEL: func.func @plain
// CHECK-NOT:     ait.permute
func.func @plain(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %0 = ait.relu %x : tensor<1x3x8x8xf32>
  return %0 : tensor<1x3x8x8xf32>
}
