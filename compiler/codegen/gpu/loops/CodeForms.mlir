// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-kernel-to-linalg --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1" -o /dev/null

// Quotients by a row's scale that become codes of 8-bit floats have a form of
// their own, and clamps to the greatest code are what the conversion does.
// CHECK-LABEL: === of_rows: elementwise
// CHECK: [[QUOTIENT:v[0-9]+]] = codeQuotient<1>(
// CHECK-NEXT: [[LEAST:v[0-9]+]] = [[QUOTIENT]];
// CHECK-NEXT: [[MOST:v[0-9]+]] = [[LEAST]];
// CHECK-NEXT: saturatedTo<e4m3>([[MOST]]);
func.func private @of_rows(%x: tensor<64x32xbf16>, %scale: tensor<64x1xf32>) -> tensor<64x32xf8E4M3FN> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<64x32xbf16> -> tensor<64x32xf32>
  %1 = ait.expand %scale : tensor<64x1xf32> -> tensor<64x32xf32>
  %2 = ait.div %0, %1 : tensor<64x32xf32>
  %3 = ait.clamp %2 {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64} : tensor<64x32xf32>
  %4 = ait.convert %3 : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
  return %4 : tensor<64x32xf8E4M3FN>
}

// A dividend of 24 bits needs two corrections.
// CHECK-LABEL: === of_wide_rows: elementwise
// CHECK: codeQuotient<2>(
func.func private @of_wide_rows(%x: tensor<64x32xf32>, %scale: tensor<f32>) -> tensor<64x32xf8E4M3FN> attributes {ait.kind = #ait.kind<loop>} {
  %1 = ait.expand %scale : tensor<f32> -> tensor<64x32xf32>
  %2 = ait.div %x, %1 : tensor<64x32xf32>
  %4 = ait.convert %2 : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
  return %4 : tensor<64x32xf8E4M3FN>
}

// A scale of columns has a reciprocal for each.
// CHECK-LABEL: === of_columns: elementwise
// CHECK: {{[vx][0-9]+}} / {{[vx][0-9]+}};
// CHECK: saturatedTo<e4m3>(
func.func private @of_columns(%x: tensor<64x32xbf16>, %scale: tensor<1x32xf32>) -> tensor<64x32xf8E4M3FN> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<64x32xbf16> -> tensor<64x32xf32>
  %1 = ait.expand %scale : tensor<1x32xf32> -> tensor<64x32xf32>
  %2 = ait.div %0, %1 : tensor<64x32xf32>
  %3 = ait.clamp %2 {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64} : tensor<64x32xf32>
  %4 = ait.convert %3 : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
  return %4 : tensor<64x32xf8E4M3FN>
}

// Neither the quotient nor the clamp is of codes alone here: the quotient is a
// result, the clamp is wider, and the second one is read by others.
// CHECK-LABEL: === of_others: elementwise
// CHECK: {{[vx][0-9]+}} / {{[vx][0-9]+}};
// CHECK: = maximum({{v[0-9]+}}, (-448.0f));
// CHECK: = minimum({{v[0-9]+}}, 1000.0f);
// CHECK: = to<e4m3>(
// CHECK-LABEL: === of_clamped: elementwise
// CHECK: = maximum({{[vx][0-9]+}}, (-448.0f));
// CHECK: = minimum({{v[0-9]+}}, 448.0f);
// CHECK: = saturatedTo<e4m3>(
func.func private @of_others(%x: tensor<64x32xf32>, %scale: tensor<64x1xf32>) -> (tensor<64x32xf32>, tensor<64x32xf8E4M3FN>) attributes {ait.kind = #ait.kind<loop>} {
  %1 = ait.expand %scale : tensor<64x1xf32> -> tensor<64x32xf32>
  %2 = ait.div %x, %1 : tensor<64x32xf32>
  %3 = ait.clamp %2 {max = 1.000000e+03 : f64, min = -4.480000e+02 : f64} : tensor<64x32xf32>
  %4 = ait.convert %3 : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
  return %2, %4 : tensor<64x32xf32>, tensor<64x32xf8E4M3FN>
}
func.func private @of_clamped(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf8E4M3FN>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.clamp %x {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64} : tensor<64x32xf32>
  %1 = ait.convert %0 : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
  return %0, %1 : tensor<64x32xf32>, tensor<64x32xf8E4M3FN>
}
