// RUN: aitune-opt %s -ait-analyze-contractions -split-input-file -verify-diagnostics | FileCheck %s

// Rows through a permute: [tokens, heads * depth] read as [heads, tokens,
// depth] has one stride an axis.
// CHECK-LABEL: func.func private @heads
// CHECK-SAME: ait.contraction = #ait.contraction<sizes = () -> (4, 8, 8, 16), operands = [
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = f32, offset = () -> (0), axes = [() -> (4, 16), () -> (8, 64), () -> (16, 1)]>,
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = f32, offset = () -> (0), axes = [() -> (4, 16), () -> (8, 64), () -> (16, 1)]>]>
func.func private @heads(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<4x8x8xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.reshape %a : tensor<8x64xf32> -> tensor<8x4x16xf32>
  %1 = ait.permute %0 {permutation = array<i64: 1, 0, 2>} : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %2 = ait.reshape %b : tensor<8x64xf32> -> tensor<8x4x16xf32>
  %3 = ait.permute %2 {permutation = array<i64: 1, 0, 2>} : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %4 = ait.matmul %1, %3 {transpose_rhs} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  return %4 : tensor<4x8x8xf32>
}

// -----

// Merging the heads again leaves two modes on the contracted axis; rows of one
// right side are rows, however many axes they have.
// CHECK-LABEL: func.func private @merged
// CHECK-SAME: sizes = ()[s0] -> (1, s0 * 8, 32, 64)
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = bf16, offset = () -> (0), axes = [()[s0] -> (s0, 512), () -> (8, 16), () -> (4, 128, 16, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = bf16, offset = () -> (0), axes = [() -> (64, 32), () -> (32, 1)]>
func.func private @merged(%a: tensor<?x4x8x16xbf16, affine_map<()[s0] -> (s0, 4, 8, 16)>>, %b: tensor<64x32xbf16>)
    -> tensor<?x8x32xf32, affine_map<()[s0] -> (s0, 8, 32)>> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %a {permutation = array<i64: 0, 2, 1, 3>}
    : tensor<?x4x8x16xbf16, affine_map<()[s0] -> (s0, 4, 8, 16)>> -> tensor<?x8x4x16xbf16, affine_map<()[s0] -> (s0, 8, 4, 16)>>
  %1 = ait.reshape %0 : tensor<?x8x4x16xbf16, affine_map<()[s0] -> (s0, 8, 4, 16)>> -> tensor<?x8x64xbf16, affine_map<()[s0] -> (s0, 8, 64)>>
  %2 = ait.matmul %1, %b : (tensor<?x8x64xbf16, affine_map<()[s0] -> (s0, 8, 64)>>, tensor<64x32xbf16>) -> tensor<?x8x32xf32, affine_map<()[s0] -> (s0, 8, 32)>>
  return %2 : tensor<?x8x32xf32, affine_map<()[s0] -> (s0, 8, 32)>>
}

// -----

// A broadcast right side is one matrix; a slice moves the offset; a widening
// conversion keeps the stored type.
// CHECK-LABEL: func.func private @broadcast
// CHECK-SAME: sizes = () -> (1, 12, 5, 6)
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = bf16, offset = () -> (2), axes = [() -> (3, 40), () -> (4, 10), () -> (6, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1, element_type = f32, offset = () -> (0), axes = [() -> (3, 0), () -> (6, 5), () -> (5, 1)]>
func.func private @broadcast(%a: tensor<3x4x10xbf16>, %b: tensor<6x5xf32>) -> tensor<3x4x5xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.slice %a {starts = array<i64: 0, 0, 2>, steps = array<i64: 1, 1, 1>} : tensor<3x4x10xbf16> -> tensor<3x4x6xbf16>
  %1 = ait.convert %0 : tensor<3x4x6xbf16> -> tensor<3x4x6xf32>
  %2 = ait.expand %b : tensor<6x5xf32> -> tensor<3x6x5xf32>
  %3 = ait.matmul %1, %2 : (tensor<3x4x6xf32>, tensor<3x6x5xf32>) -> tensor<3x4x5xf32>
  return %3 : tensor<3x4x5xf32>
}

// -----

// A convolution's product: two groups of four channels, 2 x 6 x 6 pixels, nine
// taps of three channels.
// CHECK-LABEL: func.func private @groups
// CHECK-SAME: sizes = () -> (2, 72, 4, 27)
// CHECK-SAME: #ait.operand_view<argument = 0, element_type = f32, offset = () -> (0), axes = [() -> (2, 384), () -> (8, 48), () -> (8, 6), () -> (6, 1)]>
// CHECK-SAME: #ait.operand_view<argument = 1
func.func private @groups(%x: tensor<2x8x8x6xf32>, %f: tensor<8x3x3x3xf32> {ait.constant}) -> tensor<2x6x6x8xf32> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, channels_last}
    : (tensor<2x8x8x6xf32>, tensor<8x3x3x3xf32>) -> tensor<2x6x6x8xf32>
  return %0 : tensor<2x6x6x8xf32>
}

// -----

// A mask that the kernel computes has no place in memory.
// CHECK-LABEL: func.func private @masked
// CHECK-SAME: sizes = () -> (2, 3, 5, 8)
// CHECK-SAME: axes = [() -> (2, 40), () -> (5, 8), () -> (8, 1)]>, "an operand of the contraction is computed by ait.logical_not"]>
func.func private @masked(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>, %m: tensor<2x3x5xi1>) -> tensor<2x3x8xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.logical_not %m : tensor<2x3x5xi1> -> tensor<2x3x5xi1>
  %1 = ait.attention %q, %k, %v, %0 {scale = 1.0 : f64} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x3x5xi1>) -> tensor<2x3x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// -----

// What was printed is read again; loops are left alone.
// CHECK-LABEL: func.func private @loop
// CHECK-SAME: attributes {ait.contraction = #ait.contraction<sizes = () -> (1, 2, 3, 4), operands = ["computed"]>, ait.kind = #ait.kind<loop>}
func.func private @loop(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>, ait.contraction = #ait.contraction<sizes = () -> (1, 2, 3, 4), operands = ["computed"]>} {
  %0 = ait.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{the kernel has no contraction}}
func.func private @none(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
