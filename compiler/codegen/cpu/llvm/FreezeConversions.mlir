// RUN: aitune-opt %s --ait-cpu-freeze-conversions | FileCheck %s
// RUN: aitune-opt %s --ait-cpu-lower-to-llvm=target=avx2 | FileCheck %s --check-prefix=LOWERED

// CHECK-LABEL: llvm.func @signed
// CHECK: %[[I:.*]] = llvm.fptosi
// CHECK: %[[F:.*]] = llvm.freeze %[[I]] : i32
// CHECK: llvm.add %[[F]], %[[F]]
llvm.func @signed(%x: f32) -> i32 {
  %0 = llvm.fptosi %x : f32 to i32
  %1 = llvm.add %0, %0 : i32
  llvm.return %1 : i32
}

// CHECK-LABEL: llvm.func @unsigned
// CHECK: %[[I:.*]] = llvm.fptoui
// CHECK: %[[F:.*]] = llvm.freeze %[[I]] : vector<8xi32>
// CHECK: llvm.return %[[F]]
llvm.func @unsigned(%x: vector<8xf32>) -> vector<8xi32> {
  %0 = llvm.fptoui %x : vector<8xf32> to vector<8xi32>
  llvm.return %0 : vector<8xi32>
}

// The approximations' own conversions come before it.
// LOWERED-LABEL: llvm.func @lowered
// LOWERED: %[[I:.*]] = llvm.fptosi
// LOWERED: llvm.freeze %[[I]]
func.func @lowered(%x: f32) -> f32 {
  %0 = math.expm1 %x : f32
  return %0 : f32
}
