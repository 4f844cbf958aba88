// RUN: aitune-opt %s -ait-form-attention -canonicalize | FileCheck %s

#q = affine_map<()[s0] -> (2, 3, s0, 4)>
#s = affine_map<()[s0] -> (2, 3, s0, s0)>
#m = affine_map<()[s0] -> (2, 1, 1, s0)>

// CHECK-LABEL: func @additive_mask
func.func @additive_mask(%q: tensor<2x3x?x4xf32, #q>, %k: tensor<2x3x?x4xf32, #q>, %v: tensor<2x3x?x4xf32, #q>, %m: tensor<2x1x1x?xf32, #m>) -> tensor<2x3x?x4xf32, #q> {
  // CHECK-NEXT: %[[A:.*]] = ait.attention %arg0, %arg1, %arg2, %arg3 {masked_rows_are_nan, scale = 5.000000e-01 : f64}
  // CHECK-NEXT: return %[[A]]
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<2x3x?x4xf32, #q>, tensor<2x3x?x4xf32, #q>) -> tensor<2x3x?x?xf32, #s>
  %1 = ait.full 2.0 : f32 : tensor<2x3x?x?xf32, #s>
  %2 = ait.div %0, %1 : tensor<2x3x?x?xf32, #s>
  %3 = ait.expand %m : tensor<2x1x1x?xf32, #m> -> tensor<2x3x?x?xf32, #s>
  %4 = ait.add %2, %3 : tensor<2x3x?x?xf32, #s>
  %5 = ait.softmax %4 {dim = 3 : i64} : tensor<2x3x?x?xf32, #s> -> tensor<2x3x?x?xf32, #s>
  %6 = ait.matmul %5, %v : (tensor<2x3x?x?xf32, #s>, tensor<2x3x?x4xf32, #q>) -> tensor<2x3x?x4xf32, #q>
  return %6 : tensor<2x3x?x4xf32, #q>
}

// A masked fill, a query scaled beforehand, a softmax in f32.
// CHECK-LABEL: func @masked_fill
func.func @masked_fill(%q: tensor<2x5x4xbf16>, %k: tensor<2x7x4xbf16>, %v: tensor<2x7x4xbf16>, %c: tensor<5x7xi1>) -> tensor<2x5x4xbf16> {
  // CHECK: %[[M:.*]] = ait.bitwise_not %arg3 : tensor<5x7xi1>
  // CHECK: ait.attention %arg0, %arg1, %arg2, %[[M]] {masked_rows_are_nan, scale = 5.000000e-01 : f64}
  %h = ait.full 0.5 : bf16 : tensor<2x5x4xbf16>
  %0 = ait.mul %q, %h : tensor<2x5x4xbf16>
  %1 = ait.matmul %0, %k {transpose_rhs} : (tensor<2x5x4xbf16>, tensor<2x7x4xbf16>) -> tensor<2x5x7xbf16>
  %2 = ait.full 0xFF80 : bf16 : tensor<2x5x7xbf16>
  %3 = ait.expand %c : tensor<5x7xi1> -> tensor<2x5x7xi1>
  %4 = ait.where %3, %2, %1 : tensor<2x5x7xi1>, tensor<2x5x7xbf16>
  %5 = ait.convert %4 : tensor<2x5x7xbf16> -> tensor<2x5x7xf32>
  %6 = ait.softmax %5 {dim = 2 : i64} : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
  %7 = ait.convert %6 : tensor<2x5x7xf32> -> tensor<2x5x7xbf16>
  %8 = ait.matmul %7, %v : (tensor<2x5x7xbf16>, tensor<2x7x4xbf16>) -> tensor<2x5x4xbf16>
  return %8 : tensor<2x5x4xbf16>
}

// A bias of positions and a mask of windows are one mask, at the sizes that both
// need.
// CHECK-LABEL: func @bias_and_mask
func.func @bias_and_mask(%q: tensor<4x3x5x8xf16>, %k: tensor<4x3x5x8xf16>, %v: tensor<4x3x5x8xf16>, %b: tensor<3x5x5xf16>, %m: tensor<1x1x5xf16>) -> tensor<4x3x5x8xf16> {
  // CHECK: %[[M:.*]] = ait.add {{.*}} : tensor<1x3x5x5xf32>
  // CHECK-NEXT: ait.attention %arg0, %arg1, %arg2, %[[M]] {masked_rows_are_nan, scale = 1.000000e+00 : f64}
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<4x3x5x8xf16>, tensor<4x3x5x8xf16>) -> tensor<4x3x5x5xf16>
  %1 = ait.expand %b : tensor<3x5x5xf16> -> tensor<4x3x5x5xf16>
  %2 = ait.add %0, %1 : tensor<4x3x5x5xf16>
  %3 = ait.expand %m : tensor<1x1x5xf16> -> tensor<4x3x5x5xf16>
  %4 = ait.add %3, %2 : tensor<4x3x5x5xf16>
  %5 = ait.softmax %4 {dim = 3 : i64} : tensor<4x3x5x5xf16> -> tensor<4x3x5x5xf16>
  %6 = ait.matmul %5, %v : (tensor<4x3x5x5xf16>, tensor<4x3x5x8xf16>) -> tensor<4x3x5x8xf16>
  return %6 : tensor<4x3x5x8xf16>
}

