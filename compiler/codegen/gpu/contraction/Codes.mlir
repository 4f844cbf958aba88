// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=2" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=3" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 quiet=1" -o /dev/null | FileCheck %s --check-prefix=AMPERE

// No clusters before Hopper.
// AMPERE: stream
// AMPERE-NOT: splits

#rows = affine_map<()[s0] -> (s0, 4096)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 64 : i64, input = 0 : i64, axis = 0 : i64}]} {

// One row: the codes are streamed, in lines of 128 bytes, and multiplied by
// tensor cores; scale and bias follow in registers.
// CHECK-LABEL: === one_row: stream 1x16, 4 stages, 8 slices
// CHECK: one_row(const bfloat *in0, const signed char *in1, const float *in2, const bfloat *in3, bfloat *out0,
// CHECK: const Rows<bfloat> a{in0, 0, m0, 1, 4096};
// CHECK-NEXT: const Rows<signed char> b{in1, 4096, n0, 4096, 4096};
// CHECK: multiplyCodeStream<bfloat, signed char, 1, 16, 4, 4096, true>(a, b, 0, 4096, shared);
// CHECK: sumSlices<{{.*}}, 8, 20>
// CHECK: === one_row: dots
func.func private @one_row(%x: tensor<1x4096xbf16>, %codes: tensor<4096x4096xi8> {ait.constant}, %scales: tensor<4096xf32> {ait.constant}, %bias: tensor<4096xbf16> {ait.constant}) -> tensor<1x4096xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<1x4096xbf16>, tensor<4096x4096xi8>) -> tensor<1x4096xf32>
  %1 = ait.expand %scales : tensor<4096xf32> -> tensor<1x4096xf32>
  %2 = ait.mul %0, %1 : tensor<1x4096xf32>
  %3 = ait.convert %2 : tensor<1x4096xf32> -> tensor<1x4096xbf16>
  %4 = ait.expand %bias : tensor<4096xbf16> -> tensor<1x4096xbf16>
  %5 = ait.add %3, %4 : tensor<1x4096xbf16>
  return %5 : tensor<1x4096xbf16>
}

// Few columns and many steps: the blocks of a cluster split the steps.
// CHECK-LABEL: === few_columns: stream 8x16, 2 stages, 8 slices, 2 splits
// CHECK: multiplyCodeStream<half, e4m3, 8, 16, 2, 2048, true>(a, b, split * 1536, split == 1 ? 3072 : (split + 1) * 1536, shared);
// CHECK: foldSlices<256, 8,
// CHECK: sumCluster
func.func private @few_columns(%x: tensor<8x3072xf16>, %codes: tensor<768x3072xf8E4M3FN> {ait.constant}, %scales: tensor<768xf32> {ait.constant}) -> tensor<8x768xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<8x3072xf16>, tensor<768x3072xf8E4M3FN>) -> tensor<8x768xf32>
  %1 = ait.expand %scales : tensor<768xf32> -> tensor<8x768xf32>
  %2 = ait.mul %0, %1 : tensor<8x768xf32>
  %3 = ait.convert %2 : tensor<8x768xf32> -> tensor<8x768xf16>
  return %3 : tensor<8x768xf16>
}

// More rows: tiles, a stage of which holds 64 steps, as 128 bytes of a row of A
// and 64 of one of B; by warpgroups or by warps.
// CHECK-LABEL: === rows: wgmma
// CHECK: using Core = CodeGroupCore<bfloat, e4m3,
// CHECK: multiplyTileByCodeGroups<Core,
// CHECK: === rows: mma
// CHECK: using Core = CodeCore<bfloat, e4m3,
// CHECK: const Rows<e4m3> b{in1, 4096, n0, 1024, 4096};
// CHECK: multiplyTile<Core,
func.func private @rows(%x: tensor<?x4096xbf16, #rows>, %codes: tensor<1024x4096xf8E4M3FN> {ait.constant}) -> tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<?x4096xbf16, #rows>, tensor<1024x4096xf8E4M3FN>) -> tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>>
  return %0 : tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>>
}

