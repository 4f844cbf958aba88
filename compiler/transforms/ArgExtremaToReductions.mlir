// RUN: aitune-opt %s -ait-arg-extrema-to-reductions | FileCheck %s

// CHECK-LABEL: @argmax
// CHECK: %[[M:.*]] = ait.amax %arg0 {dims = array<i64: 1>}
// CHECK: %[[E:.*]] = ait.expand %[[M]]
// CHECK: %[[F:.*]] = ait.eq %arg0, %[[E]]
// CHECK: %[[N:.*]] = ait.ne %arg0, %arg0
// CHECK: %[[O:.*]] = ait.bitwise_or %[[F]], %[[N]]
// CHECK: %[[I:.*]] = ait.iota {dim = 1 : i64, start = 0.000000e+00 : f64, step = 1.000000e+00 : f64} : tensor<4x100xi32>
// CHECK: %[[L:.*]] = ait.full 100 : i32
// CHECK: %[[W:.*]] = ait.where %[[O]], %[[I]], %[[L]]
// CHECK: %[[R:.*]] = ait.amin %[[W]] {dims = array<i64: 1>} : tensor<4x100xi32> -> tensor<4x1xi32>
// CHECK: ait.convert %[[R]] : tensor<4x1xi32> -> tensor<4x1xi64>
func.func @argmax(%x: tensor<4x100xf16>) -> tensor<4x1xi64> {
  %0 = ait.argmax %x {dims = array<i64: 1>} : tensor<4x100xf16> -> tensor<4x1xi64>
  return %0 : tensor<4x1xi64>
}

// Integers are never NaN.
// CHECK-LABEL: @argmin
// CHECK: ait.amin
// CHECK-NOT: ait.ne
// CHECK: ait.amin
func.func @argmin(%x: tensor<100x4xi32>) -> tensor<1x4xi64> {
  %0 = ait.argmin %x {dims = array<i64: 0>} : tensor<100x4xi32> -> tensor<1x4xi64>
  return %0 : tensor<1x4xi64>
}

// CHECK-LABEL: @short
// CHECK: ait.argmax
func.func @short(%x: tensor<4x8xf16>) -> tensor<4x1xi64> {
  %0 = ait.argmax %x {dims = array<i64: 1>} : tensor<4x8xf16> -> tensor<4x1xi64>
  return %0 : tensor<4x1xi64>
}
