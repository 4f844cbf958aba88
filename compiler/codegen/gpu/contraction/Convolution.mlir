// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1 most=3" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_100 compile=1 quiet=1 most=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-gpu-print-cuda="target=sm_120 compile=1 quiet=1 most=1" -o /dev/null

#in = affine_map<()[s0] -> (s0, 28, 28, 64)>
#out = affine_map<()[s0] -> (s0, 14, 14, 128)>
#clip = affine_map<()[s0] -> (s0, 8, 28, 30, 64)>
#clipped = affine_map<()[s0] -> (s0, 4, 28, 15, 128)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// Windows of the image are rows of A; the filter is packed channels-last.
// CHECK-LABEL: === three: wgmma
// CHECK: const Windows<half, 3, 3> a{in0, 50176, 1792, 64, m0, s0 * 196, 14, 14, 28, 28, 64, 2, 2, 1, 1, 1, 1};
// CHECK-NEXT: const Rows<half> b{in1, 576, n0, 128, 576};
// CHECK: maximum(
func.func private @three(%x: tensor<?x28x28x64xf16, #in>, %filter: tensor<128x64x3x3xf16> {ait.constant}, %bias: tensor<128xf16> {ait.constant}) -> tensor<?x14x14x128xf16, #out> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x28x28x64xf16, #in>, tensor<128x64x3x3xf16>) -> tensor<?x14x14x128xf16, #out>
  %1 = ait.expand %bias : tensor<128xf16> -> tensor<?x14x14x128xf16, #out>
  %2 = ait.add %0, %1 : tensor<?x14x14x128xf16, #out>
  %3 = ait.relu %2 : tensor<?x14x14x128xf16, #out>
  return %3 : tensor<?x14x14x128xf16, #out>
}

// Windows of volumes have a depth.
// CHECK-LABEL: === volumes: wgmma
// CHECK: const VolumeWindows<half, 3, 1, 2> a{in0, {430080, 53760, 1920, 64}, m0, s0 * 1680, {4, 28, 15}, {8, 28, 30}, 64, {2, 1, 2}, {1, 0, 0}, {1, 1, 1}};
// CHECK-NEXT: const Rows<half> b{in1, 384, n0, 128, 384};
func.func private @volumes(%x: tensor<?x8x28x30x64xf16, #clip>, %filter: tensor<128x64x3x1x2xf16> {ait.constant}) -> tensor<?x4x28x15x128xf16, #clipped> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1, 1>, groups = 1 : i64, padding = array<i64: 1, 0, 0>, stride = array<i64: 2, 1, 2>} : (tensor<?x8x28x30x64xf16, #clip>, tensor<128x64x3x1x2xf16>) -> tensor<?x4x28x15x128xf16, #clipped>
  return %0 : tensor<?x4x28x15x128xf16, #clipped>
}

// So is a window of one of their pixels a matmul.
// CHECK-LABEL: === one_of_volumes: {{(wg)?}}mma
// CHECK: const Rows<half> a{in0, 64, m0, s0 * 6720, 64};
func.func private @one_of_volumes(%x: tensor<?x8x28x30x64xf16, #clip>, %filter: tensor<64x64x1x1x1xf16> {ait.constant}) -> tensor<?x8x28x30x64xf16, #clip> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0>, stride = array<i64: 1, 1, 1>} : (tensor<?x8x28x30x64xf16, #clip>, tensor<64x64x1x1x1xf16>) -> tensor<?x8x28x30x64xf16, #clip>
  return %0 : tensor<?x8x28x30x64xf16, #clip>
}

// Depthwise ones are loops.
// CHECK-LABEL: === depthwise_of_volumes: loops
func.func private @depthwise_of_volumes(%x: tensor<?x8x28x30x64xf16, #clip>, %filter: tensor<64x1x3x3x3xf16> {ait.constant}) -> tensor<?x8x28x30x64xf16, #clip> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1, 1>, groups = 64 : i64, padding = array<i64: 1, 1, 1>, stride = array<i64: 1, 1, 1>} : (tensor<?x8x28x30x64xf16, #clip>, tensor<64x1x3x3x3xf16>) -> tensor<?x8x28x30x64xf16, #clip>
  return %0 : tensor<?x8x28x30x64xf16, #clip>
}