// Many rows.
// CHECK-LABEL: === many_rows: wgmma 256x128
// CHECK: CodeGroupCore<half, signed char, 256, 128>
// CHECK: === many_rows: mma 128x128
// CHECK: CodeCore<half, signed char, 128, 128, 64, 32>
func.func private @many_rows(%x: tensor<4096x4096xf16>, %codes: tensor<4096x4096xi8> {ait.constant}) -> tensor<4096x4096xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<4096x4096xf16>, tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// Steps that are not whole chunks of 16 codes; and floats that no tensor core
// multiplies.
// CHECK-LABEL: === odd: dots
// CHECK: toFloat(
// CHECK-LABEL: === floats: dots
func.func private @odd(%x: tensor<16x40xf16>, %codes: tensor<8x40xf8E4M3FN>) -> tensor<16x8xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<16x40xf16>, tensor<8x40xf8E4M3FN>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
func.func private @floats(%x: tensor<16x64xf32>, %codes: tensor<8x64xi8>) -> tensor<16x8xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<16x64xf32>, tensor<8x64xi8>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// Codes of activations, unsigned, with signed ones: exact sums of int32. What is
// too much in them, and the scales of rows and columns, follow in registers.
// CHECK-LABEL: === dynamic: wgmma
// CHECK: using Core = WgmmaCore<unsigned char, 64, 128>
// CHECK: const Rows<signed char> a{in0, 1024, m0, 256, 1024};
// CHECK: int *tile = multiplyTileByGroups<Core, 64, 128,
// CHECK: const Pack<int, 8> sum = sumSlices<8, 1,
// CHECK: === dynamic: mma
func.func private @dynamic(%x: tensor<256x1024xui8>, %codes: tensor<1024x1024xi8> {ait.constant}, %sums: tensor<1024xi32> {ait.constant}, %row_scales: tensor<256x1xf32>, %scales: tensor<1024xf32> {ait.constant}) -> tensor<256x1024xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<256x1024xui8>, tensor<1024x1024xi8>) -> tensor<256x1024xi32>
  %1 = ait.expand %sums : tensor<1024xi32> -> tensor<256x1024xi32>
  %2 = ait.sub %0, %1 : tensor<256x1024xi32>
  %3 = ait.convert %2 : tensor<256x1024xi32> -> tensor<256x1024xf32>
  %4 = ait.expand %row_scales : tensor<256x1xf32> -> tensor<256x1024xf32>
  %5 = ait.mul %3, %4 : tensor<256x1024xf32>
  %6 = ait.expand %scales : tensor<1024xf32> -> tensor<256x1024xf32>
  %7 = ait.mul %5, %6 : tensor<256x1024xf32>
  %8 = ait.convert %7 : tensor<256x1024xf32> -> tensor<256x1024xbf16>
  return %8 : tensor<256x1024xbf16>
}

// One row of them.
// CHECK-LABEL: === dynamic_row: mma 16x
// CHECK: MmaCore<unsigned char, 16,
// CHECK: === dynamic_row: dots
// CHECK: static_cast<unsigned char>(
func.func private @dynamic_row(%x: tensor<1x4096xui8>, %codes: tensor<1024x4096xi8> {ait.constant}) -> tensor<1x1024xi32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<1x4096xui8>, tensor<1024x4096xi8>) -> tensor<1x1024xi32>
  return %0 : tensor<1x1024xi32>
}

// Many rows of them: packed, 128 codes a step; by blocks that stay first.
// CHECK-LABEL: === dynamic_rows: persistent 128x256, 4 stages
// CHECK: packColumns<256>(in1, packed, 2048, 4096, 2048);
// CHECK: using Core = PersistentGroups<unsigned char, 128, 256, 4>;
// CHECK: groups.startToCopy(packed + order.column(blockIdx.x) * 524288ll, 2048);
// CHECK: const Pack<int, 8> [[SUMS:sums[0-9]*]] = groups.take(part + 0);
// CHECK: const Pack<int, 4> {{.*}} = load<4>(&[[SUMS]].at[0]);
// CHECK: === dynamic_rows: wgmma 128x256, 4 stages, packed
// CHECK: packColumns<256>(in1, packed, 2048, 4096, 2048);
// CHECK: packed += static_cast<long long>(blockIdx.y) * 524288;
func.func private @dynamic_rows(%x: tensor<4096x2048xui8>, %codes: tensor<4096x2048xi8> {ait.constant}) -> tensor<4096x4096xi32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<4096x2048xui8>, tensor<4096x2048xi8>) -> tensor<4096x4096xi32>
  return %0 : tensor<4096x4096xi32>
}
}
