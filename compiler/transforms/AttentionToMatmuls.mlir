// RUN: aitune-opt %s -ait-attention-to-matmuls | FileCheck %s

#q = affine_map<()[s0, s1] -> (s0, 8, s1)>

// A head of an image decoder.
// CHECK-LABEL: func.func @deep
// CHECK: %[[W:.*]] = ait.convert %arg0 : tensor<1x9x512xf16> -> tensor<1x9x512xf32>
// CHECK: %[[F:.*]] = ait.full 1.250000e-01 : f32
// CHECK: %[[S:.*]] = ait.mul %[[W]], %[[F]]
// CHECK: %[[Q:.*]] = ait.convert %[[S]] : tensor<1x9x512xf32> -> tensor<1x9x512xf16>
// CHECK: %[[P:.*]] = ait.matmul %[[Q]], %arg1 {transpose_rhs} : (tensor<1x9x512xf16>, tensor<1x9x512xf16>) -> tensor<1x9x9xf16>
// CHECK: %[[X:.*]] = ait.convert %[[P]] : tensor<1x9x9xf16> -> tensor<1x9x9xf32>
// CHECK: %[[M:.*]] = ait.softmax %[[X]] {dim = 2 : i64}
// CHECK: %[[N:.*]] = ait.convert %[[M]] : tensor<1x9x9xf32> -> tensor<1x9x9xf16>
// CHECK: ait.matmul %[[N]], %arg2 : (tensor<1x9x9xf16>, tensor<1x9x512xf16>) -> tensor<1x9x512xf16>
func.func @deep(%q: tensor<1x9x512xf16>, %k: tensor<1x9x512xf16>, %v: tensor<1x9x512xf16>) -> tensor<1x9x512xf16> {
  %0 = ait.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<1x9x512xf16>, tensor<1x9x512xf16>, tensor<1x9x512xf16>) -> tensor<1x9x512xf16>
  return %0 : tensor<1x9x512xf16>
}

// Values alone are deep. A query for which the mask leaves no key gives 0.
// CHECK-LABEL: func.func @masked
// CHECK: %[[M:.*]] = ait.expand %arg3 : tensor<1x6xi1> -> tensor<2x8x6xi1>
// CHECK: %[[S:.*]] = ait.where %[[M]]
// CHECK: %[[W:.*]] = ait.softmax %[[S]]
// CHECK: %[[G:.*]] = ait.amax %[[S]] {dims = array<i64: 2>} : tensor<2x8x6xf32> -> tensor<2x8x1xf32>
// CHECK: %[[X:.*]] = ait.expand %[[G]]
// CHECK: %[[I:.*]] = ait.full 0xFF800000 : f32
// CHECK: %[[E:.*]] = ait.eq %[[X]], %[[I]]
// CHECK: %[[Z:.*]] = ait.full 0.000000e+00 : f32
// CHECK: ait.where %[[E]], %[[Z]], %[[W]]
func.func @masked(%q: tensor<2x8x64xf32>, %k: tensor<2x6x64xf32>, %v: tensor<2x6x300xf32>, %mask: tensor<1x6xi1>) -> tensor<2x8x300xf32> {
  %0 = ait.attention %q, %k, %v, %mask {scale = 1.0 : f64} : (tensor<2x8x64xf32>, tensor<2x6x64xf32>, tensor<2x6x300xf32>, tensor<1x6xi1>) -> tensor<2x8x300xf32>
  return %0 : tensor<2x8x300xf32>
}

// The depth is dynamic; a mask is added; NaN is what a softmax gives.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[M:.*]] = ait.convert %arg3 : tensor<8x8xf16> -> tensor<8x8xf32>
// CHECK: %[[X:.*]] = ait.expand %[[M]]
// CHECK: ait.add %{{.*}}, %[[X]]
// CHECK: ait.softmax
// CHECK-NOT: ait.where
// CHECK: ait.matmul
func.func @dynamic(%q: tensor<?x8x?xf16, #q>, %k: tensor<?x8x?xf16, #q>, %v: tensor<?x8x?xf16, #q>, %mask: tensor<8x8xf16>) -> tensor<?x8x?xf16, #q> {
  %0 = ait.attention %q, %k, %v, %mask {scale = 1.0 : f64, masked_rows_are_nan} : (tensor<?x8x?xf16, #q>, tensor<?x8x?xf16, #q>, tensor<?x8x?xf16, #q>, tensor<8x8xf16>) -> tensor<?x8x?xf16, #q>
  return %0 : tensor<?x8x?xf16, #q>
}

// A mask that is added leaves pairs out where it has a number that no bias has.
// CHECK-LABEL: func.func @added_or_left_out
// CHECK: %[[X:.*]] = ait.expand %arg1
// CHECK: %[[A:.*]] = ait.add %{{.*}}, %[[X]]
// CHECK: %[[P:.*]] = ait.full -3.40282326E+38
// CHECK: %[[N:.*]] = ait.ne %[[X]], %[[P]]
// CHECK: %[[F:.*]] = ait.full -1.000000e+00
// CHECK: ait.where %[[N]], %[[A]], %[[F]]
func.func @added_or_left_out(%q: tensor<1x8x320xf32>, %mask: tensor<8x8xf32>) -> tensor<1x8x320xf32> {
  %0 = ait.attention %q, %q, %q, %mask {scale = 1.0 : f64, masked_rows_are_nan, masked_score = -1.0 : f64} : (tensor<1x8x320xf32>, tensor<1x8x320xf32>, tensor<1x8x320xf32>, tensor<8x8xf32>) -> tensor<1x8x320xf32>
  return %0 : tensor<1x8x320xf32>
}

// A greater scale comes after.
// CHECK-LABEL: func.func @causal
// CHECK: ait.matmul %arg0, %arg0
// CHECK: ait.full 2.000000e+00
// CHECK: %[[S:.*]] = ait.iota {dim = 2 : i64
// CHECK: %[[T:.*]] = ait.iota {dim = 1 : i64
// CHECK: %[[L:.*]] = ait.le %[[S]], %[[T]]
// CHECK: ait.where %[[L]]
func.func @causal(%q: tensor<1x8x320xf32>) -> tensor<1x8x320xf32> {
  %0 = ait.attention %q, %q, %q {scale = 2.0 : f64, is_causal} : (tensor<1x8x320xf32>, tensor<1x8x320xf32>, tensor<1x8x320xf32>) -> tensor<1x8x320xf32>
  return %0 : tensor<1x8x320xf32>
}

// There are kernels for this depth.
// CHECK-LABEL: func.func @usual
// CHECK: ait.attention
// CHECK-NOT: ait.matmul
func.func @usual(%q: tensor<1x8x256xf16>) -> tensor<1x8x256xf16> {
  %0 = ait.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x8x256xf16>, tensor<1x8x256xf16>, tensor<1x8x256xf16>) -> tensor<1x8x256xf16>
  return %0 : tensor<1x8x256xf16>
}