// A temperature of each head, or of each query, goes to the queries.
// CHECK-LABEL: func @temperature
func.func @temperature(%q: tensor<4x3x5x8xf32>, %k: tensor<4x3x8x7xf32>, %v: tensor<4x3x7x8xf32>, %t: tensor<3x1x1xf32>, %b: tensor<3x5x7xf32>) -> tensor<4x3x5x8xf32> {
  // CHECK: %[[T:.*]] = ait.expand %arg3 : tensor<3x1x1xf32> -> tensor<4x3x5x8xf32>
  // CHECK: %[[Q:.*]] = ait.mul %arg0, %[[T]] : tensor<4x3x5x8xf32>
  // CHECK: ait.attention %[[Q]], %{{.*}}, %arg2, %arg4 {masked_rows_are_nan, scale = 1.000000e+00 : f64}
  %0 = ait.matmul %q, %k : (tensor<4x3x5x8xf32>, tensor<4x3x8x7xf32>) -> tensor<4x3x5x7xf32>
  %1 = ait.expand %t : tensor<3x1x1xf32> -> tensor<4x3x5x7xf32>
  %2 = ait.mul %0, %1 : tensor<4x3x5x7xf32>
  %3 = ait.expand %b : tensor<3x5x7xf32> -> tensor<4x3x5x7xf32>
  %4 = ait.add %2, %3 : tensor<4x3x5x7xf32>
  %5 = ait.softmax %4 {dim = 3 : i64} : tensor<4x3x5x7xf32> -> tensor<4x3x5x7xf32>
  %6 = ait.matmul %5, %v : (tensor<4x3x5x7xf32>, tensor<4x3x7x8xf32>) -> tensor<4x3x5x8xf32>
  return %6 : tensor<4x3x5x8xf32>
}

