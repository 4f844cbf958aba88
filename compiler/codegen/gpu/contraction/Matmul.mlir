// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=3" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_100 compile=1 quiet=1 most=1 allow-tf32=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_120 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 quiet=1" -o /dev/null | FileCheck %s --check-prefix=AMPERE
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s --check-prefix=LARGE

// Large products are by warpgroups alone.
// LARGE: === many_rows: wgmma
// LARGE-NOT: === many_rows: mma
// LARGE: === computed: wgmma

// No clusters before Hopper.
// AMPERE-NOT: splits
// Nor warpgroups.
// AMPERE-NOT: wgmma

#batch = affine_map<()[s0] -> (s0, 128, 768)>
#windows = affine_map<()[s0] -> (s0 * 4096, 49, 32)>
#products = affine_map<()[s0] -> (s0 * 4096, 49, 49)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// The rows of all batches are one axis; weights are read before the wait.
// CHECK-LABEL: === bias_gelu: wgmma
// CHECK-NEXT: shared_memory
// CHECK: const Rows<half> a{in0, 768, m0, s0 * 128, 768};
// CHECK-NEXT: const Rows<half> b{in1, 768, n0, 768, 768};
// CHECK-NEXT: prefetchColumns<{{.*}}>(in2, n0, 768);
// CHECK-NEXT: multiplyTileByGroups<Core, {{.*}}, true>(a, b
// CHECK: const Pack<float, 8> sum = sum
// CHECK-NEXT: const Pack<half, 8> [[BIAS:x[0-9]+]] = load<8>(in2 + n);
// CHECK: sum[j] +
// CHECK: [[ONE_MORE:v[0-9]+]] = quickErfPlusOne(
// CHECK-NEXT: = [[ONE_MORE]];
// CHECK: store(out0 + m * 768 + n
func.func private @bias_gelu(%x: tensor<?x128x768xf16, #batch>, %weight: tensor<768x768xf16> {ait.constant}, %bias: tensor<768xf16> {ait.constant}) -> tensor<?x128x768xf16, #batch> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<?x128x768xf16, #batch>, tensor<768x768xf16>) -> tensor<?x128x768xf16, #batch>
  %1 = ait.expand %bias : tensor<768xf16> -> tensor<?x128x768xf16, #batch>
  %2 = ait.add %0, %1 : tensor<?x128x768xf16, #batch>
  %3 = ait.gelu %2 : tensor<?x128x768xf16, #batch>
  return %3 : tensor<?x128x768xf16, #batch>
}

// Many rows of fixed number: the weight is packed at load by a step of its own,
// and brought by the copy engine.
// CHECK-LABEL: === many_rows: wgmma 128x256, 4 stages, packed
// CHECK-NEXT: symbol: "many_rows_pack" grid_x { value: 1024 } block_x: 256
// CHECK-NEXT: symbol: "many_rows"
// CHECK: many_rows_pack(const half *in1, half *packed,
// CHECK: packColumns<256>(in1, packed, 2048, 4000, 2048);
// CHECK: many_rows(const half *in0, const half *in1, const half *packed, half *out0,
// CHECK: packed += static_cast<long long>(blockIdx.y) * 524288;
// CHECK-NEXT: multiplyTileByPackedGroups<Core, 128, 256, 4>(a, packed, 2048, shared);
// Also in blocks that stay for many tiles: a warpgroup copies, two others have one
// tile, or take turns.
// CHECK: === many_rows: persistent 128x256, 4 stages
// CHECK: using Core = PersistentGroups<half, 128, 256, 4>;
// CHECK: const TileOrder order{32, 16};
// CHECK-LABEL: === many_rows: persistent 64x256, 5 stages
// CHECK: symbol: "many_rows" grid_x { value: 132 } block_x: 384 shared_memory: 204880
// CHECK: void __launch_bounds__(384, 1) many_rows(
// CHECK: using Core = PersistentGroups<half, 64, 256, 5>;
// CHECK: const TileOrder order{64, 16};
// CHECK-NEXT: if (Core::copies()) {
// CHECK-NEXT: groups.startToCopy(packed + order.column(blockIdx.x) * 524288ll, 2048);
// CHECK-NEXT: for (int at = blockIdx.x; at < order.count(); at += gridDim.x) {
// CHECK-NEXT: const Index m0 = order.row(at) * 64, n0 = order.column(at) * 256;
// CHECK-NEXT: const Rows<half> a{in0, 2048, m0, 4096, 2048};
// CHECK-NEXT: groups.copy(a, packed + order.column(at) * 524288ll, 2048);
// CHECK: Core::finishCopying();
// CHECK-NEXT: return;
// CHECK-NEXT: }
// CHECK-NEXT: groups.startToMultiply();
// CHECK: if (!groups.takes(2048))
// CHECK-NEXT: continue;
// CHECK-NEXT: groups.multiply(2048);
// Packs are stored after the arithmetic of four of them.
// CHECK: for (int part = 0; part < 16; part += 4) {
// CHECK-NEXT: const Pack<float, 8> sums0 = groups.take(part + 0);
// CHECK-NEXT: const bool [[INSIDE:isInside[0-9]+]] = m0 + Core::rowOf(part + 0) < 4096 && n0 + Core::columnOf(part + 0) + 0 < 4000;
// CHECK-NEXT: const Index [[M:at[0-9]+]] = [[INSIDE]] ? m0 + Core::rowOf(part + 0) : m0, [[N:at[0-9]+]] = [[INSIDE]] ? n0 + Core::columnOf(part + 0) + 0 : n0;
// CHECK-NOT: store(
// CHECK: = groups.take(part + 3);
// CHECK: if ([[INSIDE]]) store(out0 + [[M]] * 4000 + [[N]]
func.func private @many_rows(%x: tensor<4096x2048xf16>, %weight: tensor<4000x2048xf16> {ait.constant}) -> tensor<4096x4000xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<4096x2048xf16>, tensor<4000x2048xf16>) -> tensor<4096x4000xf16>
  return %0 : tensor<4096x4000xf16>
}

