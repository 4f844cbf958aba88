// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=3" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_100 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_120 compile=1 quiet=1 most=1" -o /dev/null

#batch = affine_map<()[s0] -> (s0, 128, 12, 64)>
#windows = affine_map<()[s0] -> (s0 * 4096, 200, 32)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// Heads are read and stored in place of their permutes; the mask is boolean.
// CHECK-LABEL: === masked: attention wgmma, 64 queries, 64 keys, 3 resident
// CHECK: __launch_bounds__(256, 3) masked
// CHECK: using Attention = GroupAttention<half, 1, 3, 64, 2, 64, 64, false, true>;
// CHECK: if (threadIdx.x >= Attention::computing) {
// CHECK-NEXT: Attention::copy(k, v, t0, shared);
// CHECK-NEXT: return;
// CHECK: const auto adjust = [&](float x, Index t, Index s) -> float {
// CHECK: Attention::attend(q, k, t0, 0.125f, adjust, 0.0f, shared);
// CHECK: === masked: attention mma
// CHECK: const Columns<half> q{in0 + {{.*}}, 768, 0, 64, 128};
// CHECK: const auto adjust = [&](float x, Index t, Index s) -> float {
// CHECK-NEXT: const bool [[MASK:x[0-9]+]] = in3[{{.*}}t * 128{{.*}}s];
// CHECK-NEXT: return choose([[MASK]], x, minusInfinity());
// CHECK: attend<half, {{.*}}, 64, 64, false, 1>(q, k, v, t0, 0.125f, adjust, 0.0f, shared);
// CHECK: store(out0 +
func.func private @masked(%q: tensor<?x128x12x64xf16, #batch>, %k: tensor<?x128x12x64xf16, #batch>, %v: tensor<?x128x12x64xf16, #batch>, %mask: tensor<1x1x128x128xi1>) -> tensor<?x128x12x64xf16, #batch> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.permute %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x128x12x64xf16, #batch> -> tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>
  %1 = ait.permute %k {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x128x12x64xf16, #batch> -> tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>
  %2 = ait.permute %v {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x128x12x64xf16, #batch> -> tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>
  %3 = ait.attention %0, %1, %2, %mask {scale = 1.250000e-01 : f64} : (tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>, tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>, tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>, tensor<1x1x128x128xi1>) -> tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>>
  %4 = ait.permute %3 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x12x128x64xf16, affine_map<()[s0] -> (s0, 12, 128, 64)>> -> tensor<?x128x12x64xf16, #batch>
  return %4 : tensor<?x128x12x64xf16, #batch>
}

// Queries, keys and values are slices of one tensor.
// CHECK-LABEL: === packed: attention wgmma
// CHECK: (gridDim.x - 1 - blockIdx.x) * 64
// CHECK: GroupAttention<bfloat, 1, 2, 64, 2, 64, 64, true, true>
// CHECK: const NoMask adjust;
// CHECK: === packed: attention mma
// CHECK: const Columns<bfloat> k{in0 + {{.*}}1024{{.*}}, 3072, 0, 64, 128};
// CHECK: [](float x, Index, Index) { return x; }
// CHECK: 64, 64, true, 1>(
func.func private @packed(%x: tensor<1x128x48x64xbf16>) -> tensor<1x128x16x64xbf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.slice %x {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x128x48x64xbf16> -> tensor<1x128x16x64xbf16>
  %1 = ait.permute %0 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x16x64xbf16> -> tensor<1x16x128x64xbf16>
  %2 = ait.slice %x {starts = array<i64: 0, 0, 16, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x128x48x64xbf16> -> tensor<1x128x16x64xbf16>
  %3 = ait.permute %2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x16x64xbf16> -> tensor<1x16x128x64xbf16>
  %4 = ait.slice %x {starts = array<i64: 0, 0, 32, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<1x128x48x64xbf16> -> tensor<1x128x16x64xbf16>
  %5 = ait.permute %4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x16x64xbf16> -> tensor<1x16x128x64xbf16>
  %6 = ait.attention %1, %3, %5 {is_causal, scale = 1.250000e-01 : f64} : (tensor<1x16x128x64xbf16>, tensor<1x16x128x64xbf16>, tensor<1x16x128x64xbf16>) -> tensor<1x16x128x64xbf16>
  %7 = ait.permute %6 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x16x128x64xbf16> -> tensor<1x128x16x64xbf16>
  return %7 : tensor<1x128x16x64xbf16>
}

// fp32, an added mask, a depth that is no multiple of 8, other keys.
// CHECK-LABEL: === wide: attention simt
// CHECK: const Strided<float> q{
// CHECK: return x + toFloat(
// CHECK: attendSimt<float, 4, 20, 36, false, 1>
func.func private @wide(%q: tensor<2x3x50x20xf32>, %k: tensor<2x3x70x20xf32>, %v: tensor<2x3x70x36xf32>, %mask: tensor<2x1x1x70xf32>) -> tensor<2x3x50x36xf32> attributes {ait.kind = #ait.kind<attention>} {
  %m = ait.expand %mask : tensor<2x1x1x70xf32> -> tensor<2x3x50x70xf32>
  %0 = ait.attention %q, %k, %v, %m {scale = 2.0e-01 : f64} : (tensor<2x3x50x20xf32>, tensor<2x3x70x20xf32>, tensor<2x3x70x36xf32>, tensor<2x3x50x70xf32>) -> tensor<2x3x50x36xf32>
  return %0 : tensor<2x3x50x36xf32>
}

// Four heads of queries share one of keys and values.
// CHECK-LABEL: === grouped: attention wgmma
// CHECK: GroupAttention<half, 1, 2, 64, 2, 128, 128, true, true>
// CHECK: === grouped: attention mma
// CHECK: const Columns<half> k{in1 + {{.*}} / 4
func.func private @grouped(%q: tensor<1x8x100x128xf16>, %k: tensor<1x2x100x128xf16>, %v: tensor<1x2x100x128xf16>) -> tensor<1x8x100x128xf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.reshape %k : tensor<1x2x100x128xf16> -> tensor<1x2x1x100x128xf16>
  %1 = ait.expand %0 : tensor<1x2x1x100x128xf16> -> tensor<1x2x4x100x128xf16>
  %2 = ait.reshape %1 : tensor<1x2x4x100x128xf16> -> tensor<1x8x100x128xf16>
  %3 = ait.reshape %v : tensor<1x2x100x128xf16> -> tensor<1x2x1x100x128xf16>
  %4 = ait.expand %3 : tensor<1x2x1x100x128xf16> -> tensor<1x2x4x100x128xf16>
  %5 = ait.reshape %4 : tensor<1x2x4x100x128xf16> -> tensor<1x8x100x128xf16>
  %6 = ait.attention %q, %2, %5 {is_causal, scale = 8.838835e-02 : f64} : (tensor<1x8x100x128xf16>, tensor<1x8x100x128xf16>, tensor<1x8x100x128xf16>) -> tensor<1x8x100x128xf16>
  return %6 : tensor<1x8x100x128xf16>
}

// Depths above 128 have warpgroups alone; depths that 16 does not divide too. A
// scale that is not positive is applied to each score.
// CHECK-LABEL: === deep: attention wgmma
// CHECK: GroupAttention<half, {{[12]}}, {{[12]}}, {{[0-9]+}}, 2, 192, 256, false, false>
// CHECK: const auto adjust = [](float x, Index, Index) { return x; };
// CHECK-NOT: === deep: attention mma
// CHECK: === odd: attention wgmma
// CHECK: , 40, 72, false, true>
func.func private @deep(%q: tensor<2x500x192xf16>, %k: tensor<2x300x192xf16>, %v: tensor<2x300x256xf16>) -> tensor<2x500x256xf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = -1.250000e-01 : f64} : (tensor<2x500x192xf16>, tensor<2x300x192xf16>, tensor<2x300x256xf16>) -> tensor<2x500x256xf16>
  return %0 : tensor<2x500x256xf16>
}
func.func private @odd(%q: tensor<4x130x40xbf16>, %k: tensor<4x77x40xbf16>, %v: tensor<4x77x72xbf16>) -> tensor<4x130x72xbf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = 1.250000e-01 : f64} : (tensor<4x130x40xbf16>, tensor<4x77x40xbf16>, tensor<4x77x72xbf16>) -> tensor<4x130x72xbf16>
  return %0 : tensor<4x130x72xbf16>
}