// In bf16 queries are rounded once. What differs between keys stays, as does any
// factor where products of f16 might overflow.
// CHECK-LABEL: func @temperatures_of_16_bits
func.func @temperatures_of_16_bits(%q: tensor<2x5x8xbf16>, %h: tensor<2x5x8xf16>, %t: tensor<2x5x1xbf16>, %u: tensor<2x1x1xf16>) -> (tensor<2x5x8xbf16>, tensor<2x5x8xf16>) {
  // CHECK: %[[Q:.*]] = ait.convert %arg0 : tensor<2x5x8xbf16> -> tensor<2x5x8xf32>
  // CHECK: %[[P:.*]] = ait.mul {{.*}} : tensor<2x5x8xf32>
  // CHECK: %[[S:.*]] = ait.convert %[[P]] : tensor<2x5x8xf32> -> tensor<2x5x8xbf16>
  // CHECK: ait.attention %[[S]], %arg0, %arg0
  // CHECK-NOT: ait.attention
  // CHECK: return
  %0 = ait.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xbf16>, tensor<2x5x8xbf16>) -> tensor<2x5x5xbf16>
  %1 = ait.expand %t : tensor<2x5x1xbf16> -> tensor<2x5x5xbf16>
  %2 = ait.mul %1, %0 : tensor<2x5x5xbf16>
  %3 = ait.softmax %2 {dim = 2 : i64} : tensor<2x5x5xbf16> -> tensor<2x5x5xbf16>
  %4 = ait.matmul %3, %q : (tensor<2x5x5xbf16>, tensor<2x5x8xbf16>) -> tensor<2x5x8xbf16>
  %5 = ait.matmul %h, %h {transpose_rhs} : (tensor<2x5x8xf16>, tensor<2x5x8xf16>) -> tensor<2x5x5xf16>
  %6 = ait.expand %u : tensor<2x1x1xf16> -> tensor<2x5x5xf16>
  %7 = ait.mul %5, %6 : tensor<2x5x5xf16>
  %8 = ait.softmax %7 {dim = 2 : i64} : tensor<2x5x5xf16> -> tensor<2x5x5xf16>
  %9 = ait.matmul %8, %h : (tensor<2x5x5xf16>, tensor<2x5x8xf16>) -> tensor<2x5x8xf16>
  return %4, %9 : tensor<2x5x8xbf16>, tensor<2x5x8xf16>
}

// CHECK-LABEL: func @a_factor_of_each_key
func.func @a_factor_of_each_key(%q: tensor<2x5x8xf32>, %t: tensor<2x1x5xf32>) -> tensor<2x5x8xf32> {
  // CHECK-NOT: ait.attention
  // CHECK: return
  %0 = ait.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %1 = ait.expand %t : tensor<2x1x5xf32> -> tensor<2x5x5xf32>
  %2 = ait.mul %0, %1 : tensor<2x5x5xf32>
  %3 = ait.softmax %2 {dim = 2 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %4 = ait.matmul %3, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %4 : tensor<2x5x8xf32>
}

// Weights that are an output and a softmax along another axis are no attention.
// CHECK-LABEL: func @weights_needed
func.func @weights_needed(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x7xf32>) {
  // CHECK-NOT: ait.attention
  // CHECK: return
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x7x4xf32>) -> tensor<2x5x7xf32>
  %1 = ait.softmax %0 {dim = 2 : i64} : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
  %2 = ait.matmul %1, %v : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  return %2, %1 : tensor<2x5x4xf32>, tensor<2x5x7xf32>
}

