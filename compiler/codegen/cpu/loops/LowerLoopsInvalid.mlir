// RUN: aitune-opt %s --ait-cpu-lower-loops=target=avx2 --split-input-file --verify-diagnostics

// Functions of the right operations for which there is still no loop code.

// expected-error @below {{has no loop code: a tensor filled with a number that is not constant}}
func.func private @fill(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %zero = arith.constant 0 : index
  %first = tensor.extract %x[%zero] : tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %fill = linalg.fill ins(%first : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %fill : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
// expected-error @below {{has no loop code: a loop kernel cannot compute arith.mulsi_extended}}
func.func private @two_results(%x: tensor<4xi32>) -> tensor<4xi32> attributes {ait.kind = #ait.kind<loop>} {
  %empty = tensor.empty() : tensor<4xi32>
  %high = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%empty : tensor<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %low, %top = arith.mulsi_extended %in, %in : i32
    linalg.yield %top : i32
  } -> tensor<4xi32>
  return %high : tensor<4xi32>
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>
// expected-error @below {{has no loop code: a reduction that does not start from a constant}}
func.func private @start(%x: tensor<4x8xf32>, %start: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %sum = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %in, %out : f32
    linalg.yield %add : f32
  } -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
