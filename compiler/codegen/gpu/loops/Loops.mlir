// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda -o /dev/null | FileCheck %s
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_80 compile=1 quiet=1 most=2" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_90 compile=1 quiet=1" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_100 compile=1 quiet=1 most=2" -o /dev/null
// RUN: aitune-opt %s --ait-promote-kernel-arithmetic --canonicalize --ait-lower-to-linalg --ait-gpu-print-cuda="target=sm_120 compile=1 quiet=1 most=2" -o /dev/null

#batch = affine_map<()[s0] -> (s0, 4096)>
#odd = affine_map<()[s0] -> (s0 mod 2)>
#whole = affine_map<()[s0] -> (1, 4, s0, s0)>
#half = affine_map<()[s0] -> (1, 4, s0 floordiv 2, s0 floordiv 2)>

module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 32 : i64, input = 0 : i64, axis = 0 : i64}]} {

// A row of 1024 is read once, 16 bytes a thread, and kept in registers.
// CHECK-LABEL: === rms_norm: rows, 1 x 128 threads, packs of 8
// CHECK-NEXT: launch symbol: "rms_norm" grid_x { value: 128 } block_x: 128 programmatic: true
// CHECK: __launch_bounds__(128) rms_norm(const bfloat *in0, const bfloat *in1, bfloat *out0, long long symbol0, int nextWaits)
// CHECK: launchNext(nextWaits);
// CHECK-NEXT: waitForPrevious();
// CHECK: Pack<bfloat, 8> [[X:x[0-9]+]][1];
// CHECK: [[X]][c] = load<8>(in0 + row * 1024 + i);
// CHECK: toFloat([[X]][c][j])
// CHECK: reduceGroup<Sum, 128>
// CHECK-NOT: load<8>(in0
// CHECK: store(out0 + row * 1024 + i
func.func private @rms_norm(%x: tensor<1x128x1024xbf16>, %weight: tensor<1024xbf16>) -> tensor<1x128x1024xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mul %x, %x : tensor<1x128x1024xbf16>
  %1 = ait.mean %0 {dims = array<i64: 2>} : tensor<1x128x1024xbf16> -> tensor<1x128x1xbf16>
  %2 = ait.rsqrt %1 : tensor<1x128x1xbf16>
  %3 = ait.expand %2 : tensor<1x128x1xbf16> -> tensor<1x128x1024xbf16>
  %4 = ait.mul %x, %3 : tensor<1x128x1024xbf16>
  %5 = ait.expand %weight : tensor<1024xbf16> -> tensor<1x128x1024xbf16>
  %6 = ait.mul %4, %5 : tensor<1x128x1024xbf16>
  return %6 : tensor<1x128x1024xbf16>
}

// What is subtracted from a product is not fused with it: the mean of one
// product is that product.
// CHECK-LABEL: === centred:
// CHECK: roundedProduct([[X:x[0-9]+]][c][j], [[Y:x[0-9]+]][c][j]);
// CHECK: reduceGroup<Sum
// CHECK: const float [[PRODUCT:v[0-9]+]] = roundedProduct([[X]][c][j], [[Y]][c][j]);
// CHECK-NEXT: = [[PRODUCT]] - {{v[0-9]+}};
func.func private @centred(%x: tensor<8x1024xf32>, %y: tensor<8x1024xf32>) -> tensor<8x1024xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mul %x, %y : tensor<8x1024xf32>
  %1 = ait.mean %0 {dims = array<i64: 1>} : tensor<8x1024xf32> -> tensor<8x1xf32>
  %2 = ait.expand %1 : tensor<8x1xf32> -> tensor<8x1024xf32>
  %3 = ait.sub %0, %2 : tensor<8x1024xf32>
  return %3 : tensor<8x1024xf32>
}

// One factor lies along the reduced axis, but nearly all elements that are read
// lie across it.
// CHECK-LABEL: === weighted_sum: columns
// CHECK: load<4>(in1
func.func private @weighted_sum(%x: tensor<8x256x1xf16>, %y: tensor<8x256x64xf16>) -> tensor<8x1x64xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.expand %x : tensor<8x256x1xf16> -> tensor<8x256x64xf16>
  %1 = ait.mul %0, %y : tensor<8x256x64xf16>
  %2 = ait.sum %1 {dims = array<i64: 1>} : tensor<8x256x64xf16> -> tensor<8x1x64xf16>
  return %2 : tensor<8x1x64xf16>
}