// A fill of any number takes the place of a score, whatever that is, and a
// condition may say which scores are seen.
// CHECK-LABEL: func @small_fill
func.func @small_fill(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %c: tensor<2x5x5xi1>) -> tensor<2x5x4xf32> {
  // CHECK-NEXT: ait.attention %arg0, {{.*}}, %arg2, %arg3 {masked_rows_are_nan, masked_score = -1.000000e+00 : f64, scale = 1.000000e+00 : f64}
  // CHECK: return
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %f = ait.full -1.0 : f32 : tensor<2x5x5xf32>
  %1 = ait.where %c, %0, %f : tensor<2x5x5xi1>, tensor<2x5x5xf32>
  %2 = ait.softmax %1 {dim = 2 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %3 = ait.matmul %2, %v : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %3 : tensor<2x5x4xf32>
}

// Beside a bias too a fill takes the place of scores, NaN ones included: the mask
// has a number there that no bias has.
// CHECK-LABEL: func @small_fill_of_bias
func.func @small_fill_of_bias(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %b: tensor<2x5x5xf32>, %c: tensor<2x5x5xi1>) -> tensor<2x5x4xf32> {
  // CHECK: %[[F:.*]] = ait.full -3.40282326E+38 : f32 : tensor<2x5x5xf32>
  // CHECK: %[[M:.*]] = ait.where %arg4, %[[F]], %arg3
  // CHECK: ait.attention %arg0, {{.*}}, %arg2, %[[M]] {masked_rows_are_nan, masked_score = -1.000000e+00 : f64, scale = 1.000000e+00 : f64}
  // CHECK: return
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %s = ait.add %0, %b : tensor<2x5x5xf32>
  %f = ait.full -1.0 : f32 : tensor<2x5x5xf32>
  %1 = ait.where %c, %f, %s : tensor<2x5x5xi1>, tensor<2x5x5xf32>
  %2 = ait.softmax %1 {dim = 2 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %3 = ait.matmul %2, %v : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %3 : tensor<2x5x4xf32>
}

// The condition of what is seen, a bias of other sizes, and minus infinity.
// CHECK-LABEL: func @seen_beside_bias
func.func @seen_beside_bias(%q: tensor<2x5x4xf16>, %b: tensor<5x1xf16>, %c: tensor<1x5xi1>) -> tensor<2x5x4xf16> {
  // CHECK: %[[M:.*]] = ait.where {{.*}} : tensor<1x5x5xi1>, tensor<1x5x5xf32>
  // CHECK-NEXT: ait.attention %arg0, %arg0, %arg0, %[[M]] {masked_rows_are_nan, masked_score = 0xFFF0000000000000 : f64, scale = 1.000000e+00 : f64}
  %0 = ait.matmul %q, %q {transpose_rhs} : (tensor<2x5x4xf16>, tensor<2x5x4xf16>) -> tensor<2x5x5xf16>
  %1 = ait.expand %b : tensor<5x1xf16> -> tensor<2x5x5xf16>
  %2 = ait.add %0, %1 : tensor<2x5x5xf16>
  %f = ait.full 0xFC00 : f16 : tensor<2x5x5xf16>
  %3 = ait.expand %c : tensor<1x5xi1> -> tensor<2x5x5xi1>
  %4 = ait.where %3, %2, %f : tensor<2x5x5xi1>, tensor<2x5x5xf16>
  %5 = ait.softmax %4 {dim = 2 : i64} : tensor<2x5x5xf16> -> tensor<2x5x5xf16>
  %6 = ait.matmul %5, %q : (tensor<2x5x5xf16>, tensor<2x5x4xf16>) -> tensor<2x5x4xf16>
  return %6 : tensor<2x5x4xf16>
}

// What the lowest number of f16 masks is equal in f16: in f32 a lower number
// makes it so.
// CHECK-LABEL: func @lowest_mask
func.func @lowest_mask(%q: tensor<2x5x4xf16>, %m: tensor<5x5xf16>) -> tensor<2x5x4xf16> {
  // CHECK-DAG: %[[F:.*]] = ait.full 6.553600e+04 : f32
  // CHECK-DAG: %[[L:.*]] = ait.full -3.276800e+04 : f32
  // CHECK-DAG: %[[M:.*]] = ait.convert %arg1 : tensor<5x5xf16> -> tensor<5x5xf32>
  // CHECK-DAG: %[[I:.*]] = ait.le %[[M]], %[[L]]
  // CHECK-DAG: %[[A:.*]] = ait.mul %[[M]], %[[F]]
  // CHECK: %[[W:.*]] = ait.where %[[I]], %[[A]], %[[M]]
  // CHECK-NEXT: ait.attention %arg0, %arg0, %arg0, %[[W]] {masked_rows_are_nan, scale = 1.000000e+00 : f64}
  %0 = ait.matmul %q, %q {transpose_rhs} : (tensor<2x5x4xf16>, tensor<2x5x4xf16>) -> tensor<2x5x5xf16>
  %1 = ait.expand %m : tensor<5x5xf16> -> tensor<2x5x5xf16>
  %2 = ait.add %0, %1 : tensor<2x5x5xf16>
  %3 = ait.softmax %2 {dim = 2 : i64} : tensor<2x5x5xf16> -> tensor<2x5x5xf16>
  %4 = ait.matmul %3, %q : (tensor<2x5x5xf16>, tensor<2x5x4xf16>) -> tensor<2x5x4xf16>
  return %4 : tensor<2x5x4xf16>
}

// Scores in a narrower type than their product's may be infinite.
// CHECK-LABEL: func @narrower_scores
func.func @narrower_scores(%q: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK-NOT: ait.attention
  // CHECK: return
  %0 = ait.matmul %q, %q {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %1 = ait.convert %0 {ait.rounds} : tensor<2x5x5xf32> -> tensor<2x5x5xf16>
  %2 = ait.convert %1 {ait.rounds} : tensor<2x5x5xf16> -> tensor<2x5x5xf32>
  %3 = ait.softmax %2 {dim = 2 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %4 = ait.matmul %3, %q : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %4 : tensor<2x5x4xf32>
}

// A small factor of the queries stays there: without it the product overflows.
// CHECK-LABEL: func @small_queries
func.func @small_queries(%q: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK: %[[Q:.*]] = ait.mul %arg0, {{.*}} : tensor<2x5x4xf32>
  // CHECK-NEXT: ait.attention %[[Q]], %arg0, %arg0 {masked_rows_are_nan, scale = 1.000000e+00 : f64}
  %f = ait.full 1.0e-20 : f32 : tensor<2x5x4xf32>
  %0 = ait.mul %q, %f : tensor<2x5x4xf32>
  %1 = ait.matmul %0, %q {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %2 = ait.softmax %1 {dim = 2 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %3 = ait.matmul %2, %q : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %3 : tensor<2x5x4xf32>
}

// CHECK-LABEL: func @other_axis
func.func @other_axis(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK-NOT: ait.attention
  // CHECK: return
  %0 = ait.matmul %q, %k {transpose_rhs} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %1 = ait.softmax %0 {dim = 1 : i64} : tensor<2x5x5xf32> -> tensor<2x5x5xf32>
  %2 = ait.matmul %1, %v : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %2 : tensor<2x5x4xf32>
}

// A mask that changes no score is none.
// CHECK-LABEL: func.func @neutral_masks
// CHECK: %[[A:.*]] = ait.attention %arg0, %arg0, %arg0 {scale
// CHECK-NEXT: %[[B:.*]] = ait.attention %[[A]], %arg0, %arg0 {scale
// CHECK-NEXT: return %[[B]]
func.func @neutral_masks(%q: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = ait.full 0.0 : f32 : tensor<4x4xf32>
  %1 = ait.full true : tensor<2x1x4xi1>
  %2 = ait.attention %q, %q, %q, %0 {scale = 0.5 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32>
  %3 = ait.attention %2, %q, %q, %1 {scale = 0.5 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x1x4xi1>) -> tensor<2x4x8xf32>
  return %3 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func @masks_that_count
// CHECK: ait.attention %arg0, %arg0, %arg0, %{{.*}} {scale
// CHECK: ait.attention %{{.*}}, %arg0, %arg0, %{{.*}} {scale
func.func @masks_that_count(%q: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = ait.full -1.0 : f32 : tensor<4x4xf32>
  %1 = ait.full false : tensor<2x1x4xi1>
  %2 = ait.attention %q, %q, %q, %0 {scale = 0.5 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32>
  %3 = ait.attention %2, %q, %q, %1 {scale = 0.5 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x1x4xi1>) -> tensor<2x4x8xf32>
  return %3 : tensor<2x4x8xf32>
}