// A window of one pixel is a matmul.
// CHECK-LABEL: === one: mma
// CHECK: const Rows<half> a{in0, 64, m0, 3136, 64};
// CHECK-NEXT: const Rows<half> b{in1, 64, n0, 256, 64};
func.func private @one(%x: tensor<1x56x56x64xf16>, %filter: tensor<256x64x1x1xf16> {ait.constant}, %y: tensor<1x56x56x256xf16>) -> tensor<1x56x56x256xf16> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x56x56x64xf16>, tensor<256x64x1x1xf16>) -> tensor<1x56x56x256xf16>
  %1 = ait.add %0, %y : tensor<1x56x56x256xf16>
  return %1 : tensor<1x56x56x256xf16>
}

// One pixel of the result.
// CHECK-LABEL: === pixel: mma
func.func private @pixel(%x: tensor<1x1x1x72xf16>, %filter: tensor<24x72x1x1xf16> {ait.constant}) -> tensor<1x1x1x24xf16> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x1x1x72xf16>, tensor<24x72x1x1xf16>) -> tensor<1x1x1x24xf16>
  return %0 : tensor<1x1x1x24xf16>
}

// Depthwise: packs of channels, the filter packed likewise.
// CHECK-LABEL: === depthwise: loops: elementwise
// CHECK: for (Index {{r[0-9]+}} = 0; {{r[0-9]+}} < 5;
// CHECK: load<{{[248]}}>(in0 +
// CHECK: load<{{[248]}}>(in1 +
func.func private @depthwise(%x: tensor<1x56x56x72xf16>, %filter: tensor<72x1x5x5xf16> {ait.constant}, %bias: tensor<72xf16>) -> tensor<1x28x28x72xf16> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 72 : i64, padding = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<1x56x56x72xf16>, tensor<72x1x5x5xf16>) -> tensor<1x28x28x72xf16>
  %1 = ait.expand %bias : tensor<72xf16> -> tensor<1x28x28x72xf16>
  %2 = ait.add %0, %1 : tensor<1x28x28x72xf16>
  %3 = ait.hardswish %2 : tensor<1x28x28x72xf16>
  return %3 : tensor<1x28x28x72xf16>
}

// Three channels, and channels first in two groups.
// CHECK-LABEL: === few: loops
func.func private @few(%x: tensor<1x32x32x3xf16>, %filter: tensor<16x3x3x3xf16> {ait.constant}) -> tensor<1x16x16x16xf16> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<1x32x32x3xf16>, tensor<16x3x3x3xf16>) -> tensor<1x16x16x16xf16>
  return %0 : tensor<1x16x16x16xf16>
}
// Three channels of images of any height: rows end where the image does.
// CHECK-LABEL: === tall: loops
// CHECK: if ({{.*}} >= 0 && {{.*}} < s0 && {{.*}} >= 0) {
func.func private @tall(%x: tensor<1x?x32x3xf16, affine_map<()[s0] -> (1, s0, 32, 3)>>, %filter: tensor<16x3x3x3xf16> {ait.constant}) -> tensor<1x?x16x16xf16, affine_map<()[s0] -> (1, (s0 + 1) floordiv 2, 16, 16)>> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {channels_last, dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<1x?x32x3xf16, affine_map<()[s0] -> (1, s0, 32, 3)>>, tensor<16x3x3x3xf16>) -> tensor<1x?x16x16xf16, affine_map<()[s0] -> (1, (s0 + 1) floordiv 2, 16, 16)>>
  return %0 : tensor<1x?x16x16xf16, affine_map<()[s0] -> (1, (s0 + 1) floordiv 2, 16, 16)>>
}
// CHECK-LABEL: === grouped: loops
func.func private @grouped(%x: tensor<2x8x16x16xf32>, %filter: tensor<12x4x3x3xf32>) -> tensor<2x12x14x14xf32> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %filter {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<2x8x16x16xf32>, tensor<12x4x3x3xf32>) -> tensor<2x12x14x14xf32>
  return %0 : tensor<2x12x14x14xf32>
}
}