// Two results, a dynamic batch, and a bias that is read as packs.
// CHECK-LABEL: === add_relu: elementwise
// CHECK: grid_x { kind: MULTIPLY operands { kind: SYMBOL }
// CHECK: const Index s0 = static_cast<Index>(symbol0);
// CHECK: store(out0
// CHECK: store(out1
func.func private @add_relu(%x: tensor<?x4096xf16, #batch>, %bias: tensor<4096xf16>) -> (tensor<?x4096xf16, #batch>, tensor<?x4096xf16, #batch>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.expand %bias : tensor<4096xf16> -> tensor<?x4096xf16, #batch>
  %1 = ait.add %x, %0 : tensor<?x4096xf16, #batch>
  %2 = ait.relu %1 : tensor<?x4096xf16, #batch>
  return %1, %2 : tensor<?x4096xf16, #batch>, tensor<?x4096xf16, #batch>
}

// An index out of range is told by a parameter before the symbols, and the row
// is one of the table's all the same.
// CHECK-LABEL: === embedding: elementwise
// CHECK: embedding(const float *in0, const long long *in1, float *out0, long long *checks, long long symbol0,
// CHECK: if ([[BAD:v[0-9]+]])
// CHECK-NEXT: reportFailure(checks, 0, {{[xv][0-9]+}});
// CHECK: in0
func.func private @embedding(%w: tensor<100x64xf32>, %i: tensor<300xi64>) -> tensor<300x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.check %i {size = affine_map<()[] -> (100)>, operator_name = "aten::embedding", number = 0 : i64} : tensor<300xi64>
  %1 = ait.embedding %w, %0 : (tensor<100x64xf32>, tensor<300xi64>) -> tensor<300x64xf32>
  return %1 : tensor<300x64xf32>
}

// No parameter where nothing is reported.
// CHECK-LABEL: === unchecked: elementwise
// CHECK: unchecked(const float *in0, const long long *in1, float *out0, long long symbol0,
// CHECK-NOT: reportFailure
func.func private @unchecked(%w: tensor<100x64xf32>, %i: tensor<300xi64>) -> tensor<300x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.check %i {size = affine_map<()[] -> (100)>, silent, operator_name = "aten::embedding", number = 0 : i64} : tensor<300xi64>
  %1 = ait.embedding %w, %0 : (tensor<100x64xf32>, tensor<300xi64>) -> tensor<300x64xf32>
  return %1 : tensor<300x64xf32>
}

// The mean over the spatial axes of a channels-last tensor.
// CHECK-LABEL: === mean: columns
// CHECK: reduceColumn<Sum
func.func private @mean(%x: tensor<1x28x28x72xf16>) -> tensor<1x1x1x72xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mean %x {dims = array<i64: 1, 2>} : tensor<1x28x28x72xf16> -> tensor<1x1x1x72xf16>
  return %0 : tensor<1x1x1x72xf16>
}

// A pool's window: accumulators of every lane, whole packs in the loops.
// CHECK-LABEL: === max_pool: elementwise
// CHECK: a0[j] = __int_as_float(0xff800000);
// CHECK: for (Index {{r[0-9]+}} = 0;
// CHECK: load<{{[248]}}>(in0
func.func private @max_pool(%x: tensor<8x112x112x64xf16>) -> tensor<8x56x56x64xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.max_pool2d %x {channels_last, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : tensor<8x112x112x64xf16> -> tensor<8x56x56x64xf16>
  return %0 : tensor<8x56x56x64xf16>
}

// Sizes that are quotients: what divides by their product is in parentheses.
// CHECK-LABEL: === halves: elementwise
// CHECK: / ((s0 / 2) * (s0 / 2));
func.func private @halves(%x: tensor<1x4x?x?xf32, #whole>) -> tensor<1x4x?x?xf32, #half> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.max_pool2d %x {dilation = array<i64: 1, 1>, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : tensor<1x4x?x?xf32, #whole> -> tensor<1x4x?x?xf32, #half>
  return %0 : tensor<1x4x?x?xf32, #half>
}

