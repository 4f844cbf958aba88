// RUN: aitune-opt %s -ait-promote-kernel-arithmetic -split-input-file | FileCheck %s
// RUN: aitune-opt %s -ait-promote-kernel-arithmetic=emulate-eager-casts=true -split-input-file \
// RUN:   | FileCheck %s --check-prefix=EAGER

// The matmul reads bf16 and gives f32; the epilogue computes in f32; one
// rounding at the end.
// CHECK-LABEL: func.func private @matmul
// CHECK:         %[[M:.*]] = ait.matmul %{{.*}} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
// CHECK:         %[[B:.*]] = ait.expand %{{.*}} : tensor<16xbf16> -> tensor<4x16xbf16>
// CHECK:         %[[BW:.*]] = ait.convert %[[B]] : tensor<4x16xbf16> -> tensor<4x16xf32>
// CHECK:         %[[A:.*]] = ait.add %[[M]], %[[BW]] : tensor<4x16xf32>
// CHECK:         %[[R:.*]] = ait.relu %[[A]] : tensor<4x16xf32>
// CHECK:         %[[N:.*]] = ait.convert %[[R]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK:         return %[[N]]
// EAGER-LABEL: func.func private @matmul
// EAGER:         ait.matmul
// EAGER-NEXT:    ait.convert %{{.*}} -> tensor<4x16xbf16>
// EAGER-NEXT:    ait.convert %{{.*}} -> tensor<4x16xf32>
// EAGER:         ait.add
// EAGER-NEXT:    ait.convert %{{.*}} -> tensor<4x16xbf16>
func.func private @matmul(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<4x16xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %1 = ait.expand %b : tensor<16xbf16> -> tensor<4x16xbf16>
  %2 = ait.add %0, %1 : tensor<4x16xbf16>
  %3 = ait.relu %2 : tensor<4x16xbf16>
  return %3 : tensor<4x16xbf16>
}

// -----

// Data that is only moved stays narrow.
// CHECK-LABEL: func.func private @move
// CHECK-NOT:     f32
func.func private @move(%x: tensor<4x8xf16>) -> tensor<8x4xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<4x8xf16> -> tensor<8x4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

// Conversions to and from f32 are the change of form, and vanish.
// CHECK-LABEL: func.func private @conversions
// CHECK:         %[[W:.*]] = ait.convert %{{.*}} : tensor<4xf16> -> tensor<4xf32>
// CHECK:         %[[E:.*]] = ait.exp %[[W]] : tensor<4xf32>
// CHECK:         %[[N:.*]] = ait.convert %[[E]] : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT:    return %[[N]]
func.func private @conversions(%x: tensor<4xf16>) -> tensor<4xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<4xf16> -> tensor<4xf32>
  %1 = ait.exp %0 : tensor<4xf32>
  %2 = ait.convert %1 : tensor<4xf32> -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// A conversion that the model itself makes rounds, also when f32 arithmetic
// follows.
// CHECK-LABEL: func.func private @rounded
// CHECK:         %[[N:.*]] = ait.convert %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[W:.*]] = ait.convert %[[N]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         ait.add %[[W]], %[[W]] : tensor<4xf32>
func.func private @rounded(%x: tensor<4xf32>) -> tensor<4xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
  %1 = ait.add %0, %0 : tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// -----

// So does one of what the kernel computed, in either direction: by way of f32
// from other types.
// CHECK-LABEL: func.func private @stored
// CHECK:         %[[SUM:.*]] = ait.add %{{.*}} : tensor<4xf32>
// CHECK:         %[[ROUNDED:.*]] = ait.convert %[[SUM]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[WIDE:.*]] = ait.convert %[[ROUNDED]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         %[[F:.*]] = ait.convert %{{.*}} : tensor<4xi64> -> tensor<4xf32>
// CHECK:         %[[N:.*]] = ait.convert %[[F]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[NW:.*]] = ait.convert %[[N]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         ait.exp %[[WIDE]] : tensor<4xf32>
// CHECK:         ait.exp %[[NW]] : tensor<4xf32>
func.func private @stored(%x: tensor<4xbf16>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xbf16>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.add %x, %x : tensor<4xbf16>
  %1 = ait.convert %0 {ait.rounds} : tensor<4xbf16> -> tensor<4xf32>
  %2 = ait.convert %i {ait.rounds} : tensor<4xi64> -> tensor<4xbf16>
  %3 = ait.exp %1 : tensor<4xf32>
  %4 = ait.exp %2 : tensor<4xbf16>
  return %3, %4 : tensor<4xf32>, tensor<4xbf16>
}

// -----

