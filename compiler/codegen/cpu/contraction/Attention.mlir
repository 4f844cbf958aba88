// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512 | FileCheck %s
// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512bf16 | FileCheck %s --check-prefix=PAIRS
// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=amx | FileCheck %s --check-prefix=AMX

// A unit is a head (all 64 queries of it); heads are read from and written to
// [T, H * D] through strides. Scores meet no memory but the stack's.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: ait.grid = affine_map<() -> (12)>
// CHECK-SAME: ait.packings = []
// CHECK: vector.shuffle
// CHECK: llvm.intr.fma
// CHECK: arith.cmpf ogt
// CHECK: math.exp {{.*}} fastmath<afn> : vector<16xf32>
// CHECK: llvm.intr.fma
// CHECK: arith.divf
// CHECK: return
func.func private @heads(%q: tensor<64x12x64xf32>, %k: tensor<64x12x64xf32>, %v: tensor<64x12x64xf32>)
    -> tensor<64x12x64xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.permute %q {permutation = array<i64: 1, 0, 2>} : tensor<64x12x64xf32> -> tensor<12x64x64xf32>
  %1 = ait.permute %k {permutation = array<i64: 1, 0, 2>} : tensor<64x12x64xf32> -> tensor<12x64x64xf32>
  %2 = ait.permute %v {permutation = array<i64: 1, 0, 2>} : tensor<64x12x64xf32> -> tensor<12x64x64xf32>
  %3 = ait.attention %0, %1, %2 {scale = 0.125 : f64}
    : (tensor<12x64x64xf32>, tensor<12x64x64xf32>, tensor<12x64x64xf32>) -> tensor<12x64x64xf32>
  %4 = ait.permute %3 {permutation = array<i64: 1, 0, 2>} : tensor<12x64x64xf32> -> tensor<64x12x64xf32>
  return %4 : tensor<64x12x64xf32>
}

// -----

// Causal: tiles stop at their last query's key.
// CHECK-LABEL: func.func @causal(
// CHECK: scf.if
// CHECK: llvm.intr.fma
func.func private @causal(%q: tensor<2x300x64xf32>, %k: tensor<2x300x64xf32>, %v: tensor<2x300x64xf32>)
    -> tensor<2x300x64xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = 0.125 : f64, is_causal}
    : (tensor<2x300x64xf32>, tensor<2x300x64xf32>, tensor<2x300x64xf32>) -> tensor<2x300x64xf32>
  return %0 : tensor<2x300x64xf32>
}

// -----

// In bf16 both products are of bf16 where the CPU has instructions for it:
// values are interleaved in pairs of keys, and weights are rounded.
// CHECK-LABEL: func.func @bf16(
// CHECK-NOT: dpbf16ps
// CHECK: llvm.intr.fma
// PAIRS-LABEL: func.func @bf16(
// PAIRS: arith.shli {{.*}} : vector<16xi32>
// PAIRS: "llvm.x86.avx512bf16.dpbf16ps.512"
// PAIRS: "llvm.x86.avx512.mask.scalef.ps.512"
// PAIRS: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// PAIRS: "llvm.x86.avx512bf16.dpbf16ps.512"
// AMX-LABEL: func.func @bf16(
// AMX: "llvm.x86.tdpbf16ps.internal"
// AMX: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// AMX: "llvm.x86.tdpbf16ps.internal"
func.func private @bf16(%q: tensor<2x64x64xbf16>, %k: tensor<2x64x64xbf16>, %v: tensor<2x64x64xbf16>)
    -> tensor<2x64x64xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = 0.125 : f64}
    : (tensor<2x64x64xbf16>, tensor<2x64x64xbf16>, tensor<2x64x64xbf16>) -> tensor<2x64x64xf32>
  return %0 : tensor<2x64x64xf32>
}

// -----

// One query does not pay for a copy of the values.
// PAIRS-LABEL: func.func @one_query(
// PAIRS-NOT: dpbf16ps
// PAIRS: llvm.intr.fma
func.func private @one_query(%q: tensor<2x1x64xbf16>, %k: tensor<2x64x64xbf16>, %v: tensor<2x64x64xbf16>)
    -> tensor<2x1x64xf32> attributes {ait.kind = #ait.kind<attention>} {
  %0 = ait.attention %q, %k, %v {scale = 0.125 : f64}
    : (tensor<2x1x64xbf16>, tensor<2x64x64xbf16>, tensor<2x64x64xbf16>) -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}
