// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1" -o /dev/null

// Extrema of integers are the prelude's functions, which are right for negated
// operands (prelude/Common.cuh).

// CHECK-LABEL: === least_of_negated
// CHECK: int [[A:a[0-9]+]] = 2147483647;
// CHECK-NOT: < [[A]] ?
// CHECK: minimum({{v[0-9]+}}, [[A]])
func.func private @least_of_negated(%x: tensor<7xi32>) -> tensor<1xi32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<7xi32>
  %1 = ait.amin %0 {dims = array<i64: 0>} : tensor<7xi32> -> tensor<1xi32>
  return %1 : tensor<1xi32>
}

// CHECK-LABEL: === greatest_of_rows
// CHECK: reduceGroup<Maximum
func.func private @greatest_of_rows(%x: tensor<8x4096xi16>) -> tensor<8x1xi16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<8x4096xi16>
  %1 = ait.amax %0 {dims = array<i64: 1>} : tensor<8x4096xi16> -> tensor<8x1xi16>
  return %1 : tensor<8x1xi16>
}

// CHECK-LABEL: === of_two
// CHECK: static_cast<short>(maximum(
func.func private @of_two(%x: tensor<64xi16>) -> tensor<64xi16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<64xi16>
  %1 = ait.maximum %0, %x : tensor<64xi16>
  return %1 : tensor<64xi16>
}
