// RUN: aitune-opt %s -ait-decompose | FileCheck %s

// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0] -> (s0, 1)>
#t = affine_map<()[s0] -> (s0, 8)>

// CHECK-LABEL: func @softmax
func.func @softmax(%x: tensor<?x8xf32, #t>) -> tensor<?x8xf32, #t> {
  // CHECK-NEXT: %[[MAX:.*]] = ait.amax %arg0 {dims = array<i64: 1>} : {{.*}} -> tensor<?x1xf32, #[[ROWS]]>
  // CHECK-NEXT: %[[B:.*]] = ait.expand %[[MAX]]
  // CHECK-NEXT: %[[S:.*]] = ait.sub %arg0, %[[B]]
  // CHECK-NEXT: %[[E:.*]] = ait.exp %[[S]]
  // CHECK-NEXT: %[[SUM:.*]] = ait.sum %[[E]] {dims = array<i64: 1>}
  // CHECK-NEXT: %[[D:.*]] = ait.expand %[[SUM]]
  // CHECK-NEXT: %[[R:.*]] = ait.div %[[E]], %[[D]]
  // CHECK-NEXT: return %[[R]]
  %0 = ait.softmax %x {dim = 1 : i64} : tensor<?x8xf32, #t> -> tensor<?x8xf32, #t>
  return %0 : tensor<?x8xf32, #t>
}

// Narrow types normalise in f32 and round once.
// CHECK-LABEL: func @layer_norm
func.func @layer_norm(%x: tensor<2x3x8xbf16>, %w: tensor<3x8xbf16>) -> tensor<2x3x8xbf16> {
  // CHECK: ait.convert %arg0 : tensor<2x3x8xbf16> -> tensor<2x3x8xf32>
  // CHECK: ait.mean {{.*}} {dims = array<i64: 1, 2>} : tensor<2x3x8xf32> -> tensor<2x1x1xf32>
  // CHECK: ait.sub
  // CHECK: ait.mean
  // CHECK: ait.rsqrt
  // CHECK: ait.expand {{.*}} : tensor<3x8xf32> -> tensor<2x3x8xf32>
  // CHECK: %[[R:.*]] = ait.convert {{.*}} : tensor<2x3x8xf32> -> tensor<2x3x8xbf16>
  // CHECK-NEXT: return %[[R]]
  %0 = ait.layer_norm %x weight %w : tensor<3x8xbf16> {normalized_rank = 2 : i64, eps = 1.0e-5 : f64} : tensor<2x3x8xbf16> -> tensor<2x3x8xbf16>
  return %0 : tensor<2x3x8xbf16>
}

// No mean is subtracted.
// CHECK-LABEL: func @rms_norm
func.func @rms_norm(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: ait.sub
  // CHECK: return
  %0 = ait.rms_norm %x {normalized_rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<2x8xf32> -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func @group_norm
func.func @group_norm(%x: tensor<2x6x4x5xf32>, %w: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<2x6x4x5xf32> {
  // CHECK: ait.reshape %arg0 : tensor<2x6x4x5xf32> -> tensor<2x3x2x4x5xf32>
  // CHECK: ait.mean {{.*}} {dims = array<i64: 2, 3, 4>}
  // CHECK: %[[W:.*]] = ait.reshape %arg1 : tensor<6xf32> -> tensor<3x2x1x1xf32>
  // CHECK: ait.expand %[[W]] : tensor<3x2x1x1xf32> -> tensor<2x3x2x4x5xf32>
  // CHECK: ait.reshape {{.*}} -> tensor<2x6x4x5xf32>
  %0 = ait.group_norm %x weight %w : tensor<6xf32> bias %b : tensor<6xf32> {groups = 3 : i64, eps = 1.0e-5 : f64} : tensor<2x6x4x5xf32> -> tensor<2x6x4x5xf32>
  return %0 : tensor<2x6x4x5xf32>
}
