// RUN: aitune-opt %s -ait-pools-to-reductions -canonicalize | FileCheck %s

#image = affine_map<()[s0] -> (2, 4, s0, 100)>
#pooled = affine_map<()[s0] -> (2, 4, s0 floordiv 32, 3)>
module attributes {ait.symbols = [{name = "s0", min = 32 : i64, max = 128 : i64, input = 0 : i64, axis = 2 : i64}]} {

// What is left at the ends is in no window.
// CHECK-LABEL: @average
// CHECK: %[[W:.*]] = ait.slice %arg0 {{.*}} -> tensor<2x4x?x96xf16
// CHECK: %[[R:.*]] = ait.reshape %[[W]] : {{.*}} -> tensor<2x4x?x32x3x32xf16
// CHECK: %[[F:.*]] = ait.convert %[[R]] : {{.*}} -> tensor<2x4x?x32x3x32xf32
// CHECK: %[[M:.*]] = ait.mean %[[F]] {dims = array<i64: 3, 5>}
// CHECK: ait.convert %[[M]]
// CHECK: ait.reshape %{{.*}} -> tensor<2x4x?x3xf16
func.func @average(%x: tensor<2x4x?x100xf16, #image>) -> tensor<2x4x?x3xf16, #pooled> {
  %0 = ait.avg_pool2d %x {kernel_size = array<i64: 32, 32>, stride = array<i64: 32, 32>, padding = array<i64: 0, 0>, count_include_pad = true} : tensor<2x4x?x100xf16, #image> -> tensor<2x4x?x3xf16, #pooled>
  return %0 : tensor<2x4x?x3xf16, #pooled>
}

// CHECK-LABEL: @greatest
// CHECK-NEXT: %[[R:.*]] = ait.reshape %arg0 : tensor<1x3x16x32xf32> -> tensor<1x3x2x8x4x8xf32>
// CHECK-NEXT: %[[M:.*]] = ait.amax %[[R]] {dims = array<i64: 3, 5>}
// CHECK-NEXT: ait.reshape %[[M]] : {{.*}} -> tensor<1x3x2x4xf32>
func.func @greatest(%x: tensor<1x3x16x32xf32>) -> tensor<1x3x2x4xf32> {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 8, 8>, stride = array<i64: 8, 8>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x3x16x32xf32> -> tensor<1x3x2x4xf32>
  return %0 : tensor<1x3x2x4xf32>
}

// Overlapping, padded and small windows, and divisors of the caller's.
// CHECK-LABEL: @others
// CHECK-COUNT-4: ait.{{avg|max}}_pool2d
// CHECK-NOT: ait.mean
func.func @others(%x: tensor<1x3x32x32xf32>) -> (tensor<1x3x3x3xf32>, tensor<1x3x5x5xf32>, tensor<1x3x8x8xf32>, tensor<1x3x4x4xf32>) {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 16, 16>, stride = array<i64: 8, 8>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x3x32x32xf32> -> tensor<1x3x3x3xf32>
  %1 = ait.avg_pool2d %x {kernel_size = array<i64: 8, 8>, stride = array<i64: 8, 8>, padding = array<i64: 4, 4>, count_include_pad = true} : tensor<1x3x32x32xf32> -> tensor<1x3x5x5xf32>
  %2 = ait.avg_pool2d %x {kernel_size = array<i64: 4, 4>, stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, count_include_pad = true} : tensor<1x3x32x32xf32> -> tensor<1x3x8x8xf32>
  %3 = ait.avg_pool2d %x {kernel_size = array<i64: 8, 8>, stride = array<i64: 8, 8>, padding = array<i64: 0, 0>, count_include_pad = true, divisor_override = 3 : i64} : tensor<1x3x32x32xf32> -> tensor<1x3x4x4xf32>
  return %0, %1, %2, %3 : tensor<1x3x3x3xf32>, tensor<1x3x5x5xf32>, tensor<1x3x8x8xf32>, tensor<1x3x4x4xf32>
}
}