// CHECK-LABEL: === argmax
func.func private @argmax(%x: tensor<4x100xf32>) -> tensor<4x1xi64> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.argmax %x {dims = array<i64: 1>} : tensor<4x100xf32> -> tensor<4x1xi64>
  return %0 : tensor<4x1xi64>
}

// CHECK-LABEL: === cumsum
func.func private @cumsum(%x: tensor<4x100xi64>) -> tensor<4x100xi64> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.cumsum %x {dim = 1 : i64} : tensor<4x100xi64> -> tensor<4x100xi64>
  return %0 : tensor<4x100xi64>
}

// Reductions over no elements, and rows without any.
// CHECK-LABEL: === empty_rows
func.func private @empty_rows(%x: tensor<4x0xf32>) -> tensor<4x1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sum %x {dims = array<i64: 1>} : tensor<4x0xf32> -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: === empty_columns
func.func private @empty_columns(%x: tensor<0x64xf32>) -> tensor<1x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sum %x {dims = array<i64: 0>} : tensor<0x64xf32> -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// CHECK-LABEL: === columns_of_nothing
func.func private @columns_of_nothing(%x: tensor<64x0xf32>) -> tensor<1x0xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sum %x {dims = array<i64: 0>} : tensor<64x0xf32> -> tensor<1x0xf32>
  return %0 : tensor<1x0xf32>
}

// Tiles of 16 x 16: a block reads and writes whole sectors of memory.
// CHECK-LABEL: === channels_first: elementwise, 256 x 1 threads, packs of 1
// CHECK: = {{.*}} % 16;
func.func private @channels_first(%x: tensor<8x3200x384xf16>) -> tensor<8x384x3200xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1>} : tensor<8x3200x384xf16> -> tensor<8x384x3200xf16>
  return %0 : tensor<8x384x3200xf16>
}

// Rows of an image are short: a tile is 16 channels of a row.
// CHECK-LABEL: === image_channels_first
func.func private @image_channels_first(%x: tensor<8x28x28x512xf16>) -> tensor<8x512x28x28xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<8x28x28x512xf16> -> tensor<8x512x28x28xf16>
  return %0 : tensor<8x512x28x28xf16>
}

// An output without elements beside one that has some: two launches, as no
// thread would compute the second for the first.
// CHECK-LABEL: === empty_beside_product
// CHECK: launch {{.*}} grid_x { }
// CHECK: launch {{.*}} grid_x { value: 1 }
func.func private @empty_beside_product(%x: tensor<0xf32>) -> (tensor<0xf32>, tensor<1xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<0xf32>
  %1 = ait.prod %0 {dims = array<i64: 0>} : tensor<0xf32> -> tensor<1xf32>
  return %0, %1 : tensor<0xf32>, tensor<1xf32>
}

// CHECK-LABEL: === empty_softmax
func.func private @empty_softmax(%x: tensor<4x0xf32>) -> tensor<4x0xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.amax %x {dims = array<i64: 1>} : tensor<4x0xf32> -> tensor<4x1xf32>
  %1 = ait.expand %0 : tensor<4x1xf32> -> tensor<4x0xf32>
  %2 = ait.sub %x, %1 : tensor<4x0xf32>
  return %2 : tensor<4x0xf32>
}

// Rows with a softmax of their own: a warp and less for a row.
// CHECK-LABEL: === softmax: rows
// CHECK: reduceGroup<Maximum
// CHECK: reduceGroup<Sum
func.func private @softmax(%x: tensor<64x128xf16>) -> tensor<64x128xf16> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.amax %x {dims = array<i64: 1>} : tensor<64x128xf16> -> tensor<64x1xf16>
  %1 = ait.expand %0 : tensor<64x1xf16> -> tensor<64x128xf16>
  %2 = ait.sub %x, %1 : tensor<64x128xf16>
  %3 = ait.exp %2 : tensor<64x128xf16>
  %4 = ait.sum %3 {dims = array<i64: 1>} : tensor<64x128xf16> -> tensor<64x1xf16>
  %5 = ait.expand %4 : tensor<64x1xf16> -> tensor<64x128xf16>
  %6 = ait.div %3, %5 : tensor<64x128xf16>
  return %6 : tensor<64x128xf16>
}
// A row's scale and its codes. The scale is stored once a row, so that it does
// not shorten the packs of codes.
// CHECK-LABEL: === codes: rows, 1 x 128 threads, packs of 8
// CHECK: = load<8>(in0 + row * 1024 + i);
// CHECK: Pack<signed char, 8>
func.func private @codes(%x: tensor<4096x1024xbf16>) -> (tensor<4096x1024xi8>, tensor<4096x1xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<4096x1024xbf16> -> tensor<4096x1024xf32>
  %1 = ait.abs %0 : tensor<4096x1024xf32>
  %2 = ait.amax %1 {dims = array<i64: 1>} : tensor<4096x1024xf32> -> tensor<4096x1xf32>
  %3 = ait.expand %2 : tensor<4096x1xf32> -> tensor<4096x1024xf32>
  %4 = ait.div %0, %3 : tensor<4096x1024xf32>
  %5 = ait.convert %4 : tensor<4096x1024xf32> -> tensor<4096x1024xi8>
  return %5, %2 : tensor<4096x1024xi8>, tensor<4096x1xf32>
}

