// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512 | FileCheck %s

// 1x1 of stride 1: a matmul of all pixels.
// CHECK-LABEL: func.func @pointwise(
// CHECK-SAME: ait.grid = affine_map<() -> (
// CHECK-SAME: layout = convolution_panels
// CHECK: llvm.intr.fma
// CHECK-NOT: arith.select
func.func private @pointwise(%x: tensor<1x14x14x256xf32>, %f: tensor<64x256x1x1xf32> {ait.constant}) -> tensor<1x14x14x64xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last}
    : (tensor<1x14x14x256xf32>, tensor<64x256x1x1xf32>) -> tensor<1x14x14x64xf32>
  return %0 : tensor<1x14x14x64xf32>
}

// -----

// Taps: a pointer for each pixel of the tile, to zeros where the tap lies in the
// padding; the inner loop knows nothing of the edge. Filters that do not stay in
// the first-level cache are asked for some steps ahead.
// CHECK: llvm.mlir.global internal constant @zeros_of_taps
// CHECK-LABEL: func.func @taps(
// CHECK-SAME: layout = convolution_panels
// CHECK: llvm.mlir.addressof @zeros_of_taps
// CHECK: arith.cmpi ult
// CHECK: arith.select {{.*}} : !llvm.ptr
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: llvm.intr.fma
func.func private @taps(%x: tensor<1x14x14x64xf32>, %f: tensor<64x64x3x3xf32> {ait.constant}) -> tensor<1x14x14x64xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last}
    : (tensor<1x14x14x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x14x14x64xf32>
  return %0 : tensor<1x14x14x64xf32>
}

// -----

// The first layer: the input under an output row is copied, then the taps of a
// filter row are one run of 7 * 3 steps.
// CHECK-LABEL: func.func @first_layer(
// CHECK-SAME: ait.grid = affine_map<() -> (112)>
// CHECK: arith.constant 21 : i64
// CHECK: llvm.intr.fma
func.func private @first_layer(%x: tensor<1x224x224x3xf32>, %f: tensor<64x3x7x7xf32> {ait.constant}) -> tensor<1x112x112x64xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 2, 2>, padding = array<i64: 3, 3>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last}
    : (tensor<1x224x224x3xf32>, tensor<64x3x7x7xf32>) -> tensor<1x112x112x64xf32>
  return %0 : tensor<1x112x112x64xf32>
}

// -----

// Depthwise: vectors of channels; a tile of 8 pixels loads each of its 10
// columns once a filter row, for 24 multiply-adds.
// CHECK-LABEL: func.func @depthwise(
// CHECK-SAME: layout = depthwise
// CHECK-COUNT-24: llvm.intr.fma
func.func private @depthwise(%x: tensor<1x28x28x64xf32>, %f: tensor<64x1x3x3xf32> {ait.constant}) -> tensor<1x28x28x64xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 64 : i64, channels_last}
    : (tensor<1x28x28x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// -----

// Groups of 8 results: vectors of 8, not halves of 16. Of 24: whole vectors.
// CHECK-LABEL: func.func @narrow_groups(
// CHECK: llvm.intr.fma{{.*}} vector<8xf32>
// CHECK-NOT: vector<16xf32>
func.func private @narrow_groups(%x: tensor<1x28x28x64xf32>, %f: tensor<64x8x3x3xf32> {ait.constant}) -> tensor<1x28x28x64xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 8 : i64, channels_last}
    : (tensor<1x28x28x64xf32>, tensor<64x8x3x3xf32>) -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// -----

// CHECK-LABEL: func.func @wide_groups(
// CHECK: llvm.intr.fma{{.*}} vector<16xf32>
func.func private @wide_groups(%x: tensor<1x28x28x48xf32>, %f: tensor<48x24x3x3xf32> {ait.constant}) -> tensor<1x28x28x48xf32>
    attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64, channels_last}
    : (tensor<1x28x28x48xf32>, tensor<48x24x3x3xf32>) -> tensor<1x28x28x48xf32>
  return %0 : tensor<1x28x28x48xf32>
}

// -----

// Winograd with tiles of 4x4 results: 36 inputs of a tile are transformed, 36
// matmuls follow, and 16 results of a tile are made of their sums. The 196 tiles
// are 14 units.
// CHECK-LABEL: func.func @winograd(
// CHECK-SAME: ait.config = {algorithm = "winograd_4x4"
// CHECK-SAME: ait.grid = affine_map<() -> (14)>
// CHECK-SAME: layout = winograd_4x4
// The inputs of the padding come from zeros, chosen once a tile.
// CHECK-COUNT-36: arith.select {{.*}} : !llvm.ptr
// CHECK: scf.for
// CHECK-COUNT-36: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: arith.select
// CHECK-COUNT-36: llvm.store {{.*}} : vector<16xf32>
// A tile with inputs that are not finite is transformed again without them.
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK-COUNT-36: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// The matmuls: 7 rows of two vectors.
// CHECK: iter_args
// CHECK-COUNT-14: llvm.intr.fma
// CHECK: scf.yield
// CHECK-COUNT-14: llvm.store
// CHECK-COUNT-36: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>
func.func private @winograd(%x: tensor<1x56x56x64xf32>, %f: tensor<64x64x3x3xf32> {ait.constant}) -> tensor<1x56x56x64xf32>
    attributes {ait.kind = #ait.kind<convolution>, ait.config = {algorithm = "winograd_4x4", mr = 7 : i64, nr = 32 : i64, mc = 14 : i64, panels = 2 : i64}} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last}
    : (tensor<1x56x56x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}
