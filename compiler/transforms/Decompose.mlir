// RUN: aitune-opt %s -ait-decompose | FileCheck %s
// RUN: aitune-opt %s -ait-decompose=enough-groups=128 | FileCheck %s --check-prefix=FEW

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

// Narrow types normalise in f32 and round once; what they read is as stored.
// CHECK-LABEL: func @layer_norm
func.func @layer_norm(%x: tensor<2x3x8xbf16>, %w: tensor<3x8xbf16>) -> tensor<2x3x8xbf16> {
  // CHECK: ait.convert %arg0 {ait.rounds} : tensor<2x3x8xbf16> -> tensor<2x3x8xf32>
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

// CHECK-LABEL: func @as_stored
func.func @as_stored(%x: tensor<2x6x8xf16>) -> (tensor<2x6x8xf16>, tensor<2x6x8xf16>, tensor<2x6x8xf16>) {
  // CHECK-COUNT-3: ait.convert %{{.*}} {ait.rounds} : {{.*}}f16> -> {{.*}}f32>
  // CHECK-NOT: ait.convert {{.*}}f16> -> {{.*}}f32>
  // CHECK: return
  %0 = ait.softmax %x {dim = 2 : i64} : tensor<2x6x8xf16> -> tensor<2x6x8xf16>
  %1 = ait.rms_norm %x {normalized_rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<2x6x8xf16> -> tensor<2x6x8xf16>
  %2 = ait.group_norm %x {groups = 3 : i64, eps = 1.0e-5 : f64} : tensor<2x6x8xf16> -> tensor<2x6x8xf16>
  return %0, %1, %2 : tensor<2x6x8xf16>, tensor<2x6x8xf16>, tensor<2x6x8xf16>
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

// One group is all but the first axis, a group a channel all but two: neither
// has an axis of its own.
// CHECK-LABEL: func @one_group
func.func @one_group(%x: tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32> {
  // CHECK-NOT: ait.reshape
  // CHECK: ait.mean %arg0 {dims = array<i64: 1, 2, 3>}
  // CHECK-NOT: ait.reshape
  // CHECK: return
  %0 = ait.group_norm %x {groups = 1 : i64, eps = 1.0e-5 : f64} : tensor<2x6x4x5xf32> -> tensor<2x6x4x5xf32>
  return %0 : tensor<2x6x4x5xf32>
}

// CHECK-LABEL: func @group_a_channel
func.func @group_a_channel(%x: tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32> {
  // CHECK: ait.mean %arg0 {dims = array<i64: 2, 3>}
  // CHECK-NOT: ait.reshape
  // CHECK: return
  %0 = ait.group_norm %x {groups = 6 : i64, eps = 1.0e-5 : f64} : tensor<2x6x4x5xf32> -> tensor<2x6x4x5xf32>
  return %0 : tensor<2x6x4x5xf32>
}

// Of many elements the mean is corrected by that of what is left without it.
// CHECK-LABEL: func @many_elements
func.func @many_elements(%x: tensor<2x6x1024xf32>) -> tensor<2x6x1024xf32> {
  // CHECK: %[[MEAN:.*]] = ait.mean %arg0 {dims = array<i64: 2>}
  // CHECK: %[[MEANS:.*]] = ait.expand %[[MEAN]]
  // CHECK: %[[CENTERED:.*]] = ait.sub %arg0, %[[MEANS]]
  // CHECK: %[[ERROR:.*]] = ait.mean %[[CENTERED]] {dims = array<i64: 2>}
  // CHECK: %[[ERRORS:.*]] = ait.expand %[[ERROR]]
  // CHECK: %[[CORRECTED:.*]] = ait.sub %[[CENTERED]], %[[ERRORS]]
  // CHECK: %[[SQUARES:.*]] = ait.mul %[[CENTERED]], %[[CENTERED]]
  // CHECK: ait.mean %[[SQUARES]] {dims = array<i64: 2>}
  // CHECK: ait.mul %[[CORRECTED]],
  %0 = ait.group_norm %x {groups = 6 : i64, eps = 1.0e-5 : f64} : tensor<2x6x1024xf32> -> tensor<2x6x1024xf32>
  return %0 : tensor<2x6x1024xf32>
}

// So it is of fewer behind a convolution, whose channels will be lanes: one of
// them adds up all of a group, and no other one.
// CHECK-LABEL: func @elements_of_lanes
func.func @elements_of_lanes(%x: tensor<2x6x10x10xf32>, %w: tensor<6x6x1x1xf32>) -> (tensor<2x6x10x10xf32>, tensor<2x6x100xf32>, tensor<2x6x10x10xf32>) {
  // CHECK: %[[Y:.*]] = ait.convolution
  // CHECK: ait.mean %[[Y]] {dims = array<i64: 2, 3>}
  // CHECK: ait.mean {{.*}} {dims = array<i64: 2, 3>}
  // CHECK: ait.mean {{.*}} {dims = array<i64: 2, 3>}
  // CHECK: %[[R:.*]] = ait.reshape %[[Y]]
  // CHECK-COUNT-3: ait.mean {{.*}} {dims = array<i64: 2>}
  // CHECK-COUNT-2: ait.mean
  // CHECK-NOT: ait.mean
  // CHECK: return
  %y = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x6x10x10xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x10x10xf32>
  %0 = ait.group_norm %y {groups = 6 : i64, eps = 1.0e-5 : f64} : tensor<2x6x10x10xf32> -> tensor<2x6x10x10xf32>
  %r = ait.reshape %y : tensor<2x6x10x10xf32> -> tensor<2x6x100xf32>
  %1 = ait.group_norm %r {groups = 6 : i64, eps = 1.0e-5 : f64} : tensor<2x6x100xf32> -> tensor<2x6x100xf32>
  %2 = ait.group_norm %x {groups = 6 : i64, eps = 1.0e-5 : f64} : tensor<2x6x10x10xf32> -> tensor<2x6x10x10xf32>
  return %0, %1, %2 : tensor<2x6x10x10xf32>, tensor<2x6x100xf32>, tensor<2x6x10x10xf32>
}

// Two large groups leave a GPU idle: rows of the image come first, and the
// variance of all is the mean of theirs and the variance of their means.
// FEW-LABEL: func @few_large_groups
func.func @few_large_groups(%x: tensor<2x64x16x32xf16>, %w: tensor<64xf16>) -> tensor<2x64x16x32xf16> {
  // FEW: %[[X:.*]] = ait.convert %arg0
  // FEW: %[[M:.*]] = ait.mean %[[X]] {dims = array<i64: 1, 3>} : tensor<2x64x16x32xf32> -> tensor<2x1x16x1xf32>
  // FEW: %[[C:.*]] = ait.sub %[[X]]
  // FEW: %[[S:.*]] = ait.mul %[[C]], %[[C]]
  // FEW: %[[V:.*]] = ait.mean %[[S]] {dims = array<i64: 1, 3>}
  // FEW: %[[MM:.*]] = ait.mean %[[M]] {dims = array<i64: 2>} : tensor<2x1x16x1xf32> -> tensor<2x1x1x1xf32>
  // FEW: %[[E:.*]] = ait.expand %[[MM]]
  // FEW: %[[B:.*]] = ait.sub %[[M]], %[[E]]
  // FEW: %[[BB:.*]] = ait.mul %[[B]], %[[B]]
  // FEW: %[[A:.*]] = ait.add %[[V]], %[[BB]]
  // FEW: ait.mean %[[A]] {dims = array<i64: 2>}
  // FEW: ait.sub %[[X]]
  // CHECK-LABEL: func @few_large_groups
  // CHECK: ait.mean {{.*}} {dims = array<i64: 1, 2, 3>}
  %0 = ait.group_norm %x weight %w : tensor<64xf16> {groups = 1 : i64, eps = 1.0e-5 : f64} : tensor<2x64x16x32xf16> -> tensor<2x64x16x32xf16>
  return %0 : tensor<2x64x16x32xf16>
}

// Behind a convolution, channels will be last: those of a group lie apart in
// memory. A factor and a term of each channel are all that is large reads.
// FEW-LABEL: func @behind_a_convolution
func.func @behind_a_convolution(%x: tensor<2x8x16x16xf32>, %f: tensor<8x8x3x3xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8x16x16xf32> {
  // FEW: %[[R:.*]] = ait.relu
  // FEW: %[[M:.*]] = ait.mean %[[R]] {dims = array<i64: 3>} : tensor<2x8x16x16xf32> -> tensor<2x8x16x1xf32>
  // FEW: ait.reshape {{.*}} : tensor<2x8x16x1xf32> -> tensor<2x4x2x16x1xf32>
  // FEW: ait.mean {{.*}} {dims = array<i64: 2, 3>} : tensor<2x4x2x16x1xf32> -> tensor<2x4x1x1x1xf32>
  // FEW: ait.rsqrt
  // FEW: %[[P:.*]] = ait.mul %[[R]], {{.*}} : tensor<2x8x16x16xf32>
  // FEW: ait.add %[[P]], {{.*}} : tensor<2x8x16x16xf32>
  // CHECK-LABEL: func @behind_a_convolution
  // CHECK: ait.mean {{.*}} {dims = array<i64: 2, 3, 4>}
  %0 = ait.convolution %x, %f {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>} : (tensor<2x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x16x16xf32>
  %1 = ait.relu %0 : tensor<2x8x16x16xf32>
  %2 = ait.group_norm %1 weight %w : tensor<8xf32> bias %b : tensor<8xf32> {groups = 4 : i64, eps = 1.0e-5 : f64} : tensor<2x8x16x16xf32> -> tensor<2x8x16x16xf32>
  return %2 : tensor<2x8x16x16xf32>
}