// A single result of each product is computed behind its sum.
// CHECK-LABEL: === single: {{mma|stream}}
// CHECK: const Pack<float, 1> sum = sum
// CHECK-NEXT: to<half>(sum[0])
func.func private @single(%x: tensor<256x1x128xf16>, %y: tensor<256x128x1xf16>) -> tensor<256x1x1xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %y : (tensor<256x1x128xf16>, tensor<256x128x1xf16>) -> tensor<256x1x1xf16>
  return %0 : tensor<256x1x1xf16>
}

// Not of so many columns that an epilogue has one at a time.
// CHECK-LABEL: === odd_columns: wgmma
// CHECK-NOT: === odd_columns: persistent
func.func private @odd_columns(%x: tensor<4096x2048xf16>, %weight: tensor<1001x2048xf16> {ait.constant}) -> tensor<4096x1001xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<4096x2048xf16>, tensor<1001x2048xf16>) -> tensor<4096x1001xf16>
  return %0 : tensor<4096x1001xf16>
}

// Not so what is computed at load.
// CHECK-LABEL: === computed: wgmma
// CHECK-NOT: packed
// CHECK-LABEL: === residual
func.func private @computed(%x: tensor<4096x2048xf16>, %weight: tensor<4000x2048xf16> {ait.initialized}) -> tensor<4096x4000xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<4096x2048xf16>, tensor<4000x2048xf16>) -> tensor<4096x4000xf16>
  return %0 : tensor<4096x4000xf16>
}

// A right side with contiguous columns, and a residual.
// CHECK-LABEL: === residual: mma
// CHECK: const Columns<bfloat> b{in1, 768, n0, 768, 3072};
// CHECK: load<8>(in2 + m * 768 + n)
func.func private @residual(%x: tensor<128x3072xbf16>, %weight: tensor<3072x768xbf16>, %y: tensor<128x768xbf16>) -> tensor<128x768xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight : (tensor<128x3072xbf16>, tensor<3072x768xbf16>) -> tensor<128x768xbf16>
  %1 = ait.add %0, %y : tensor<128x768xbf16>
  return %1 : tensor<128x768xbf16>
}

// What a tile's packs read is under way together; stores come after it.
// CHECK-LABEL: === gated: wgmma
// CHECK: for (int e = threadIdx.x * 8; e < {{.*}}; e += [[STEP:[0-9]+]])
// CHECK: const bool isInside0 = m0 + row0 < 1000 && n0 + column0 < 1024;
// CHECK: const Index [[M:at[0-9]+]] = isInside0 ? m0 + row0 : m0, [[N:at[0-9]+]] = isInside0 ? n0 + column0 : n0;
// CHECK: load<8>(in2 + [[M]] * 1024 + [[N]]);
// CHECK-NOT: store(
// CHECK: quickExp(
// CHECK: quickQuotient(
// CHECK-NOT: store(
// CHECK: load<8>(in2 + at
// CHECK-NOT: store(
// CHECK: load<8>(in2 + at
// CHECK-NOT: store(
// CHECK: load<8>(in2 + at
// CHECK: if (isInside0) store(out0 + [[M]] * 1024 + [[N]], y0);
// CHECK-NEXT: if (isInside1) store(
func.func private @gated(%x: tensor<1000x1024xbf16>, %weight: tensor<1024x1024xbf16>, %y: tensor<1000x1024xbf16>) -> tensor<1000x1024xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<1000x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1000x1024xbf16>
  %1 = ait.silu %0 : tensor<1000x1024xbf16>
  %2 = ait.mul %1, %y : tensor<1000x1024xbf16>
  return %2 : tensor<1000x1024xbf16>
}

// Columns of the constant pool become rows at load, for warpgroups.
// CHECK-LABEL: === transposed: wgmma
// CHECK: const Rows<half> b{in1, 3072, n0, 768, 3072};
// CHECK-LABEL: === one_row
func.func private @transposed(%x: tensor<192x3072xf16>, %weight: tensor<3072x768xf16> {ait.constant}) -> tensor<192x768xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight : (tensor<192x3072xf16>, tensor<3072x768xf16>) -> tensor<192x768xf16>
  return %0 : tensor<192x768xf16>
}

