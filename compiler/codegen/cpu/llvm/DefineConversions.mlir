// RUN: aitune-opt %s --ait-cpu-define-conversions | FileCheck %s
// RUN: aitune-opt %s --ait-cpu-lower-to-llvm=target=avx2 | FileCheck %s --check-prefix=LOWERED

// CHECK-LABEL: func.func @scalar
// CHECK: %[[I:.*]] = arith.fptosi %arg0 : f32 to i32
// CHECK: %[[A:.*]] = math.absf %arg0 : f32
// CHECK: %[[L:.*]] = arith.constant 2.14748365E+9 : f32
// CHECK: %[[F:.*]] = arith.cmpf olt, %[[A]], %[[L]] : f32
// CHECK: %[[M:.*]] = arith.constant -2147483648 : i32
// CHECK: %[[R:.*]] = arith.select %[[F]], %[[I]], %[[M]] : i32
// CHECK: arith.addi %[[R]], %[[R]]
func.func @scalar(%x: f32) -> i32 {
  %0 = arith.fptosi %x : f32 to i32
  %1 = arith.addi %0, %0 : i32
  return %1 : i32
}

// CHECK-LABEL: func.func @vector
// CHECK: arith.constant dense<9.2233720368547758E+18> : vector<4xf64>
// CHECK: arith.constant dense<-9223372036854775808> : vector<4xi64>
func.func @vector(%x: vector<4xf64>) -> vector<4xi64> {
  %0 = arith.fptosi %x : vector<4xf64> to vector<4xi64>
  return %0 : vector<4xi64>
}

// An approximation's own conversion is none of the program's.
// LOWERED-LABEL: llvm.func @approximation
// LOWERED: llvm.fptosi
// LOWERED-NOT: -2147483648
// LOWERED: llvm.return
func.func @approximation(%x: f32) -> f32 {
  %0 = math.expm1 %x : f32
  return %0 : f32
}
