// RUN: aitune-opt %s -ait-planes-to-matmul | FileCheck %s

#image = affine_map<()[s0] -> (s0, 8, 5, 7)>
#result = affine_map<()[s0] -> (s0, 12, 5, 7)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// A matmul for each group of each image.
// CHECK-LABEL: @groups
// CHECK: %[[W:.*]] = ait.reshape %{{.*}} : tensor<12x4x1x1xf32> -> tensor<2x6x4xf32>
// CHECK: %[[L:.*]] = ait.expand %[[W]] : tensor<2x6x4xf32> -> tensor<?x2x6x4xf32,
// CHECK: %[[R:.*]] = ait.reshape %arg0 : {{.*}} -> tensor<?x2x4x35xf32,
// CHECK: %[[M:.*]] = ait.matmul %[[L]], %[[R]] : {{.*}} -> tensor<?x2x6x35xf32,
// CHECK: ait.reshape %[[M]] : {{.*}} -> tensor<?x12x5x7xf32,
// CHECK-NOT: ait.convolution
func.func @groups(%x: tensor<?x8x5x7xf32, #image>) -> tensor<?x12x5x7xf32, #result> {
  %w = ait.constant 0 : tensor<12x4x1x1xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<?x8x5x7xf32, #image>, tensor<12x4x1x1xf32>) -> tensor<?x12x5x7xf32, #result>
  return %0 : tensor<?x12x5x7xf32, #result>
}

// Two of them, with a pointwise operation between.
// CHECK-LABEL: @chain
// CHECK-COUNT-2: ait.matmul
// CHECK-NOT: ait.convolution
func.func @chain(%x: tensor<1x8x5x7xf32>) -> tensor<1x8x5x7xf32> {
  %w = ait.constant 0 : tensor<8x8x1x1xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x5x7xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x7xf32>
  %1 = ait.relu %0 : tensor<1x8x5x7xf32>
  %2 = ait.convolution %1, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x5x7xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x7xf32>
  return %2 : tensor<1x8x5x7xf32>
}

// Beside a convolution of larger filters, of other strides, with so many
// channels that the order of axes matters, and of 16 bits.
// CHECK-LABEL: @others
// CHECK-NOT: ait.matmul
// CHECK: return
func.func @others(%x: tensor<1x8x7x7xf32>, %y: tensor<1x512x7x7xf32>, %z: tensor<1x8x7x7xbf16>) -> (tensor<1x8x5x5xf32>, tensor<1x8x4x4xf32>, tensor<1x512x7x7xf32>, tensor<1x8x7x7xbf16>) {
  %w = ait.constant 0 : tensor<8x8x1x1xf32>
  %taps = ait.constant 1 : tensor<8x8x3x3xf32>
  %many = ait.constant 2 : tensor<512x512x1x1xf32>
  %half = ait.constant 3 : tensor<8x8x1x1xbf16>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x7x7xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x7x7xf32>
  %1 = ait.convolution %0, %taps {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x7x7xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x5x5xf32>
  %2 = ait.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x7x7xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %3 = ait.convolution %y, %many {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x512x7x7xf32>, tensor<512x512x1x1xf32>) -> tensor<1x512x7x7xf32>
  %4 = ait.convolution %z, %half {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x7x7xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x7x7xbf16>
  return %1, %2, %3, %4 : tensor<1x8x5x5xf32>, tensor<1x8x4x4xf32>, tensor<1x512x7x7xf32>, tensor<1x8x7x7xbf16>
}
}