// One row: a warp a result.
// CHECK-SAME: : dots: rows, 4 x 32 threads, packs of 8
// CHECK: reduceGroup<Sum, 32>
// CHECK: tanhf
func.func private @one_row(%x: tensor<1x128x768xf16>, %weight: tensor<768x768xf16>) -> tensor<1x1x768xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.slice %x {starts = array<i64: 0, 3, 0>, steps = array<i64: 1, 1, 1>} : tensor<1x128x768xf16> -> tensor<1x1x768xf16>
  %1 = ait.matmul %0, %weight {transpose_rhs} : (tensor<1x1x768xf16>, tensor<768x768xf16>) -> tensor<1x1x768xf16>
  %2 = ait.tanh %1 : tensor<1x1x768xf16>
  return %2 : tensor<1x1x768xf16>
}

// Few rows of a weight: as much of it as fits is read before the wait, with the
// bias of the epilogue.
// CHECK-LABEL: === few_rows: stream 2x16, 12 stages
// CHECK: prefetchColumns<16>(in2, n0, 4096);
// CHECK-NEXT: multiplyStream<half, 2, 16, 12, 4096, true>(a, b, 0, 4096, shared);
// CHECK: load<8>(in2 + n)
func.func private @few_rows(%x: tensor<2x4096xf16>, %weight: tensor<4096x4096xf16> {ait.constant}, %bias: tensor<4096xf16> {ait.constant}) -> tensor<2x4096xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<2x4096xf16>, tensor<4096x4096xf16>) -> tensor<2x4096xf16>
  %1 = ait.expand %bias : tensor<4096xf16> -> tensor<2x4096xf16>
  %2 = ait.add %0, %1 : tensor<2x4096xf16>
  return %2 : tensor<2x4096xf16>
}

// Batches on both sides, read through permutes; fp32 stays exact.
// CHECK-LABEL: === batched: simt
// CHECK: const Index batch = blockIdx.z
// CHECK: const Rows<float> a{in0 + batch * 64, 768, m0, 128, 64};
func.func private @batched(%q: tensor<1x128x12x64xf32>, %k: tensor<1x128x12x64xf32>) -> tensor<1x12x128x128xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x12x64xf32> -> tensor<1x12x128x64xf32>
  %1 = ait.permute %k {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x12x64xf32> -> tensor<1x12x128x64xf32>
  %2 = ait.matmul %0, %1 {transpose_rhs} : (tensor<1x12x128x64xf32>, tensor<1x12x128x64xf32>) -> tensor<1x12x128x128xf32>
  return %2 : tensor<1x12x128x128xf32>
}

// A result that another axis order stores.
// CHECK-LABEL: === permuted: mma
// CHECK: out0
func.func private @permuted(%x: tensor<2x64x128xf16>, %weight: tensor<256x128xf16>) -> tensor<64x2x256xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %weight {transpose_rhs} : (tensor<2x64x128xf16>, tensor<256x128xf16>) -> tensor<2x64x256xf16>
  %1 = ait.permute %0 {permutation = array<i64: 1, 0, 2>} : tensor<2x64x256xf16> -> tensor<64x2x256xf16>
  return %1 : tensor<64x2x256xf16>
}

// More matrices than the third axis of a grid has blocks for: the first axis
// has all tiles.
// CHECK-LABEL: === of_windows: wgmma 64x64
// CHECK-NEXT: grid_x { kind: MULTIPLY operands { kind: SYMBOL } operands { value: 4096 } } grid_y { value: 1 } grid_z { value: 1 }
// CHECK: const Index rowTile = blockIdx.x % 1, columnTile = blockIdx.x / 1 % 1;
// CHECK-NEXT: const Index m0 = rowTile * 64, n0 = columnTile * 64;
// CHECK-NEXT: const Index batch = blockIdx.x / 1 / 1;
// CHECK: === of_windows: mma 32x64
// CHECK-NEXT: operands { value: 8192 } }
// CHECK: const Index batch = blockIdx.x / 2 / 1;
func.func private @of_windows(%x: tensor<?x49x32xf16, #windows>, %y: tensor<?x49x32xf16, #windows>) -> tensor<?x49x49xf16, #products> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %y {transpose_rhs} : (tensor<?x49x32xf16, #windows>, tensor<?x49x32xf16, #windows>) -> tensor<?x49x49xf16, #products>
  return %0 : tensor<?x49x49xf16, #products>
}

// The same for the tiles of columns.
// CHECK-LABEL: === wide: mma 16x64
// CHECK-NEXT: grid_x { value: 140625 } grid_y { value: 1 } grid_z { value: 1 }
// CHECK: columnTile = blockIdx.x / 1 % 140625;
func.func private @wide(%x: tensor<16x64xf16>, %y: tensor<64x9000000xf16>) -> tensor<16x9000000xf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %y : (tensor<16x64xf16>, tensor<64x9000000xf16>) -> tensor<16x9000000xf16>
  return %0 : tensor<16x9000000xf16>
}
}
