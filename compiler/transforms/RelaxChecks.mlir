// RUN: aitune-opt %s -ait-relax-checks -split-input-file | FileCheck %s
// RUN: aitune-opt %s -ait-relax-checks="silence-indices=1 silence-divisors=1" -split-input-file | FileCheck %s --check-prefix=SILENT

#n = affine_map<()[s0] -> (s0)>
#ten = affine_map<()[] -> (10)>
#sixteen = affine_map<()[] -> (16)>
#fifteen = affine_map<()[] -> (15)>
#same = affine_map<()[s0] -> (s0)>

module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 16 : i64, input = 0 : i64, axis = 0 : i64}]} {

// Positions 0 to s0 - 1 are in a table of 16, for s0 is at most 16, and in one
// of s0; in one of 15 they may not be.
// CHECK-LABEL: func.func @positions
// CHECK: %[[I:.*]] = ait.iota
// CHECK: %[[C:.*]] = ait.check %[[I]] {operator_name = "third"
// CHECK: return %[[I]], %[[I]], %[[C]]
// SILENT-LABEL: func.func @positions
// SILENT: ait.check {{.*}} {operator_name = "third", silent
func.func @positions() -> (tensor<?xi64, #n>, tensor<?xi64, #n>, tensor<?xi64, #n>) {
  %i = ait.iota {dim = 0 : i64, start = 0.0 : f64, step = 1.0 : f64} : tensor<?xi64, #n>
  %a = ait.check %i {size = #sixteen, operator_name = "first"} : tensor<?xi64, #n>
  %b = ait.check %i {size = #same, operator_name = "second"} : tensor<?xi64, #n>
  %c = ait.check %i {size = #fifteen, operator_name = "third"} : tensor<?xi64, #n>
  return %a, %b, %c : tensor<?xi64, #n>, tensor<?xi64, #n>, tensor<?xi64, #n>
}

// Data may be anything, unless it is limited, narrow or a remainder.
// CHECK-LABEL: func.func @data(
// CHECK-SAME: %[[X:.*]]: tensor<4xi64>
// CHECK: %[[A:.*]] = ait.check %[[X]]
// CHECK: %[[LOW:.*]] = ait.maximum
// CHECK: %[[LIMITED:.*]] = ait.minimum
// CHECK: %[[R:.*]] = ait.remainder
// CHECK: %[[B:.*]] = ait.check %[[LOW]]
// CHECK: return %[[A]], %[[LIMITED]], %[[R]], %[[B]]
func.func @data(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %zero = ait.full 0 : i64 : tensor<4xi64>
  %nine = ait.full 9 : i64 : tensor<4xi64>
  %a = ait.check %x {size = #ten, operator_name = "op"} : tensor<4xi64>
  %low = ait.maximum %x, %zero : tensor<4xi64>
  %limited = ait.minimum %low, %nine : tensor<4xi64>
  %r = ait.remainder %x, %nine : tensor<4xi64>
  %b = ait.check %limited {size = #ten, operator_name = "op"} : tensor<4xi64>
  %c = ait.check %r {size = #ten, operator_name = "op"} : tensor<4xi64>
  %d = ait.check %low {size = #ten, operator_name = "op"} : tensor<4xi64>
  return %a, %b, %c, %d : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}

// What wraps around in its type proves nothing.
// CHECK-LABEL: func.func @wraps
// CHECK: ait.check
func.func @wraps() -> tensor<4xi8> {
  %a = ait.full 100 : i8 : tensor<4xi8>
  %sum = ait.add %a, %a : tensor<4xi8>
  %c = ait.check %sum {size = affine_map<()[] -> (1000)>, operator_name = "op"} : tensor<4xi8>
  return %c : tensor<4xi8>
}

// Negative indices in range still have to be counted from the end.
// CHECK-LABEL: func.func @from_end
// CHECK: ait.check {{.*}}from_end, operator_name = "op", silent
func.func @from_end() -> tensor<4xi64> {
  %i = ait.iota {dim = 0 : i64, start = -2.0 : f64, step = 1.0 : f64} : tensor<4xi64>
  %c = ait.check %i {size = #ten, from_end, operator_name = "op"} : tensor<4xi64>
  return %c : tensor<4xi64>
}

// CHECK-LABEL: func.func @divisors(
// CHECK-SAME: %[[X:.*]]: tensor<4xi64>
// CHECK: %[[TWO:.*]] = ait.full 2
// CHECK: %[[ZERO:.*]] = ait.full 0
// CHECK: %[[A:.*]] = ait.check %[[ZERO]] {operator_name = "op"}
// CHECK: %[[B:.*]] = ait.check %[[X]] {operator_name = "op"}
// CHECK: return %[[TWO]], %[[A]], %[[B]]
// SILENT-LABEL: func.func @divisors
// SILENT: ait.check {{.*}}silent
// SILENT: ait.check {{.*}}silent
func.func @divisors(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %two = ait.full 2 : i64 : tensor<4xi64>
  %zero = ait.full 0 : i64 : tensor<4xi64>
  %a = ait.check %two {operator_name = "op"} : tensor<4xi64>
  %b = ait.check %zero {operator_name = "op"} : tensor<4xi64>
  %c = ait.check %x {operator_name = "op"} : tensor<4xi64>
  return %a, %b, %c : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}

}
