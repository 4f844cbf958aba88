// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=3" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_120 compile=1 quiet=1 most=1" -o /dev/null

// Operands that are no matrices of evenly spaced rows of whole chunks.
#batch = affine_map<()[s0] -> (s0, 3, 49, 32)>
#rows = affine_map<()[s0] -> (s0, 49, 3, 32)>
#flat = affine_map<()[s0] -> (s0, 49, 96)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 64 : i64, input = 0 : i64, axis = 0 : i64}]} {

// Heads that are merged into the reduced axis, in chunks; the rows of all
// batches are one axis. Warpgroups take them, too.
// CHECK-LABEL: === heads: mma
// CHECK: const auto aRowOf = [=](Index row) -> long long { return ((row / 49) * 4704 + (row % 49) * 32); };
// CHECK-NEXT: const auto aStepOf = [=](Index k) -> long long { return ((k % 32) + (k / 32) * 1568); };
// CHECK-NEXT: const auto a = gatherChunks(in0, aRowOf, aStepOf, m0, s0 * 49, 96);
// CHECK-NEXT: const Rows<half> b{in1, 96, n0, 96, 96};
// CHECK: store(out0 + m * 96 + n
// CHECK: === heads: wgmma
// CHECK-LABEL: === windows
func.func private @heads(%x: tensor<?x3x49x32xf16, #batch>, %weight: tensor<96x96xf16>) -> tensor<?x49x96xf16, #flat> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x3x49x32xf16, #batch> -> tensor<?x49x3x32xf16, #rows>
  %1 = ait.reshape %0 : tensor<?x49x3x32xf16, #rows> -> tensor<?x49x96xf16, #flat>
  %2 = ait.matmul %1, %weight {transpose_rhs} : (tensor<?x49x96xf16, #flat>, tensor<96x96xf16>) -> tensor<?x49x96xf16, #flat>
  return %2 : tensor<?x49x96xf16, #flat>
}

// Windows of an image, of 8 rows each that are evenly spaced: the rows of all are
// one axis, not a matrix for each 8.
// CHECK-SAME: : wgmma
// CHECK: const auto aStepOf = [=](Index k) -> long long { return k; };
// CHECK-NEXT: const auto a = gatherChunks(in0, aRowOf, aStepOf, m0, 50176, 96);
// CHECK-LABEL: === packed_windows
func.func private @windows(%x: tensor<1x28x8x28x8x96xf16>, %weight: tensor<288x96xf16>) -> tensor<1x28x28x8x8x288xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 1, 3, 2, 4, 5>} : tensor<1x28x8x28x8x96xf16> -> tensor<1x28x28x8x8x96xf16>
  %1 = ait.matmul %0, %weight {transpose_rhs} : (tensor<1x28x28x8x8x96xf16>, tensor<288x96xf16>) -> tensor<1x28x28x8x8x288xf16>
  return %1 : tensor<1x28x28x8x8x288xf16>
}

// Those of a constant: packed, not by blocks that stay.
// CHECK-SAME: : wgmma
// CHECK-NOT: persistent
// CHECK: === packed_windows: wgmma {{.*}}, packed
// CHECK-NOT: persistent
// CHECK-LABEL: === odd_rows
func.func private @packed_windows(%x: tensor<1x28x8x28x8x96xf16>, %weight: tensor<288x96xf16> {ait.constant}) -> tensor<1x28x28x8x8x288xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 1, 3, 2, 4, 5>} : tensor<1x28x8x28x8x96xf16> -> tensor<1x28x28x8x8x96xf16>
  %1 = ait.matmul %0, %weight {transpose_rhs} : (tensor<1x28x28x8x8x96xf16>, tensor<288x96xf16>) -> tensor<1x28x28x8x8x288xf16>
  return %1 : tensor<1x28x28x8x8x288xf16>
}

// Rows of 98 bytes on the left, element by element: never by warpgroups, and
// loops are a candidate, too.
// CHECK-SAME: : mma
// CHECK: const auto a = gatherElements<false>(in0 + batch * 2401, aRowOf, aStepOf, m0, 49, 49);
// CHECK-NEXT: const Columns<half> b{in1 + batch * 1568, 32, n0, 32, 49};
// CHECK-NOT: === odd_rows: wgmma
// CHECK: === odd_rows: dots
// CHECK-LABEL: === odd_both
func.func private @odd_rows(%x: tensor<8x49x49xf16>, %y: tensor<8x49x32xf16>) -> tensor<8x49x32xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %y : (tensor<8x49x49xf16>, tensor<8x49x32xf16>) -> tensor<8x49x32xf16>
  return %0 : tensor<8x49x32xf16>
}

// CHECK-SAME: : mma
// CHECK: const auto a = gatherElements<false>(in0, aRowOf, aStepOf, m0, 16, 35);
// CHECK: const auto b = gatherElements<false>(in1, bRowOf, bStepOf, n0, 7, 35);
// CHECK-LABEL: === transposed_left
func.func private @odd_both(%x: tensor<16x35xbf16>, %weight: tensor<7x35xbf16>) -> tensor<16x7xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<16x35xbf16>, tensor<7x35xbf16>) -> tensor<16x7xbf16>
  return %0 : tensor<16x7xbf16>
}

// The rows of a transposed left side are neighbours, and threads take them so.
// CHECK-SAME: : mma
// CHECK: const auto aRowOf = [=](Index row) -> long long { return row; };
// CHECK-NEXT: const auto aStepOf = [=](Index k) -> long long { return k * 196; };
// CHECK-NEXT: const auto a = gatherElements<true>(in0 + batch * 12544, aRowOf, aStepOf, m0, 196, 64);
// CHECK-LABEL: === exact
func.func private @transposed_left(%x: tensor<4x64x196xf16>, %y: tensor<4x64x196xf16>) -> tensor<4x196x196xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1>} : tensor<4x64x196xf16> -> tensor<4x196x64xf16>
  %1 = ait.matmul %0, %y : (tensor<4x196x64xf16>, tensor<4x64x196xf16>) -> tensor<4x196x196xf16>
  return %1 : tensor<4x196x196xf16>
}

// In fp32, which stays exact: tiles hold rows of both sides.
// CHECK-SAME: : simt
// CHECK: gatherElements<false>(in0, aRowOf, aStepOf, m0, 100, 33)
// CHECK: gatherElements<true>(in1, bRowOf, bStepOf, n0, 64, 33)
func.func private @exact(%x: tensor<100x33xf32>, %weight: tensor<33x64xf32>) -> tensor<100x64xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight : (tensor<100x33xf32>, tensor<33x64xf32>) -> tensor<100x64xf32>
  return %0 : tensor<100x64xf32>
}
}
