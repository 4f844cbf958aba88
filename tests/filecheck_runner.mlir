// RUN: mlir-opt %s --split-input-file --canonicalize | FileCheck %s
// RUN: mlir-opt %s --split-input-file \
// RUN:   --canonicalize > %t
// RUN: FileCheck %s < %t
// RUN: not mlir-opt %S/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING

// MISSING: cannot open input file

// CHECK-LABEL: func.func @first
// CHECK: return %arg0
func.func @first(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}

// -----

// CHECK-LABEL: func.func @second
// CHECK-NEXT: arith.constant 5
func.func @second() -> i32 {
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %sum = arith.addi %two, %three : i32
  return %sum : i32
}
