// RUN: aitune-opt %s -ait-transposed-convolutions -canonicalize | FileCheck %s

#image = affine_map<()[s0] -> (s0, 6, 7, 9)>
#image_1 = affine_map<()[s0] -> (s0, 4, 14, 18)>
#rows = affine_map<()[s0] -> (2, 6, s0, 9)>
#rows_1 = affine_map<()[s0] -> (2, 4, s0 * 2, 18)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64, input = 0 : i64, axis = 0 : i64}]} {

// Patches that do not overlap: the pixels of a patch are channels of one.
// CHECK-LABEL: @patches
// CHECK: %[[W:.*]] = ait.constant 0
// CHECK: %[[F:.*]] = ait.permute %{{.*}} -> tensor<{{.*}}2x2x4x6{{.*}}xf32>
// CHECK: %[[Y:.*]] = ait.convolution %arg0, %{{.*}} {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<?x6x7x9xf32, {{.*}}>, tensor<16x6x1x1xf32>) -> tensor<?x16x7x9xf32
// CHECK: ait.permute %{{.*}}
// CHECK-NEXT: ait.reshape %{{.*}} -> tensor<?x4x14x18xf32
// CHECK-NOT: ait.slice
func.func @patches(%x: tensor<?x6x7x9xf32, #image>) -> tensor<?x4x14x18xf32, #image_1> {
  %w = ait.constant 0 : tensor<6x4x2x2xf32>
  %0 = ait.transposed_convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>} : (tensor<?x6x7x9xf32, #image>, tensor<6x4x2x2xf32>) -> tensor<?x4x14x18xf32, #image_1>
  return %0 : tensor<?x4x14x18xf32, #image_1>
}

// What the padding cuts off is computed with its neighbours, in rows of any
// number.
// CHECK-LABEL: @overlapping
// CHECK: ait.convolution %arg0, %{{.*}} {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 1, 1>} : {{.*}}tensor<16x6x2x2xf32>
// CHECK: ait.slice %{{.*}} {starts = array<i64: 0, 0, 1, 1>, steps = array<i64: 1, 1, 1, 1>} : {{.*}} -> tensor<2x4x?x18xf32
func.func @overlapping(%x: tensor<2x6x?x9xf32, #rows>) -> tensor<2x4x?x18xf32, #rows_1> {
  %w = ait.constant 0 : tensor<6x4x4x4xf32>
  %0 = ait.transposed_convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>} : (tensor<2x6x?x9xf32, #rows>, tensor<6x4x4x4xf32>) -> tensor<2x4x?x18xf32, #rows_1>
  return %0 : tensor<2x4x?x18xf32, #rows_1>
}

// Pixels that read different numbers of elements are of convolutions of their
// own: a missing tap is no product with 0, which would be NaN for NaN.
// CHECK-LABEL: @uneven
// CHECK-DAG: ait.convolution {{.*}} (tensor<1x2x{{.*}}>, tensor<6x1x2x2x2xf32>)
// CHECK-DAG: ait.convolution {{.*}} (tensor<1x2x{{.*}}>, tensor<6x1x1x2x2xf32>)
// CHECK: ait.concat
// CHECK: return
func.func @uneven(%x: tensor<1x2x3x4x5xf32>) -> tensor<1x6x6x5x6xf32> {
  %w = ait.constant 0 : tensor<2x3x3x2x2xf32>
  %0 = ait.transposed_convolution %x, %w {stride = array<i64: 2, 1, 1>, padding = array<i64: 1, 0, 0>, dilation = array<i64: 1, 1, 1>, groups = 2 : i64, output_padding = array<i64: 1, 0, 0>} : (tensor<1x2x3x4x5xf32>, tensor<2x3x3x2x2xf32>) -> tensor<1x6x6x5x6xf32>
  return %0 : tensor<1x6x6x5x6xf32>
}

// Pixels that no element of the input reaches are 0.
// CHECK-LABEL: @gaps
// CHECK: %[[Y:.*]] = ait.convolution %arg0, %{{.*}} {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 2>, stride = array<i64: 1, 1>} : {{.*}}tensor<3x2x1x3xf32>
// CHECK: %[[Z:.*]] = ait.reshape %[[Y]]
// CHECK: %[[N:.*]] = ait.full 0.0
// CHECK: ait.concat %[[Z]], %[[N]] {dim = 3 : i64}
func.func @gaps(%x: tensor<1x2x1x4xf32>) -> tensor<1x3x1x11xf32> {
  %w = ait.constant 0 : tensor<2x3x1x3xf32>
  %0 = ait.transposed_convolution %x, %w {stride = array<i64: 1, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>, groups = 1 : i64, output_padding = array<i64: 0, 0>} : (tensor<1x2x1x4xf32>, tensor<2x3x1x3xf32>) -> tensor<1x3x1x11xf32>
  return %0 : tensor<1x3x1x11xf32>
}
}