// What a mask leaves out has a score, which stays finite.
// CHECK-LABEL: === filled: attention wgmma
// CHECK: , x, (-3.40282347e+38f));
func.func private @filled(%q: tensor<4x130x64xbf16>, %k: tensor<4x77x64xbf16>, %v: tensor<4x77x64xbf16>, %mask: tensor<130x77xi1>) -> tensor<4x130x64xbf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v, %mask {masked_score = -3.4028234663852886e+38 : f64, scale = 1.250000e-01 : f64} : (tensor<4x130x64xbf16>, tensor<4x77x64xbf16>, tensor<4x77x64xbf16>, tensor<130x77xi1>) -> tensor<4x130x64xbf16>
  return %0 : tensor<4x130x64xbf16>
}

// A floating mask is added, or leaves a pair out.
// CHECK-LABEL: === biased: attention wgmma
// CHECK: const float added = {{.*}};
// CHECK-NEXT: return choose(added == (-3.40282326e+38f), __int_as_float({{.*}}), x + added);
func.func private @biased(%q: tensor<4x130x64xbf16>, %k: tensor<4x77x64xbf16>, %v: tensor<4x77x64xbf16>, %mask: tensor<130x77xf32>) -> tensor<4x130x64xbf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v, %mask {masked_score = 0xFFF0000000000000 : f64, scale = 1.250000e-01 : f64} : (tensor<4x130x64xbf16>, tensor<4x77x64xbf16>, tensor<4x77x64xbf16>, tensor<130x77xf32>) -> tensor<4x130x64xbf16>
  return %0 : tensor<4x130x64xbf16>
}

