// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda="target=sm_89 compile=1 quiet=1" -o /dev/null
// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1" -o /dev/null

// Exponentials whose results are rounded to 16 bits, and quotients of them, are
// quick, through whatever keeps their relative error.

// CHECK-LABEL: === gated: elementwise
// CHECK: [[E:v[0-9]+]] = quickExp(
// CHECK: [[S:v[0-9]+]] = 1.0f + [[E]];
// CHECK: quickQuotient({{v[0-9]+}}, [[S]]);
func.func private @gated(%x: tensor<64x32xbf16>, %y: tensor<64x1xbf16>) -> tensor<2048xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.silu %x : tensor<64x32xbf16>
  %1 = ait.expand %y : tensor<64x1xbf16> -> tensor<64x32xbf16>
  %2 = ait.mul %0, %1 : tensor<64x32xbf16>
  %3 = ait.reshape %2 : tensor<64x32xbf16> -> tensor<2048xbf16>
  return %3 : tensor<2048xbf16>
}

// CHECK-LABEL: === sigmoid: elementwise
// CHECK: quickExp(
// CHECK: quickQuotient(1.0f,
func.func private @sigmoid(%x: tensor<2048xf16>) -> tensor<2048xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sigmoid %x : tensor<2048xf16>
  return %0 : tensor<2048xf16>
}

// The result is no narrower than the arithmetic.
// CHECK-LABEL: === in_float: elementwise
// CHECK-NOT: = quick
// CHECK: = expf(
// CHECK-NOT: = quick
// CHECK-LABEL: === stored_twice
func.func private @in_float(%x: tensor<2048xf32>) -> tensor<2048xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.silu %x : tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

// One of two results is not rounded.
// CHECK-NOT: = quick
// CHECK: = expf(
// CHECK-NOT: = quick
// CHECK-LABEL: === cancels
func.func private @stored_twice(%x: tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xbf16>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sigmoid %x : tensor<2048xf32>
  %1 = ait.convert %0 : tensor<2048xf32> -> tensor<2048xbf16>
  return %0, %1 : tensor<2048xf32>, tensor<2048xbf16>
}

// A difference may leave nothing but the error.
// CHECK-NOT: = quick
// CHECK: = expf(
// CHECK-NOT: = quick
// CHECK-LABEL: === rounded_before
func.func private @cancels(%x: tensor<2048xf32>, %y: tensor<2048xf32>) -> tensor<2048xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.exp %x : tensor<2048xf32>
  %1 = ait.sub %0, %y : tensor<2048xf32>
  %2 = ait.convert %1 : tensor<2048xf32> -> tensor<2048xbf16>
  return %2 : tensor<2048xbf16>
}

// One of 16 bits is of what is rounded.
// CHECK: quickExp(
// CHECK: to<bfloat>(
// CHECK-LABEL: === sums
func.func private @rounded_before(%x: tensor<2048xbf16>, %y: tensor<2048xbf16>) -> tensor<2048xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.exp %x : tensor<2048xbf16>
  %1 = ait.sub %0, %y : tensor<2048xbf16>
  return %1 : tensor<2048xbf16>
}

// CHECK-NOT: = quick
// CHECK: = expf(
// CHECK-NOT: = quick
// CHECK-LABEL: === codes
func.func private @sums(%x: tensor<8x4096xbf16>) -> tensor<8x1xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.exp %x : tensor<8x4096xbf16>
  %1 = ait.sum %0 {dims = array<i64: 1>} : tensor<8x4096xbf16> -> tensor<8x1xbf16>
  return %1 : tensor<8x1xbf16>
}

// The bits of codes are promised.
// CHECK-NOT: = quick
// CHECK: = expf(
// CHECK-NOT: = quick
func.func private @codes(%x: tensor<2048xf32>) -> tensor<2048xf8E4M3FN> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sigmoid %x : tensor<2048xf32>
  %1 = ait.convert %0 : tensor<2048xf32> -> tensor<2048xf8E4M3FN>
  return %1 : tensor<2048xf8E4M3FN>
}

// 1 is added to the error function and to the hyperbolic tangent of a GELU.
// CHECK-LABEL: === gelu: elementwise
// CHECK: [[SUM:v[0-9]+]] = quickErfPlusOne(
// CHECK-NEXT: [[SAME:v[0-9]+]] = [[SUM]];
// CHECK-NEXT: = roundedProduct({{.*}}[[SAME]]
func.func private @gelu(%x: tensor<2048xf16>, %y: tensor<2048xf16>) -> tensor<2048xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.gelu %x : tensor<2048xf16>
  %1 = ait.sub %0, %y : tensor<2048xf16>
  return %1 : tensor<2048xf16>
}

// CHECK-LABEL: === gelu_by_tangent: elementwise
// CHECK: [[SUM:v[0-9]+]] = quickTanhPlusOne(
// CHECK-NEXT: = [[SUM]];
func.func private @gelu_by_tangent(%x: tensor<2048xbf16>) -> tensor<2048xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.gelu %x {tanh_approximation} : tensor<2048xbf16>
  return %0 : tensor<2048xbf16>
}

// Not of one that has another use too.
// CHECK-LABEL: === erf_and_more: elementwise
// CHECK: = quickErf(
// CHECK: + 1.0f
func.func private @erf_and_more(%x: tensor<2048xf32>) -> tensor<2048xf16> attributes {ait.kind = #ait.kind<loop>} {
  %one = ait.full 1.0 : f32 : tensor<2048xf32>
  %0 = ait.erf %x : tensor<2048xf32>
  %1 = ait.add %0, %one : tensor<2048xf32>
  %2 = ait.mul %0, %1 : tensor<2048xf32>
  %3 = ait.convert %2 : tensor<2048xf32> -> tensor<2048xf16>
  return %3 : tensor<2048xf16>
}

// CHECK-LABEL: === gelu_in_float: elementwise
// CHECK-NOT: = quick
// CHECK: = erff(
// CHECK-NOT: = quick
// CHECK-LABEL: === quotient
func.func private @gelu_in_float(%x: tensor<2048xf32>) -> tensor<2048xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.gelu %x : tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

// Quotients of what is no exponential are exact.
// CHECK-NOT: = quick
func.func private @quotient(%x: tensor<2048xbf16>, %y: tensor<2048xbf16>) -> tensor<2048xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.div %x, %y : tensor<2048xbf16>
  return %0 : tensor<2048xbf16>
}