// The sum is written where there is nothing to sum, too: not by a thread for
// each element.
// CHECK-LABEL: === sum_beside: elementwise
// CHECK-NEXT: "sum_beside_part0" grid_x { kind: CEIL_DIVIDE operands { kind: MODULO
// CHECK-NEXT: "sum_beside_part1" grid_x { value: 1 }
// CHECK: sum_beside_part1(
// CHECK: out1[0] = a0;
func.func private @sum_beside(%x: tensor<?xf32, #odd>) -> (tensor<?xf32, #odd>, tensor<1xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %y = ait.exp %x : tensor<?xf32, #odd>
  %sum = ait.sum %y {dims = array<i64: 0>} : tensor<?xf32, #odd> -> tensor<1xf32>
  return %y, %sum : tensor<?xf32, #odd>, tensor<1xf32>
}

// A step of the loop times the threads is more than an int holds.
// CHECK-LABEL: === sum_of_many: rows, 1 x 1024 threads, packs of 1
// CHECK: for (Index c = 0; c < 2097153; ++c)
// CHECK-NEXT: const Index i = (c * 1024 + thread);
func.func private @sum_of_many(%x: tensor<2147484671xf32>) -> tensor<1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.sum %x {dims = array<i64: 0>} : tensor<2147484671xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Which half of the sum's axis it is tells only the loop over it: a load that
// depends on that stays inside.
// CHECK-LABEL: === sum_of_halves: elementwise, {{.*}} packs of 4
// CHECK-NOT: r0 < 2
// CHECK: for (Index r0 = 0; r0 < 6; ++r0)
// CHECK: if (r0 < 2)
// CHECK: in1[
func.func private @sum_of_halves(%x: tensor<80000x2x64xf32>, %y: tensor<80000x1x64xf32>, %z: tensor<80000x1x64xf32>) -> tensor<160000x1x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.expand %y : tensor<80000x1x64xf32> -> tensor<80000x4x64xf32>
  %1 = ait.concat %x, %0 {dim = 1 : i64} : (tensor<80000x2x64xf32>, tensor<80000x4x64xf32>) -> tensor<80000x6x64xf32>
  %2 = ait.sum %1 {dims = array<i64: 1>} : tensor<80000x6x64xf32> -> tensor<80000x1x64xf32>
  %3 = ait.concat %2, %z {dim = 0 : i64} : (tensor<80000x1x64xf32>, tensor<80000x1x64xf32>) -> tensor<160000x1x64xf32>
  return %3 : tensor<160000x1x64xf32>
}

// Which column is read depends on data: of how many, nobody knows.
// CHECK-LABEL: === greatest_of_picked:
// CHECK: reduceGroup<Maximum
func.func private @greatest_of_picked(%x: tensor<64x300xf32>, %index: tensor<40xi64>) -> (tensor<64x40xf32>, tensor<1x40xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.index_select %x, %index {dim = 1 : i64} : (tensor<64x300xf32>, tensor<40xi64>) -> tensor<64x40xf32>
  %1 = ait.amax %0 {dims = array<i64: 0>} : tensor<64x40xf32> -> tensor<1x40xf32>
  return %0, %1 : tensor<64x40xf32>, tensor<1x40xf32>
}

}
