// RUN: aitune-opt %s -ait-volumes-to-planes | FileCheck %s

#clip = affine_map<()[s0] -> (4, 2, s0, 5, 6)>
#clipped = affine_map<()[s0] -> (4, 3, s0, 5, 6)>
module attributes {ait.symbols = [{name = "s0", min = 3 : i64, max = 32 : i64, input = 0 : i64, axis = 2 : i64}]} {

// The channels under all taps along depth are those of one pixel.
// CHECK-LABEL: @planes
// CHECK: %[[W:.*]] = ait.constant 0
// CHECK: %[[P:.*]] = ait.pad %arg0 {high = array<i64: 0, 0, 1, 0, 0>, low = array<i64: 0, 0, 1, 0, 0>
// CHECK: %[[S0:.*]] = ait.slice %[[P]] {starts = array<i64: 0, 0, 0, 0, 0>
// CHECK: %[[T0:.*]] = ait.permute %[[S0]] {permutation = array<i64: 0, 2, 1, 3, 4>}
// CHECK: %[[R0:.*]] = ait.reshape %[[T0]] : {{.*}} -> tensor<?x2x5x6xf32
// CHECK: ait.slice %[[P]] {starts = array<i64: 0, 0, 1, 0, 0>
// CHECK: ait.slice %[[P]] {starts = array<i64: 0, 0, 2, 0, 0>
// CHECK: %[[C:.*]] = ait.concat %[[R0]], {{.*}} {dim = 1 : i64}
// CHECK: %[[F:.*]] = ait.permute %[[W]] {permutation = array<i64: 0, 2, 1, 3, 4>} : {{.*}} -> tensor<3x3x2x1x3xf32>
// CHECK: %[[G:.*]] = ait.reshape %[[F]] : {{.*}} -> tensor<3x6x1x3xf32>
// CHECK: %[[Y:.*]] = ait.convolution %[[C]], %[[G]] {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 1>, stride = array<i64: 1, 1>}
// CHECK: %[[Z:.*]] = ait.reshape %[[Y]] : {{.*}} -> tensor<4x?x3x5x6xf32
// CHECK: ait.permute %[[Z]] {permutation = array<i64: 0, 2, 1, 3, 4>}
func.func @planes(%x: tensor<4x2x?x5x6xf32, #clip>) -> tensor<4x3x?x5x6xf32, #clipped> {
  %w = ait.constant 0 : tensor<3x2x3x1x3xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1, 1>, padding = array<i64: 1, 0, 1>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<4x2x?x5x6xf32, #clip>, tensor<3x2x3x1x3xf32>) -> tensor<4x3x?x5x6xf32, #clipped>
  return %0 : tensor<4x3x?x5x6xf32, #clipped>
}

// A convolution for each tap, with groups.
// CHECK-LABEL: @groups
// CHECK-COUNT-2: ait.convolution %{{.*}} groups = 2 : i64
// CHECK: ait.add
func.func @groups(%x: tensor<1x4x6x5x5xf32>) -> tensor<1x6x2x3x3xf32> {
  %w = ait.constant 0 : tensor<6x2x2x3x3xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 2, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 3, 1, 1>, groups = 2 : i64} : (tensor<1x4x6x5x5xf32>, tensor<6x2x2x3x3xf32>) -> tensor<1x6x2x3x3xf32>
  return %0 : tensor<1x6x2x3x3xf32>
}

// Of half precision the sum is rounded, not each of what it adds.
// CHECK-LABEL: @half_groups
// CHECK-COUNT-2: ait.convolution %{{.*}} groups = 2 : i64{{.*}}f16>) -> tensor<2x6x3x3xf32>
// CHECK: %[[SUM:.*]] = ait.add {{.*}} : tensor<2x6x3x3xf32>
// CHECK-NEXT: ait.convert %[[SUM]] : tensor<2x6x3x3xf32> -> tensor<2x6x3x3xf16>
func.func @half_groups(%x: tensor<1x4x6x5x5xf16>) -> tensor<1x6x2x3x3xf16> {
  %w = ait.constant 0 : tensor<6x2x2x3x3xf16>
  %0 = ait.convolution %x, %w {stride = array<i64: 2, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 3, 1, 1>, groups = 2 : i64} : (tensor<1x4x6x5x5xf16>, tensor<6x2x2x3x3xf16>) -> tensor<1x6x2x3x3xf16>
  return %0 : tensor<1x6x2x3x3xf16>
}

// Along depth alone nothing is copied.
// CHECK-LABEL: @along_depth
// CHECK-NOT: ait.permute
// CHECK: ait.convolution %{{.*}} {dilation = array<i64: 2, 1>, groups = 1 : i64, padding = array<i64: 2, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x6x25xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x6x25xf32>
// CHECK-NOT: ait.permute
func.func @along_depth(%x: tensor<1x4x6x5x5xf32>) -> tensor<1x6x6x5x5xf32> {
  %w = ait.constant 0 : tensor<6x4x3x1x1xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1, 1>, padding = array<i64: 2, 0, 0>, dilation = array<i64: 2, 1, 1>, groups = 1 : i64} : (tensor<1x4x6x5x5xf32>, tensor<6x4x3x1x1xf32>) -> tensor<1x6x6x5x5xf32>
  return %0 : tensor<1x6x6x5x5xf32>
}
}