// Positions are those that are stored; what divides is rounded for all that
// read it.
// CHECK-LABEL: func.func private @positions
// CHECK:         %[[I:.*]] = ait.iota {{.*}} : tensor<4xf32>
// CHECK:         %[[N:.*]] = ait.convert %[[I]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[W:.*]] = ait.convert %[[N]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         %[[P:.*]] = ait.mul %[[W]], %[[W]] : tensor<4xf32>
// CHECK:         %[[Q:.*]] = ait.convert %[[P]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[R:.*]] = ait.convert %[[Q]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         ait.div %[[R]], %[[R]] : tensor<4xf32>
func.func private @positions() -> tensor<4xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.iota {dim = 0 : i64, start = 0.0 : f64, step = 1.0 : f64} : tensor<4xbf16>
  %1 = ait.mul %0, %0 : tensor<4xbf16>
  %2 = ait.div %1, %1 : tensor<4xbf16>
  return %2 : tensor<4xbf16>
}

// -----

// CHECK-LABEL: func.func private @not_rounded
// CHECK-NOT:     bf16{{.*}} -> tensor<4xf32>
// CHECK:         ait.add %{{.*}} : tensor<4xf32>
func.func private @not_rounded(%x: tensor<4xf32>) -> tensor<4xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = ait.add %0, %0 : tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// -----

// Comparisons read wide operands; their boolean result is what it was.
// CHECK-LABEL: func.func private @compare
// CHECK:         ait.gt %{{.*}}, %{{.*}} : tensor<4xf32> -> tensor<4xi1>
func.func private @compare(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xi1> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.gt %x, %y : tensor<4xbf16> -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// f32 kernels and functions that are no kernels are left alone.
// CHECK-LABEL: func.func @main
// CHECK:         ait.relu %{{.*}} : tensor<4xbf16>
func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = ait.relu %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// Nearest neighbours are copies: they stay as they are in memory.
// CHECK-LABEL: func.func private @upsample
// CHECK-NEXT:    %[[U:.*]] = ait.upsample_nearest2d %{{.*}} -> tensor<1x4x4x2xbf16>
// CHECK-NEXT:    return %[[U]]
func.func private @upsample(%x: tensor<1x2x2x2xbf16>) -> tensor<1x4x4x2xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.upsample_nearest2d %x {scale_h = 0.5 : f64, scale_w = 0.5 : f64, channels_last} : tensor<1x2x2x2xbf16> -> tensor<1x4x4x2xbf16>
  return %0 : tensor<1x4x4x2xbf16>
}

// -----

// asin(x + y) is NaN just above 1, where eager has the sum rounded to 1. What
// was loaded is rounded, and a number is none of the tensor's.
// CHECK-LABEL: func.func private @limited_domain
// CHECK:         %[[SUM:.*]] = ait.add %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK:         %[[ROUNDED:.*]] = ait.convert %[[SUM]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[WIDE:.*]] = ait.convert %[[ROUNDED]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         %[[ASIN:.*]] = ait.asin %[[WIDE]] : tensor<4xf32>
// CHECK-NOT:     ait.rounds
// CHECK:         ait.pow %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK-NOT:     ait.rounds
func.func private @limited_domain(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.add %x, %y : tensor<4xbf16>
  %1 = ait.asin %0 : tensor<4xbf16>
  %2 = ait.full 0.1 : bf16 : tensor<4xbf16>
  %3 = ait.pow %x, %2 : tensor<4xbf16>
  return %1, %3 : tensor<4xbf16>, tensor<4xbf16>
}

// -----

// An ulp of bf16 at 80 is 0.5, which is a factor of the exponential.
// CHECK-LABEL: func.func private @large_exponents
// CHECK:         %[[SUM:.*]] = ait.add %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK:         %[[ROUNDED:.*]] = ait.convert %[[SUM]] {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[WIDE:.*]] = ait.convert %[[ROUNDED]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         ait.exp %[[WIDE]] : tensor<4xf32>
func.func private @large_exponents(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.add %x, %y : tensor<4xbf16>
  %1 = ait.exp %0 : tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// -----

// Whether a product is infinite, and whether a root has a value, is as for the
// rounded operand.
// CHECK-LABEL: func.func private @bounds_of_rounded_operands
// CHECK:         %[[PRODUCT:.*]] = ait.mul %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK:         %[[ROUNDED:.*]] = ait.convert %[[PRODUCT]] {ait.rounds} : tensor<4xf32> -> tensor<4xf16>
// CHECK:         %[[WIDE:.*]] = ait.convert %[[ROUNDED]] : tensor<4xf16> -> tensor<4xf32>
// CHECK:         ait.isinf %[[WIDE]]
// CHECK:         ait.sqrt %[[WIDE]]
func.func private @bounds_of_rounded_operands(%x: tensor<4xf16>) -> (tensor<4xi1>, tensor<4xf16>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mul %x, %x : tensor<4xf16>
  %1 = ait.isinf %0 : tensor<4xf16> -> tensor<4xi1>
  %2 = ait.sqrt %0 : tensor<4xf16>
  return %1, %2 : tensor<4xi1>, tensor<4xf16>
}
