// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="compile=1 quiet=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="quiet=1 most=1" -o /dev/null | FileCheck %s --check-prefix=FIRST

// A kernel with a schedule in ait.config has one candidate, which is that one.

// FIRST: === usual: mma
// FIRST-NOT: === usual
// CHECK-LABEL: === usual: mma
// CHECK: === usual: mma
func.func private @usual(%x: tensor<256x1024xf16>, %w: tensor<512x1024xf16> {ait.constant}) -> tensor<256x512xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<256x1024xf16>, tensor<512x1024xf16>) -> tensor<256x512xf16>
  return %0 : tensor<256x512xf16>
}

// CHECK-LABEL: === tile: mma 64x64, 3 stages, 4 slices, 2 splits
// CHECK: MmaCore<half, 64, 64, 32, 32, 4, true>
// CHECK: multiplyTile<Core, 64, 64, 3,
// CHECK-NOT: === tile
func.func private @tile(%x: tensor<256x1024xf16>, %w: tensor<512x1024xf16> {ait.constant}) -> tensor<256x512xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {algorithm = "mma", m = 64 : i64, n = 64 : i64, slices = 4 : i64, stages = 3 : i64, splits = 2 : i64}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<256x1024xf16>, tensor<512x1024xf16>) -> tensor<256x512xf16>
  return %0 : tensor<256x512xf16>
}

// CHECK-LABEL: === groups: wgmma 64x128, 6 stages
// CHECK-NOT: === groups
func.func private @groups(%x: tensor<256x1024xf16>, %w: tensor<512x1024xf16> {ait.constant}) -> tensor<256x512xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {algorithm = "wgmma", m = 64 : i64, n = 128 : i64, stages = 6 : i64}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<256x1024xf16>, tensor<512x1024xf16>) -> tensor<256x512xf16>
  return %0 : tensor<256x512xf16>
}

// Of a weight that is packed.
// CHECK-LABEL: === stays: persistent 128x192, 4 stages
// CHECK-NOT: === stays
func.func private @stays(%x: tensor<2048x1024xf16>, %w: tensor<512x1024xf16> {ait.constant}) -> tensor<2048x512xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {algorithm = "persistent", m = 128 : i64, n = 192 : i64, stages = 4 : i64}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<2048x1024xf16>, tensor<512x1024xf16>) -> tensor<2048x512xf16>
  return %0 : tensor<2048x512xf16>
}

// CHECK-LABEL: === stream: stream 1x16, 4 stages
// CHECK-NOT: === stream
func.func private @stream(%x: tensor<1x1024xf16>, %w: tensor<4096x1024xf16> {ait.constant}) -> tensor<1x4096xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {algorithm = "stream", m = 1 : i64, n = 16 : i64, stages = 4 : i64}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<1x1024xf16>, tensor<4096x1024xf16>) -> tensor<1x4096xf16>
  return %0 : tensor<1x4096xf16>
}

// CHECK-LABEL: === as_loops: dots:
// CHECK-NOT: === as_loops
func.func private @as_loops(%x: tensor<1x1024xf16>, %w: tensor<4096x1024xf16> {ait.constant}) -> tensor<1x4096xf16> attributes {ait.kind = #ait.kind<matmul>, ait.config = {algorithm = "loops"}} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<1x1024xf16>, tensor<4096x1024xf16>) -> tensor<1x4096xf16>
  return %0 : tensor<1x4096xf16>
}

// CHECK-LABEL: === convolution: mma 64x32, 4 stages, 4 slices
// CHECK: const Windows<half, 3, 3> a
// CHECK-NOT: === convolution
func.func private @convolution(%x: tensor<2x14x14x64xf16>, %w: tensor<64x64x3x3xf16> {ait.constant}) -> tensor<2x14x14x64xf16> attributes {ait.kind = #ait.kind<convolution>, ait.config = {algorithm = "mma", m = 64 : i64, n = 32 : i64, slices = 4 : i64, stages = 4 : i64}} {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<2x14x14x64xf16>, tensor<64x64x3x3xf16>) -> tensor<2x14x14x64xf16>
  return %0 : tensor<2x14x14x64xf16>
}

// CHECK-LABEL: === attention: attention mma, 16 queries, 4 groups of keys
// CHECK: attend<half, 1, 4,
// CHECK-NOT: === attention
func.func private @attention(%q: tensor<8x128x64xf16>, %k: tensor<8x128x64xf16>, %v: tensor<8x128x64xf16>) -> tensor<8x128x64xf16> attributes {ait.kind = #ait.kind<attention>, ait.config = {query_warps = 1 : i64, key_warps = 4 : i64}} {
  %0 = ait.attention %q, %k, %v {scale = 1.250000e-01 : f64} : (tensor<8x128x64xf16>, tensor<8x128x64xf16>, tensor<8x128x64xf16>) -> tensor<8x128x64xf16>
  return %0 : tensor<8x128x64xf16>
}

// CHECK-LABEL: === warpgroups: attention wgmma, 192 queries, 96 keys, 1 resident
// CHECK-NOT: === warpgroups
func.func private @warpgroups(%q: tensor<8x128x64xf16>, %k: tensor<8x128x64xf16>, %v: tensor<8x128x64xf16>) -> tensor<8x128x64xf16> attributes {ait.kind = #ait.kind<attention>, ait.config = {keys = 96 : i64, resident = 1 : i64, warpgroups = 3 : i64}} {
  %0 = ait.attention %q, %k, %v {scale = 1.250000e-01 : f64} : (tensor<8x128x64xf16>, tensor<8x128x64xf16>, tensor<8x128x64xf16>) -> tensor<8x128x64xf16>
  return %0 : tensor<8x128x64xf16>
}

// CHECK-LABEL: === last
func.func private @last(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = {}} {
  %0 = ait.abs %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
