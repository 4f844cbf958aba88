// RUN: aitune-opt %s -ait-layout -canonicalize -split-input-file | FileCheck %s
// RUN: aitune-opt %s -ait-layout=depthwise-planes=1 -canonicalize -split-input-file | FileCheck %s --check-prefix=PLANES

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

// -----

// A depthwise convolution between no others stays as it is where its target has
// a kernel for it, with what is before and after it.
// CHECK-LABEL:  func.func @depthwise_alone
// CHECK:          ait.permute
// CHECK:          ait.convolution %{{.*}} {channels_last
// CHECK:          ait.permute
// PLANES-LABEL: func.func @depthwise_alone
// PLANES-NOT:     ait.permute
// PLANES-NOT:     channels_last
// PLANES:         return
func.func @depthwise_alone(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = ait.constant 0 : tensor<4x1x3x3xf32>
  %0 = ait.relu %x : tensor<1x4x8x8xf32>
  %1 = ait.convolution %0, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %2 = ait.convolution %1, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %3 = ait.add %1, %2 : tensor<1x4x8x8xf32>
  return %3 : tensor<1x4x8x8xf32>
}

// -----

// A convolution of pixels reads what it gives: both are channels-last.
// PLANES-LABEL: func.func @depthwise_before_pointwise
// PLANES:         ait.permute
// PLANES:         ait.convolution %{{.*}} {channels_last
// PLANES:         ait.convolution %{{.*}} {channels_last
// PLANES:         ait.permute
func.func @depthwise_before_pointwise(%x: tensor<1x4x8x8xf32>, %p: tensor<8x4x1x1xf32>) -> tensor<1x8x8x8xf32> {
  %w = ait.constant 0 : tensor<4x1x3x3xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = ait.relu %0 : tensor<1x4x8x8xf32>
  %2 = ait.convolution %1, %p {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x8x8xf32>
  return %2 : tensor<1x8x8x8xf32>
}

// -----

// The image is channels-last in memory already, and is to be so again.
// PLANES-LABEL: func.func @depthwise_of_permuted
// PLANES-NOT:     ait.permute
// PLANES:         ait.convolution %{{.*}} {channels_last
// PLANES-NOT:     ait.permute
func.func @depthwise_of_permuted(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> {
  %w = ait.constant 0 : tensor<4x1x3x3xf32>
  %0 = ait.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
  %1 = ait.convolution %0, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %2 = ait.permute %1 {permutation = array<i64: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
  return %2 : tensor<1x8x8x4xf32>
}

// -----

// The kernel's filter is a constant.
// PLANES-LABEL: func.func @depthwise_of_argument
// PLANES:         ait.convolution %{{.*}} {channels_last
func.func @depthwise_of_argument(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// -----

// Volumes, whose reductions and pads follow.
// CHECK-LABEL: func.func @volumes
// CHECK:         ait.permute %arg0 {permutation = array<i64: 0, 2, 3, 4, 1>}
// CHECK:         %[[C:.*]] = ait.convolution %{{.*}} {channels_last
// CHECK-SAME:    -> tensor<1x4x5x6x8xf32>
// CHECK-NEXT:    %[[R:.*]] = ait.relu %[[C]] : tensor<1x4x5x6x8xf32>
// CHECK-NEXT:    %[[P:.*]] = ait.pad %[[R]] {high = array<i64: 0, 1, 0, 0, 0>, low = array<i64: 0, 0, 2, 0, 0>
// CHECK-NEXT:    %[[M:.*]] = ait.mean %[[P]] {dims = array<i64: 1, 2, 3>}
// CHECK-NEXT:    ait.reshape %[[M]]
func.func @volumes(%x: tensor<1x3x4x5x6xf32>) -> tensor<1x8x1x1x1xf32> {
  %w = ait.constant 0 : tensor<8x3x3x3x3xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1, 1>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<1x3x4x5x6xf32>, tensor<8x3x3x3x3xf32>) -> tensor<1x8x4x5x6xf32>
  %1 = ait.relu %0 : tensor<1x8x4x5x6xf32>
  %2 = ait.pad %1 {low = array<i64: 0, 0, 0, 2, 0>, high = array<i64: 0, 0, 1, 0, 0>, value = 0.0 : f64} : tensor<1x8x4x5x6xf32> -> tensor<1x8x5x7x6xf32>
  %3 = ait.mean %2 {dims = array<i64: 2, 3, 4>} : tensor<1x8x5x7x6xf32> -> tensor<1x8x1x1x1xf32>
  return %3 : tensor<1x8x1x1x1xf32>
}

// -----

// The groups of a channels-last image's channels are added where they are,
// scaled and joined, and the permute that names the axes in another order moves
// half as much.
// CHECK-LABEL: func.func @groups_of_channels
// CHECK-NOT:     ait.permute
// CHECK:         ait.reshape %arg0 : tensor<8x5x6x128xf16> -> tensor<8x5x6x2x64xf16>
// CHECK-NOT:     ait.permute
// CHECK:         %[[M:.*]] = ait.mul {{.*}} : tensor<8x5x6x2x64xf16>
// CHECK:         %[[C:.*]] = ait.concat %[[M]], %{{.*}} {dim = 3 : i64} {{.*}} -> tensor<8x5x6x4x64xf16>
// CHECK:         %[[S:.*]] = ait.sum %[[C]] {dims = array<i64: 3>} : tensor<8x5x6x4x64xf16> -> tensor<8x5x6x1x64xf16>
// CHECK:         ait.permute {{.*}} : tensor<8x5x6x64xf16> -> tensor<8x64x5x6xf16>
// CHECK-NOT:     ait.permute
// CHECK:         return
func.func @groups_of_channels(%x: tensor<8x5x6x128xf16>, %w: tensor<2x64x1x1xf16>) -> tensor<8x64x5x6xf16> {
  %0 = ait.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<8x5x6x128xf16> -> tensor<8x128x5x6xf16>
  %1 = ait.reshape %0 : tensor<8x128x5x6xf16> -> tensor<8x2x64x5x6xf16>
  %2 = ait.expand %w : tensor<2x64x1x1xf16> -> tensor<8x2x64x5x6xf16>
  %3 = ait.mul %1, %2 : tensor<8x2x64x5x6xf16>
  %4 = ait.concat %3, %1 {dim = 1 : i64} : (tensor<8x2x64x5x6xf16>, tensor<8x2x64x5x6xf16>) -> tensor<8x4x64x5x6xf16>
  %5 = ait.sum %4 {dims = array<i64: 1>} : tensor<8x4x64x5x6xf16> -> tensor<8x1x64x5x6xf16>
  %6 = ait.reshape %5 : tensor<8x1x64x5x6xf16> -> tensor<8x64x5x6xf16>
  return %6 : tensor<8x64x5x6xf16>
}

// -----

// Other operands are in another order; heads are as near to each other as
// before.
// CHECK-LABEL: func.func @other_orders
// CHECK:         ait.permute %arg0 {permutation = array<i64: 1, 0>}
// CHECK-NEXT:    ait.add
// CHECK-NEXT:    ait.permute %arg2 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:    ait.relu
func.func @other_orders(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %z: tensor<2x5x3x8xf32>) -> (tensor<8x4xf32>, tensor<2x3x5x8xf32>) {
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = ait.add %0, %y : tensor<8x4xf32>
  %2 = ait.permute %z {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x8xf32> -> tensor<2x3x5x8xf32>
  %3 = ait.relu %2 : tensor<2x3x5x8xf32>
  return %1, %3 : tensor<8x4xf32>, tensor<2x3x5x8xf32>
}

// -----

// Pools whose windows don't overlap, and copies of pixels, are as fast in planes
// and stay there when nothing beside them wants another layout.
// CHECK-LABEL: func.func @planes
// CHECK-NOT:     ait.permute
// CHECK:         ait.max_pool2d %arg0
// CHECK-NOT:     channels_last
// CHECK:         return
func.func @planes(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x8x6x6xf32> -> tensor<1x8x3x3xf32>
  %1 = ait.relu %0 : tensor<1x8x3x3xf32>
  %2 = ait.upsample_nearest2d %1 {scale_h = 5.000000e-01 : f64, scale_w = 5.000000e-01 : f64} : tensor<1x8x3x3xf32> -> tensor<1x8x6x6xf32>
  return %2 : tensor<1x8x6x6xf32>
}

// -----

// Windows that overlap are read faster channel by channel, and so are those of
// all that is connected with them.
// CHECK-LABEL: func.func @overlapping
// CHECK:         ait.permute %arg0
// CHECK:         ait.max_pool2d {{.*}}channels_last
// CHECK:         ait.max_pool2d {{.*}}channels_last
func.func @overlapping(%x: tensor<1x8x7x7xf32>) -> tensor<1x8x1x1xf32> {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x8x7x7xf32> -> tensor<1x8x3x3xf32>
  %1 = ait.max_pool2d %0 {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x8x3x3xf32> -> tensor<1x8x1x1xf32>
  return %1 : tensor<1x8x1x1xf32>
}
