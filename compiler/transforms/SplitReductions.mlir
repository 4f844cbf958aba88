// RUN: aitune-opt %s -ait-split-reductions | FileCheck %s

#x = affine_map<()[s0] -> (s0, 112, 112, 48)>
#y = affine_map<()[s0] -> (s0, 1, 1, 48)>

// Few channels of a large image: the rows first.
// CHECK-LABEL: @mean
// CHECK: %[[W:.*]] = ait.convert %arg0 : tensor<1x112x112x32xf16> -> tensor<1x112x112x32xf32>
// CHECK: %[[R:.*]] = ait.mean %[[W]] {dims = array<i64: 2>} : tensor<1x112x112x32xf32> -> tensor<1x112x1x32xf32>
// CHECK: %[[M:.*]] = ait.mean %[[R]] {dims = array<i64: 1>} : tensor<1x112x1x32xf32> -> tensor<1x1x1x32xf32>
// CHECK: ait.convert %[[M]] : tensor<1x1x1x32xf32> -> tensor<1x1x1x32xf16>
func.func @mean(%x: tensor<1x112x112x32xf16>) -> tensor<1x1x1x32xf16> {
  %0 = ait.mean %x {dims = array<i64: 1, 2>} : tensor<1x112x112x32xf16> -> tensor<1x1x1x32xf16>
  return %0 : tensor<1x1x1x32xf16>
}

// What is reduced is read again in the same kernel: fewer elements are many.
// CHECK-LABEL: @weighted
// CHECK: ait.sum %arg0 {dims = array<i64: 2>}
// CHECK: ait.sum {{.*}} {dims = array<i64: 1>} {{.*}} -> tensor<8x1x1x48xf32>
// CHECK-LABEL: @not_weighted
// CHECK-COUNT-1: ait.sum
// CHECK-NOT: ait.sum
func.func @weighted(%x: tensor<8x56x56x48xf32>) -> tensor<8x56x56x48xf32> {
  %0 = ait.sum %x {dims = array<i64: 1, 2>} : tensor<8x56x56x48xf32> -> tensor<8x1x1x48xf32>
  %1 = ait.sigmoid %0 : tensor<8x1x1x48xf32>
  %2 = ait.expand %1 : tensor<8x1x1x48xf32> -> tensor<8x56x56x48xf32>
  %3 = ait.mul %x, %2 : tensor<8x56x56x48xf32>
  return %3 : tensor<8x56x56x48xf32>
}
func.func @not_weighted(%x: tensor<8x56x56x48xf32>) -> tensor<8x1x1x48xf32> {
  %0 = ait.sum %x {dims = array<i64: 1, 2>} : tensor<8x56x56x48xf32> -> tensor<8x1x1x48xf32>
  return %0 : tensor<8x1x1x48xf32>
}

// An extremum is exact in any dtype. The first step takes as many axes as give
// each thread of a warp an element.
// CHECK-LABEL: @amax
// CHECK: %[[R:.*]] = ait.amax %arg0 {dims = array<i64: 2, 3>} : tensor<1x700x500x3xf16> -> tensor<1x700x1x1xf16>
// CHECK: ait.amax %[[R]] {dims = array<i64: 0, 1>} : tensor<1x700x1x1xf16> -> tensor<1x1x1x1xf16>
func.func @amax(%x: tensor<1x700x500x3xf16>) -> tensor<1x1x1x1xf16> {
  %0 = ait.amax %x {dims = array<i64: 0, 1, 2, 3>} : tensor<1x700x500x3xf16> -> tensor<1x1x1x1xf16>
  return %0 : tensor<1x1x1x1xf16>
}

// Whether there is any is a boolean already after the first step.
// CHECK-LABEL: @any
// CHECK: %[[R:.*]] = ait.any %arg0 {dims = array<i64: 2>} : tensor<1x112x112x32xf32> -> tensor<1x112x1x32xi1>
// CHECK: ait.any %[[R]] {dims = array<i64: 1>} : tensor<1x112x1x32xi1> -> tensor<1x1x1x32xi1>
func.func @any(%x: tensor<1x112x112x32xf32>) -> tensor<1x1x1x32xi1> {
  %0 = ait.any %x {dims = array<i64: 1, 2>} : tensor<1x112x112x32xf32> -> tensor<1x1x1x32xi1>
  return %0 : tensor<1x1x1x32xi1>
}

// A batch of unknown size may be one image.
// CHECK-LABEL: @dynamic
// CHECK: ait.sum %arg0 {dims = array<i64: 2>} {{.*}} -> tensor<?x112x1x48xf32
// CHECK: ait.sum {{.*}} {dims = array<i64: 1>}
func.func @dynamic(%x: tensor<?x112x112x48xf32, #x>) -> tensor<?x1x1x48xf32, #y> {
  %0 = ait.sum %x {dims = array<i64: 1, 2>} : tensor<?x112x112x48xf32, #x> -> tensor<?x1x1x48xf32, #y>
  return %0 : tensor<?x1x1x48xf32, #y>
}

// Enough results, few elements, and one axis: as they are.
// CHECK-LABEL: @many
// CHECK-COUNT-1: ait.sum
// CHECK-NOT: ait.sum
func.func @many(%x: tensor<16x56x56x256xf32>) -> tensor<16x1x1x256xf32> {
  %0 = ait.sum %x {dims = array<i64: 1, 2>} : tensor<16x56x56x256xf32> -> tensor<16x1x1x256xf32>
  return %0 : tensor<16x1x1x256xf32>
}
// CHECK-LABEL: @short
// CHECK-COUNT-1: ait.sum
// CHECK-NOT: ait.sum
func.func @short(%x: tensor<1x7x7x512xf32>) -> tensor<1x1x1x512xf32> {
  %0 = ait.sum %x {dims = array<i64: 1, 2>} : tensor<1x7x7x512xf32> -> tensor<1x1x1x512xf32>
  return %0 : tensor<1x1x1x512xf32>
}
// CHECK-LABEL: @one_axis
// CHECK-COUNT-1: ait.sum
// CHECK-NOT: ait.sum
func.func @one_axis(%x: tensor<1x100000xf32>) -> tensor<1x1xf32> {
  %0 = ait.sum %x {dims = array<i64: 1>} : tensor<1x100000xf32> -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
// Planes are rows in memory, of which a block reduces many elements at once.
// CHECK-LABEL: @planes
// CHECK-COUNT-1: ait.mean
// CHECK-NOT: ait.mean
func.func @planes(%x: tensor<1x32x112x112xf32>) -> tensor<1x32x1x1xf32> {
  %0 = ait.mean %x {dims = array<i64: 2, 3>} : tensor<1x32x112x112xf32> -> tensor<1x32x1x1xf32>
  return %0 : tensor<1x32x1x1xf32>
}