// A query that a mask shows no key gives NaN where a softmax does, and 0 if there
// are no keys at all.
// CHECK-LABEL: === softmax: attention wgmma
// CHECK: Attention::attend(q, k, t0, 0.125f, adjust, k.rows > 0 ? notANumber() : 0.0f, shared);
// CHECK: === softmax: attention mma
// CHECK: (q, k, v, t0, 0.125f, adjust, k.rows > 0 ? notANumber() : 0.0f, shared);
func.func private @softmax(%q: tensor<4x130x64xf16>, %k: tensor<4x77x64xf16>, %v: tensor<4x77x64xf16>, %mask: tensor<130x77xf16>) -> tensor<4x130x64xf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v, %mask {masked_rows_are_nan, scale = 1.250000e-01 : f64} : (tensor<4x130x64xf16>, tensor<4x77x64xf16>, tensor<4x77x64xf16>, tensor<130x77xf16>) -> tensor<4x130x64xf16>
  return %0 : tensor<4x130x64xf16>
}

// One query a head with many keys, as where a decoder makes a token: the blocks of
// a cluster share the keys, and each stores a part of the sum.
// CHECK-LABEL: === decode: attention mma, 16 queries, 4 groups of keys, keys in 8 blocks
// CHECK: __cluster_dims__(1, 1, 8) __launch_bounds__(128) decode
// CHECK: attend<half, 1, 4, 128, 128, false, 8>(
// CHECK-NEXT: foldSlices<128, 4, 2112>(tile);
// CHECK-NEXT: syncCluster();
// CHECK-NEXT: for (int i = (blockIdx.z * 128 + threadIdx.x) * 8; i < 2048; i += 8192) {
// CHECK: const Pack<float, 8> sum = sumCluster<8, 8>(tile + r * 132 + c);
// CHECK: }
// CHECK: syncCluster();
// CHECK-NEXT: }
// CHECK: === decode: attention mma, 16 queries, 4 groups of keys, keys in 4 blocks
// CHECK: === decode: attention mma, 16 queries, 4 groups of keys
func.func private @decode(%q: tensor<1x16x1x128xf16>, %k: tensor<1x16x2048x128xf16>, %v: tensor<1x16x2048x128xf16>, %mask: tensor<1x1x1x2048xi1>) -> tensor<1x16x1x128xf16> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v, %mask {scale = 8.838835e-02 : f64} : (tensor<1x16x1x128xf16>, tensor<1x16x2048x128xf16>, tensor<1x16x2048x128xf16>, tensor<1x1x1x2048xi1>) -> tensor<1x16x1x128xf16>
  return %0 : tensor<1x16x1x128xf16>
}

// CHECK-LABEL: === exact: attention simt, 16 queries, keys in 4 blocks
// CHECK: __cluster_dims__(1, 1, 4)
// CHECK: attendSimt<float, 4, 64, 64, false, 4>(
func.func private @exact(%q: tensor<2x24x3x64xf32>, %k: tensor<2x24x1000x64xf32>, %v: tensor<2x24x1000x64xf32>) -> tensor<2x24x3x64xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = 1.25e-01 : f64} : (tensor<2x24x3x64xf32>, tensor<2x24x1000x64xf32>, tensor<2x24x1000x64xf32>) -> tensor<2x24x3x64xf32>
  return %0 : tensor<2x24x3x64xf32>
}

// More windows than the second axis of a grid has blocks for: the first axis
// has them, too.
// CHECK-LABEL: === of_windows: attention wgmma, 64 queries
// CHECK-NEXT: grid_x { kind: MULTIPLY operands { kind: SYMBOL } operands { value: 16384 } } grid_y { value: 1 } block_x
// CHECK: const Index block = blockIdx.x % 4;
// CHECK-NEXT: const Index t0 = (4 - 1 - block) * 64;
// CHECK-NEXT: const Index batch = blockIdx.x / 4;
func.func private @of_windows(%q: tensor<?x200x32xf16, #windows>, %k: tensor<?x200x32xf16, #windows>, %v: tensor<?x200x32xf16, #windows>) -> tensor<?x200x32xf16, #windows> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {is_causal, scale = 1.250000e-01 : f64} : (tensor<?x200x32xf16, #windows>, tensor<?x200x32xf16, #windows>, tensor<?x200x32xf16, #windows>) -> tensor<?x200x32xf16, #windows>
  return %0 : tensor<?x200x32xf16, #windows>
}
}
