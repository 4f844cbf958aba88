// Products of codes that are 8-bit floats on both sides.
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_80 quiet=1" -o /dev/null | FileCheck %s --check-prefix=AMPERE
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_89 compile=1 quiet=1 most=2" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=2" -o /dev/null

// Before Ada no tensor core multiplies them.
// Codes of both that are floats: sums of float32, by instructions of their own.
// CHECK-LABEL: === floats_of_both: wgmma
// CHECK: using Core = WgmmaCore<e4m3, 64, 128>
// CHECK: const Rows<e4m3> a{in0, 1024, m0, 256, 1024};
// CHECK: float *tile = multiplyTileByGroups<Core, 64, 128,
// CHECK: === floats_of_both: mma
// CHECK: MmaCore<e4m3,
// AMPERE-LABEL: === floats_of_both: dots
// AMPERE: === float_row: stream
func.func private @floats_of_both(%x: tensor<256x1024xf8E4M3FN>, %codes: tensor<1024x1024xf8E4M3FN> {ait.constant}, %row_scales: tensor<256x1xf32>, %scales: tensor<1024xf32> {ait.constant}) -> tensor<256x1024xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<256x1024xf8E4M3FN>, tensor<1024x1024xf8E4M3FN>) -> tensor<256x1024xf32>
  %1 = ait.expand %row_scales : tensor<256x1xf32> -> tensor<256x1024xf32>
  %2 = ait.mul %0, %1 : tensor<256x1024xf32>
  %3 = ait.expand %scales : tensor<1024xf32> -> tensor<256x1024xf32>
  %4 = ait.mul %2, %3 : tensor<256x1024xf32>
  %5 = ait.convert %4 : tensor<256x1024xf32> -> tensor<256x1024xbf16>
  return %5 : tensor<256x1024xbf16>
}

// Many rows: by blocks that stay.
// CHECK-LABEL: === many_floats: persistent 128x256, 4 stages
// CHECK: using Core = PersistentGroups<e4m3, 128, 256, 4>;
// CHECK: === many_floats: wgmma 128x256, 4 stages, packed
func.func private @many_floats(%x: tensor<4096x2048xf8E4M3FN>, %codes: tensor<4096x2048xf8E4M3FN> {ait.constant}) -> tensor<4096x4096xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<4096x2048xf8E4M3FN>, tensor<4096x2048xf8E4M3FN>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// One row of them: streamed, widened to halves, exactly; or as they are.
// CHECK-LABEL: === float_row: stream 1x16
// CHECK: const Rows<e4m3> a{in0, 0, m0, 1, 4096};
// CHECK: multiplyCodeStream<half, e4m3, 1, 16, {{.*}}>(a, b,
// CHECK: === float_row: mma 16x
// CHECK: MmaCore<e4m3, 16,
// CHECK: === float_row: dots
// CHECK: toFloat(
func.func private @float_row(%x: tensor<1x4096xf8E4M3FN>, %codes: tensor<1024x4096xf8E4M3FN> {ait.constant}) -> tensor<1x1024xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<1x4096xf8E4M3FN>, tensor<1024x4096xf8E4M3FN>) -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}

// Codes of a tensor whose scale is known: converted where they are stored.
// CHECK-LABEL: === float_codes:
// CHECK: saturatedTo<e4m3>(
func.func private @float_codes(%x: tensor<64x1024xbf16>, %scale: tensor<64x1xf32>) -> tensor<64x1024xf8E4M3FN> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<64x1024xbf16> -> tensor<64x1024xf32>
  %1 = ait.expand %scale : tensor<64x1xf32> -> tensor<64x1024xf32>
  %2 = ait.div %0, %1 : tensor<64x1024xf32>
  %3 = ait.clamp %2 {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64} : tensor<64x1024xf32>
  %4 = ait.convert %3 : tensor<64x1024xf32> -> tensor<64x1024xf8E4M3FN>
  return %4 : tensor<64x1024xf8E4M3FN>
}

// One scale for all tokens, which the kernel before computes, is read behind the
// wait for that, once for all tiles.
// CHECK-LABEL: === float_tensor: persistent
// CHECK: groups.startToMultiply();
// CHECK-NEXT: const float [[TOKENS:x[0-9]+]] = in2[0];
// CHECK-NEXT: const float [[WEIGHT:x[0-9]+]] = in3[0];
// CHECK-NEXT: for (int at = blockIdx.x;
// CHECK: roundedProduct({{.*}}, [[TOKENS]]);
func.func private @float_tensor(%x: tensor<1024x2048xf8E4M3FN>, %codes: tensor<4096x2048xf8E4M3FN> {ait.constant}, %scale: tensor<1x1xf32>, %scales: tensor<1xf32> {ait.constant}) -> tensor<1024x4096xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %codes {transpose_rhs} : (tensor<1024x2048xf8E4M3FN>, tensor<4096x2048xf8E4M3FN>) -> tensor<1024x4096xf32>
  %1 = ait.expand %scale : tensor<1x1xf32> -> tensor<1024x4096xf32>
  %2 = ait.mul %0, %1 : tensor<1024x4096xf32>
  %3 = ait.expand %scales : tensor<1xf32> -> tensor<1024x4096xf32>
  %4 = ait.mul %2, %3 : tensor<1024x4096xf32>
  %5 = ait.convert %4 : tensor<1024x4096xf32> -> tensor<1024x4096xbf16>
  return %5 : tensor<1024x4096xbf16>
}
