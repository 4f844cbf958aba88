// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512 | FileCheck %s

// A unit is a head (all 64 queries of it); heads are read from and written to
// [T, H * D] through strides. Scores meet no memory but the stack's.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: ait.grid = affine_map<() -> (12)>
// CHECK-SAME: ait.packings = []
// CHECK: vector.shuffle
// CHECK: llvm.intr.fma
// CHECK: arith.maxnumf
// CHECK: math.exp {{.*}} : vector<16xf32>
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
