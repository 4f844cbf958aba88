// RUN: aitune-opt %s -ait-simplify | FileCheck %s

#from_none = affine_map<()[s0] -> (s0 - 1)>
#from_one = affine_map<()[s0, s1] -> (s1)>

module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 9 : i64, input = 0 : i64, axis = 0 : i64},
                                  {name = "s1", min = 1 : i64, max = 9 : i64, input = 0 : i64, axis = 1 : i64}]} {

// Where the axis is empty nothing is divided, and eager raises nothing.
// CHECK-LABEL: func @may_be_empty
func.func @may_be_empty(%n: tensor<i64>) -> tensor<?xi64, #from_none> {
  // CHECK: %[[E:.*]] = ait.expand %arg0
  // CHECK: ait.check %[[E]]
  %0 = ait.expand %n : tensor<i64> -> tensor<?xi64, #from_none>
  %1 = ait.check %0 {operator_name = "aten::remainder"} : tensor<?xi64, #from_none>
  return %1 : tensor<?xi64, #from_none>
}

// CHECK-LABEL: func @never_empty
func.func @never_empty(%n: tensor<i64>) -> tensor<?xi64, #from_one> {
  // CHECK: %[[C:.*]] = ait.check
  // CHECK: ait.expand %[[C]]
  %0 = ait.expand %n : tensor<i64> -> tensor<?xi64, #from_one>
  %1 = ait.check %0 {operator_name = "aten::remainder"} : tensor<?xi64, #from_one>
  return %1 : tensor<?xi64, #from_one>
}

}
