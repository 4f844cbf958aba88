// RUN: aitune-opt %s -ait-merge-fallbacks | FileCheck %s

// A chain becomes one call; the value between stays inside LibTorch.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[R:.*]] = ait.fallback %{{.*}} {input_values = array<i64: 0>, operators = ["aten::foo", "aten::bar"], output_values = array<i64: 8>, reasons = ["unknown", "opaque"], trace_ops = array<i64: 3, 4>} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["unknown"], input_values = array<i64: 0>, output_values = array<i64: 7>} : (tensor<4xf32>) -> !ait.opaque
  %1 = ait.fallback %0 {trace_ops = array<i64: 4>, operators = ["aten::bar"], reasons = ["opaque"], input_values = array<i64: 7>, output_values = array<i64: 8>} : (!ait.opaque) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Compiled work between two fallbacks keeps them apart; a result with another
// reader stays a result.
// CHECK-LABEL: func.func @apart
// CHECK:         %[[A:.*]] = ait.fallback
// CHECK:         %[[B:.*]] = ait.relu %[[A]]
// CHECK:         %[[C:.*]]:2 = ait.fallback %[[B]] {input_values = array<i64: 8>, {{.*}}output_values = array<i64: 9, 10>, {{.*}}array<i64: 5, 6>{{.*}} -> (tensor<4xf32>, tensor<4xf32>)
// CHECK:         return %[[C]]#0, %[[C]]#1
func.func @apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["unknown"], input_values = array<i64: 0>, output_values = array<i64: 7>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.relu %0 : tensor<4xf32>
  %2 = ait.fallback %1 {trace_ops = array<i64: 5>, operators = ["aten::bar"], reasons = ["unknown"], input_values = array<i64: 8>, output_values = array<i64: 9>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = ait.fallback %2 {trace_ops = array<i64: 6>, operators = ["aten::baz"], reasons = ["unknown"], input_values = array<i64: 9>, output_values = array<i64: 10>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// The second reads the first's result under another number of the trace, which
// a joint region would not know.
// CHECK-LABEL: func.func @renamed
// CHECK-COUNT-2: ait.fallback
func.func @renamed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["unknown"], input_values = array<i64: 0>, output_values = array<i64: 7>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.fallback %0 {trace_ops = array<i64: 5>, operators = ["aten::bar"], reasons = ["unknown"], input_values = array<i64: 8>, output_values = array<i64: 9>} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A call that LibTorch makes an operand of both with runs once.
// CHECK-LABEL: func.func @operand_of_both
// CHECK:         ait.fallback %{{.*}} {input_values = array<i64: 0, 1>, operators = ["aten::expand", "aten::foo", "aten::bar"], output_values = array<i64: 8, 9>, reasons = ["r", "r", "q"], trace_ops = array<i64: 2, 3, 5>}
// CHECK-NOT:     ait.fallback
func.func @operand_of_both(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ait.fallback %x, %y {trace_ops = array<i64: 2, 3>, operators = ["aten::expand", "aten::foo"], reasons = ["r", "r"], input_values = array<i64: 0, 1>, output_values = array<i64: 8>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.fallback %x, %y {trace_ops = array<i64: 2, 5>, operators = ["aten::expand", "aten::bar"], reasons = ["q", "q"], input_values = array<i64: 0, 1>, output_values = array<i64: 9>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
