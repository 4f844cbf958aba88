// RUN: aitune-opt %s -ait-form-kernels | FileCheck %s

#t = affine_map<()[s0] -> (s0, 64)>
#u = affine_map<()[s0] -> (s0, 1)>
#ends = affine_map<()[s0] -> (8, s0 + 9)>

// A transformer's feed-forward block of dynamic length: bias and activation,
// bias and residual are epilogues; the normalisation is one loop.
// CHECK-LABEL: func @feed_forward
func.func @feed_forward(%x: tensor<?x64xf32, #t>) -> tensor<?x64xf32, #t> {
  // CHECK: %[[W1:.*]] = ait.constant 0
  // CHECK: %[[B1:.*]] = ait.constant 1
  %w1 = ait.constant 0 : tensor<64x64xf32>
  %b1 = ait.constant 1 : tensor<64xf32>
  %w2 = ait.constant 2 : tensor<64x64xf32>
  %b2 = ait.constant 3 : tensor<64xf32>
  // CHECK: %[[H:.*]] = ait.kernel <matmul>(%arg0, %[[W1]], %[[B1]])
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.matmul
  // CHECK-NEXT: ait.expand
  // CHECK-NEXT: ait.add
  // CHECK-NEXT: ait.gelu
  // CHECK-NEXT: ait.yield
  %0 = ait.matmul %x, %w1 {transpose_rhs} : (tensor<?x64xf32, #t>, tensor<64x64xf32>) -> tensor<?x64xf32, #t>
  %1 = ait.expand %b1 : tensor<64xf32> -> tensor<?x64xf32, #t>
  %2 = ait.add %0, %1 : tensor<?x64xf32, #t>
  %3 = ait.gelu %2 : tensor<?x64xf32, #t>
  // CHECK: %[[S:.*]] = ait.kernel <matmul>(%[[H]], {{.*}}, %arg0)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.matmul
  // CHECK-NEXT: ait.expand
  // CHECK-NEXT: ait.add
  // CHECK-NEXT: ait.add
  // CHECK-NEXT: ait.yield
  %4 = ait.matmul %3, %w2 {transpose_rhs} : (tensor<?x64xf32, #t>, tensor<64x64xf32>) -> tensor<?x64xf32, #t>
  %5 = ait.expand %b2 : tensor<64xf32> -> tensor<?x64xf32, #t>
  %6 = ait.add %4, %5 : tensor<?x64xf32, #t>
  %7 = ait.add %6, %x : tensor<?x64xf32, #t>
  // CHECK: %[[N:.*]] = ait.kernel <loop>(%[[S]])
  // CHECK-NOT: ait.kernel
  // CHECK: ait.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[N]]
  %8 = ait.mean %7 {dims = array<i64: 1>} : tensor<?x64xf32, #t> -> tensor<?x1xf32, #u>
  %9 = ait.expand %8 : tensor<?x1xf32, #u> -> tensor<?x64xf32, #t>
  %10 = ait.sub %7, %9 : tensor<?x64xf32, #t>
  %11 = ait.mul %10, %10 : tensor<?x64xf32, #t>
  %12 = ait.mean %11 {dims = array<i64: 1>} : tensor<?x64xf32, #t> -> tensor<?x1xf32, #u>
  %13 = ait.full 1.0e-5 : f32 : tensor<?x1xf32, #u>
  %14 = ait.add %12, %13 : tensor<?x1xf32, #u>
  %15 = ait.rsqrt %14 : tensor<?x1xf32, #u>
  %16 = ait.expand %15 : tensor<?x1xf32, #u> -> tensor<?x64xf32, #t>
  %17 = ait.mul %10, %16 : tensor<?x64xf32, #t>
  return %17 : tensor<?x64xf32, #t>
}

// An activation that forks and joins (x * sigmoid(x)) is an epilogue as well.
// CHECK-LABEL: func @forked_epilogue
func.func @forked_epilogue(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[K:.*]] = ait.kernel <matmul>
  // CHECK: ait.sigmoid
  // CHECK-NEXT: ait.mul
  // CHECK-NEXT: ait.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[K]]
  %0 = ait.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = ait.sigmoid %0 : tensor<8x8xf32>
  %2 = ait.mul %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// The contraction's own value is needed too: the relu is a loop of its own.
// CHECK-LABEL: func @second_reader
func.func @second_reader(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: ait.kernel <matmul>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.matmul
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <loop>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.relu
  %0 = ait.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = ait.relu %0 : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// The reshape moves below the epilogue, the residual is reinterpreted.
// CHECK-LABEL: func @epilogue_through_reshape
func.func @epilogue_through_reshape(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %r: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK: %[[R:.*]] = ait.reshape %arg3 : tensor<2x3x8xf32> -> tensor<6x8xf32>
  // CHECK: %[[K:.*]] = ait.kernel <matmul>(%arg0, %arg1, %arg2, %[[R]])
  // CHECK: ait.expand {{.*}} : tensor<8xf32> -> tensor<6x8xf32>
  // CHECK: %[[O:.*]] = ait.reshape %[[K]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
  // CHECK: return %[[O]]
  %0 = ait.matmul %x, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %1 = ait.reshape %0 : tensor<6x8xf32> -> tensor<2x3x8xf32>
  %2 = ait.expand %b : tensor<8xf32> -> tensor<2x3x8xf32>
  %3 = ait.add %1, %2 : tensor<2x3x8xf32>
  %4 = ait.add %3, %r : tensor<2x3x8xf32>
  return %4 : tensor<2x3x8xf32>
}

// A value per position broadcasts over the batch, which the matmul merged with
// the positions: no epilogue.
// CHECK-LABEL: func @broadcast_over_merged_axis
func.func @broadcast_over_merged_axis(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>, %p: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK: ait.kernel <matmul>
  // CHECK: ait.reshape
  // CHECK: ait.kernel <loop>
  // CHECK: ait.add
  %0 = ait.matmul %x, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %1 = ait.reshape %0 : tensor<6x8xf32> -> tensor<2x3x8xf32>
  %2 = ait.expand %p : tensor<3x8xf32> -> tensor<2x3x8xf32>
  %3 = ait.add %1, %2 : tensor<2x3x8xf32>
  return %3 : tensor<2x3x8xf32>
}

// Heads are read and written through strides.
// CHECK-LABEL: func @attention_views
func.func @attention_views(%q: tensor<2x5x3x4xf32>, %kv: tensor<2x7x6x4xf32>, %m: tensor<2x1x1x7xf32>) -> tensor<2x5x12xf32> {
  // CHECK-NEXT: %[[A:.*]] = ait.kernel <attention>(%arg0, %arg1, %arg2)
  // CHECK-SAME: -> tensor<2x5x3x4xf32>
  // CHECK: %[[R:.*]] = ait.reshape %[[A]]
  // CHECK-NEXT: return %[[R]]
  %0 = ait.permute %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %1 = ait.slice %kv {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x7x6x4xf32> -> tensor<2x7x3x4xf32>
  %2 = ait.permute %1 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x7x3x4xf32> -> tensor<2x3x7x4xf32>
  %3 = ait.slice %kv {starts = array<i64: 0, 0, 3, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x7x6x4xf32> -> tensor<2x7x3x4xf32>
  %4 = ait.permute %3 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x7x3x4xf32> -> tensor<2x3x7x4xf32>
  %5 = ait.expand %m : tensor<2x1x1x7xf32> -> tensor<2x3x5x7xf32>
  %6 = ait.attention %0, %2, %4, %5 {scale = 0.5 : f64} : (tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x4xf32>
  %7 = ait.permute %6 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x4xf32> -> tensor<2x5x3x4xf32>
  %8 = ait.reshape %7 : tensor<2x5x3x4xf32> -> tensor<2x5x12xf32>
  return %8 : tensor<2x5x12xf32>
}

// Reductions over other axes are another kernel.
// CHECK-LABEL: func @two_axes
func.func @two_axes(%x: tensor<4x8xf32>) -> tensor<1x1xf32> {
  // CHECK: ait.kernel <loop>
  // CHECK: ait.exp
  // CHECK-NEXT: ait.sum
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <loop>
  // CHECK: ait.amax
  %0 = ait.exp %x : tensor<4x8xf32>
  %1 = ait.sum %0 {dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x1xf32>
  %2 = ait.amax %1 {dims = array<i64: 0>} : tensor<4x1xf32> -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// Fusing exp, sum and div around the matmul would make a cycle.
// CHECK-LABEL: func @no_cycle
func.func @no_cycle(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: ait.kernel <loop>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.exp
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <matmul>
  // CHECK: ait.matmul
  // CHECK-NEXT: ait.add
  // CHECK-NEXT: ait.yield
  %0 = ait.exp %x : tensor<8x8xf32>
  %1 = ait.matmul %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = ait.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// Indexed reads: cheap arithmetic is repeated at each read, costly arithmetic
// is not. The rotated half of a rotary embedding is one kernel.
// CHECK-LABEL: func @rotary
func.func @rotary(%x: tensor<2x5x3x8xf32>, %c: tensor<5x8xf32>, %s: tensor<5x8xf32>) -> tensor<2x3x5x8xf32> {
  // CHECK-NEXT: %[[K:.*]] = ait.kernel <loop>(%arg0, %arg1, %arg2)
  // CHECK: return %[[K]]
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x8xf32> -> tensor<2x3x5x8xf32>
  %1 = ait.expand %c : tensor<5x8xf32> -> tensor<2x3x5x8xf32>
  %2 = ait.mul %0, %1 : tensor<2x3x5x8xf32>
  %p = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x8xf32> -> tensor<2x3x5x8xf32>
  %3 = ait.slice %p {starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x8xf32> -> tensor<2x3x5x4xf32>
  %4 = ait.neg %3 : tensor<2x3x5x4xf32>
  %5 = ait.slice %p {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : tensor<2x3x5x8xf32> -> tensor<2x3x5x4xf32>
  %6 = ait.concat %4, %5 {dim = 3 : i64} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x8xf32>
  %7 = ait.expand %s : tensor<5x8xf32> -> tensor<2x3x5x8xf32>
  %8 = ait.mul %6, %7 : tensor<2x3x5x8xf32>
  %9 = ait.add %2, %8 : tensor<2x3x5x8xf32>
  return %9 : tensor<2x3x5x8xf32>
}

// CHECK-LABEL: func @costly_indexed_read
func.func @costly_indexed_read(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // CHECK: ait.kernel <loop>
  // CHECK: ait.exp
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <loop>
  // CHECK: ait.permute
  %0 = ait.exp %x : tensor<4x8xf32>
  %1 = ait.permute %0 {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// What depends on constants only runs once at load, in kernels of its own; a
// small conversion is part of its reader.
// CHECK-LABEL: func @constants
func.func @constants(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[C:.*]] = ait.constant 0
  // CHECK: %[[B:.*]] = ait.constant 1
  // CHECK: %[[E:.*]] = ait.kernel <loop>(%[[C]])
  // CHECK: ait.exp
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <loop>(%arg0, %[[E]], %[[B]])
  // CHECK: ait.convert
  // CHECK: ait.yield
  %c = ait.constant 0 : tensor<4x4xf32>
  %b = ait.constant 1 : tensor<4xbf16>
  %0 = ait.exp %c : tensor<4x4xf32>
  %1 = ait.add %x, %0 : tensor<4x4xf32>
  %2 = ait.convert %b : tensor<4xbf16> -> tensor<4xf32>
  %3 = ait.expand %2 : tensor<4xf32> -> tensor<4x4xf32>
  %4 = ait.mul %1, %3 : tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// A broadcast that the caller wants in memory, and one that a contraction
// reads, are kernels; fallbacks and reshapes stay.
// CHECK-LABEL: func @stays
func.func @stays(%x: tensor<4xf32>, %w: tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x1x4xf32>, !ait.opaque) {
  // CHECK: ait.kernel <loop>(%arg0)
  // CHECK: ait.expand
  %0 = ait.expand %x : tensor<4xf32> -> tensor<2x4xf32>
  %1 = ait.reshape %0 : tensor<2x4xf32> -> tensor<2x1x4xf32>
  // CHECK: ait.kernel <matmul>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.matmul
  // CHECK: ait.fallback
  %2 = ait.matmul %1, %w : (tensor<2x1x4xf32>, tensor<2x4x4xf32>) -> tensor<2x1x4xf32>
  %3 = ait.fallback %0 {trace_ops = array<i64: 0>, operators = ["aten::sort"], reasons = ["unknown"]} : (tensor<2x4xf32>) -> !ait.opaque
  return %0, %2, %3 : tensor<2x4xf32>, tensor<2x1x4xf32>, !ait.opaque
}

// Grouped queries: heads that share keys read them through a broadcast.
// CHECK-LABEL: func @grouped_query_keys
func.func @grouped_query_keys(%q: tensor<2x6x5x4xf32>, %k: tensor<2x7x3x4xf32>) -> tensor<2x6x5x7xf32> {
  // CHECK: ait.reshape %arg1 : tensor<2x7x3x4xf32> -> tensor<2x7x3x1x4xf32>
  // CHECK-NEXT: ait.kernel <matmul>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.permute
  // CHECK-NEXT: ait.expand
  // CHECK-NEXT: ait.reshape
  // CHECK-NEXT: ait.matmul
  // CHECK-NEXT: ait.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %r = ait.reshape %k : tensor<2x7x3x4xf32> -> tensor<2x7x3x1x4xf32>
  %0 = ait.permute %r {permutation = array<i64: 0, 2, 3, 1, 4>} : tensor<2x7x3x1x4xf32> -> tensor<2x3x1x7x4xf32>
  %1 = ait.expand %0 : tensor<2x3x1x7x4xf32> -> tensor<2x3x2x7x4xf32>
  %2 = ait.reshape %1 : tensor<2x3x2x7x4xf32> -> tensor<2x6x7x4xf32>
  %3 = ait.matmul %q, %2 {transpose_rhs} : (tensor<2x6x5x4xf32>, tensor<2x6x7x4xf32>) -> tensor<2x6x5x7xf32>
  return %3 : tensor<2x6x5x7xf32>
}

// The normalisation after a bf16 matmul reads bf16: the matmul's kernel does not
// widen what it writes, but may compute wider in between.
// CHECK-LABEL: func @widening
func.func @widening(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x1xf32> {
  // CHECK-NEXT: ait.kernel <matmul>
  // CHECK-SAME: -> tensor<8x8xbf16>
  // CHECK: ait.silu {{.*}} : tensor<8x8xf32>
  // CHECK: ait.kernel <loop>
  // CHECK: ait.convert
  // CHECK: ait.mean
  %0 = ait.matmul %x, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = ait.convert %0 : tensor<8x8xbf16> -> tensor<8x8xf32>
  %2 = ait.silu %1 : tensor<8x8xf32>
  %3 = ait.convert %2 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %4 = ait.convert %3 : tensor<8x8xbf16> -> tensor<8x8xf32>
  %5 = ait.mean %4 {dims = array<i64: 1>} : tensor<8x8xf32> -> tensor<8x1xf32>
  return %5 : tensor<8x1xf32>
}

// A view with another reader is a copy.
// CHECK-LABEL: func @views_in_memory
func.func @views_in_memory(%q: tensor<6x5x8xf32>, %k: tensor<7x6x8xf32>) -> (tensor<6x5x7xf32>, tensor<6x7x8xf32>) {
  // CHECK: ait.kernel <loop>
  // CHECK: ait.permute
  // CHECK: ait.kernel <matmul>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.matmul
  %0 = ait.permute %k {permutation = array<i64: 1, 0, 2>} : tensor<7x6x8xf32> -> tensor<6x7x8xf32>
  %1 = ait.matmul %q, %0 {transpose_rhs} : (tensor<6x5x8xf32>, tensor<6x7x8xf32>) -> tensor<6x5x7xf32>
  return %1, %0 : tensor<6x5x7xf32>, tensor<6x7x8xf32>
}

// Rows made of pieces of 8 bytes are copied once.
// CHECK-LABEL: func @patches
// CHECK: ait.kernel <loop>
// CHECK: ait.permute
// CHECK: ait.kernel <matmul>
// CHECK-NOT: ait.permute
// CHECK: return
func.func @patches(%x: tensor<1x3x2x4x3x4xf16>, %w: tensor<5x48xf16>) -> tensor<1x6x5xf16> {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 4, 1, 3, 5>} : tensor<1x3x2x4x3x4xf16> -> tensor<1x2x3x3x4x4xf16>
  %1 = ait.reshape %0 : tensor<1x2x3x3x4x4xf16> -> tensor<1x6x48xf16>
  %2 = ait.matmul %1, %w {transpose_rhs} : (tensor<1x6x48xf16>, tensor<5x48xf16>) -> tensor<1x6x5xf16>
  return %2 : tensor<1x6x5xf16>
}

// So are rows whose neighbours lie apart, however long their pieces would be:
// pictures that are flattened while their channels are last in memory.
// CHECK-LABEL: func @flattened_channels_last
// CHECK: ait.kernel <loop>
// CHECK: ait.permute
// CHECK: ait.kernel <matmul>
// CHECK-NOT: ait.permute
// CHECK: return
func.func @flattened_channels_last(%x: tensor<2x6x6x256xf16>, %w: tensor<5x9216xf16>) -> tensor<2x5xf16> {
  %0 = ait.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x6x6x256xf16> -> tensor<2x256x6x6xf16>
  %1 = ait.reshape %0 : tensor<2x256x6x6xf16> -> tensor<2x9216xf16>
  %2 = ait.matmul %1, %w {transpose_rhs} : (tensor<2x9216xf16>, tensor<5x9216xf16>) -> tensor<2x5xf16>
  return %2 : tensor<2x5xf16>
}

// Heads whose elements lie apart in memory are copied before an attention.
// CHECK-LABEL: func @channels_first_attention
// CHECK: ait.kernel <loop>
// CHECK: ait.permute
// CHECK: ait.kernel <attention>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: ait.attention
// CHECK: return
func.func @channels_first_attention(%x: tensor<4x64x256xf16>, %kv: tensor<4x256x64xf16>) -> tensor<4x256x64xf16> {
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1>} : tensor<4x64x256xf16> -> tensor<4x256x64xf16>
  %1 = ait.attention %0, %kv, %kv {scale = 0.125 : f64} : (tensor<4x256x64xf16>, tensor<4x256x64xf16>, tensor<4x256x64xf16>) -> tensor<4x256x64xf16>
  return %1 : tensor<4x256x64xf16>
}

// A transposed operand is read in place, merged or not.
// CHECK-LABEL: func @merged_transposed
// CHECK-NOT: ait.kernel <loop>
// CHECK: ait.kernel <matmul>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: ait.permute
// CHECK: return
func.func @merged_transposed(%x: tensor<16x16x64xf16>, %w: tensor<5x256xf16>) -> tensor<64x5xf16> {
  %0 = ait.permute %x {permutation = array<i64: 2, 0, 1>} : tensor<16x16x64xf16> -> tensor<64x16x16xf16>
  %1 = ait.reshape %0 : tensor<64x16x16xf16> -> tensor<64x256xf16>
  %2 = ait.matmul %1, %w {transpose_rhs} : (tensor<64x256xf16>, tensor<5x256xf16>) -> tensor<64x5xf16>
  return %2 : tensor<64x5xf16>
}

// A checked index is checked again by each kernel that reads it: none is
// launched for the check alone, and memory holds the unchecked one.
// CHECK-LABEL: func @checked_index
// CHECK-SAME: %[[W:[^:]*]]: tensor<10x64xf32>, %[[V:[^:]*]]: tensor<10x48xf32>, %[[I:[^:]*]]: tensor<5xi64>
// CHECK: ait.kernel <loop>(%[[W]], %[[I]])
// CHECK: ait.check
// CHECK: ait.embedding
// CHECK: ait.kernel <loop>(%[[V]], %[[I]])
// CHECK: ait.check
// CHECK: ait.embedding
// CHECK-NOT: ait.kernel
// CHECK: return
func.func @checked_index(%w: tensor<10x64xf32>, %v: tensor<10x48xf32>, %i: tensor<5xi64>) -> (tensor<5x64xf32>, tensor<5x48xf32>) {
  %c = ait.check %i {size = affine_map<()[] -> (10)>, operator_name = "aten::embedding"} : tensor<5xi64>
  %0 = ait.embedding %w, %c : (tensor<10x64xf32>, tensor<5xi64>) -> tensor<5x64xf32>
  %1 = ait.embedding %v, %c : (tensor<10x48xf32>, tensor<5xi64>) -> tensor<5x48xf32>
  return %0, %1 : tensor<5x64xf32>, tensor<5x48xf32>
}

// The epilogue of a contraction does not check: a loop after it does.
// CHECK-LABEL: func @checked_divisor
// CHECK: ait.kernel <matmul>
// CHECK-NOT: ait.check
// CHECK: ait.kernel <loop>
// CHECK: ait.check
// CHECK: ait.remainder
func.func @checked_divisor(%a: tensor<4x8xi64>, %b: tensor<8x4xi64>, %d: tensor<4x4xi64>) -> tensor<4x4xi64> {
  %0 = ait.matmul %a, %b : (tensor<4x8xi64>, tensor<8x4xi64>) -> tensor<4x4xi64>
  %c = ait.check %d {operator_name = "aten::remainder"} : tensor<4x4xi64>
  %1 = ait.remainder %0, %c : tensor<4x4xi64>
  return %1 : tensor<4x4xi64>
}

// Each step reads the one before at four indices: a kernel of all of them would
// compute the first at a million.
// CHECK-LABEL: func @doubled_reads
// CHECK-COUNT-5: ait.kernel <loop>
// CHECK: return
func.func @doubled_reads(%x: tensor<8xf32>) -> tensor<8xf32> {
  %n0 = ait.neg %x : tensor<8xf32>
  %c0 = ait.concat %x, %n0 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s0 = ait.slice %c0 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f0 = ait.flip %s0 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a0 = ait.add %s0, %f0 : tensor<8xf32>
  %n1 = ait.neg %a0 : tensor<8xf32>
  %c1 = ait.concat %a0, %n1 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s1 = ait.slice %c1 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f1 = ait.flip %s1 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a1 = ait.add %s1, %f1 : tensor<8xf32>
  %n2 = ait.neg %a1 : tensor<8xf32>
  %c2 = ait.concat %a1, %n2 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s2 = ait.slice %c2 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f2 = ait.flip %s2 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a2 = ait.add %s2, %f2 : tensor<8xf32>
  %n3 = ait.neg %a2 : tensor<8xf32>
  %c3 = ait.concat %a2, %n3 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s3 = ait.slice %c3 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f3 = ait.flip %s3 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a3 = ait.add %s3, %f3 : tensor<8xf32>
  %n4 = ait.neg %a3 : tensor<8xf32>
  %c4 = ait.concat %a3, %n4 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s4 = ait.slice %c4 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f4 = ait.flip %s4 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a4 = ait.add %s4, %f4 : tensor<8xf32>
  %n5 = ait.neg %a4 : tensor<8xf32>
  %c5 = ait.concat %a4, %n5 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s5 = ait.slice %c5 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f5 = ait.flip %s5 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a5 = ait.add %s5, %f5 : tensor<8xf32>
  %n6 = ait.neg %a5 : tensor<8xf32>
  %c6 = ait.concat %a5, %n6 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s6 = ait.slice %c6 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f6 = ait.flip %s6 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a6 = ait.add %s6, %f6 : tensor<8xf32>
  %n7 = ait.neg %a6 : tensor<8xf32>
  %c7 = ait.concat %a6, %n7 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s7 = ait.slice %c7 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f7 = ait.flip %s7 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a7 = ait.add %s7, %f7 : tensor<8xf32>
  %n8 = ait.neg %a7 : tensor<8xf32>
  %c8 = ait.concat %a7, %n8 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s8 = ait.slice %c8 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f8 = ait.flip %s8 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a8 = ait.add %s8, %f8 : tensor<8xf32>
  %n9 = ait.neg %a8 : tensor<8xf32>
  %c9 = ait.concat %a8, %n9 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %s9 = ait.slice %c9 {starts = array<i64: 0>, steps = array<i64: 2>} : tensor<16xf32> -> tensor<8xf32>
  %f9 = ait.flip %s9 {dims = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  %a9 = ait.add %s9, %f9 : tensor<8xf32>
  return %a9 : tensor<8xf32>
}

// What two loops widen is widened in both, and not written to memory: here by
// the one that finds the greatest magnitude of all, and by the one that divides.
// CHECK-LABEL: func @widened_twice
// CHECK-SAME: %[[X:.*]]: tensor<64x128xbf16>
func.func @widened_twice(%x: tensor<64x128xbf16>) -> tensor<64x128xf32> {
  // CHECK-NEXT: %[[ROWS:.*]] = ait.kernel <loop>(%[[X]]) : (tensor<64x128xbf16>) -> tensor<64x1xf32>
  // CHECK: %[[ALL:.*]] = ait.kernel <loop>(%[[ROWS]])
  // CHECK: %[[Y:.*]] = ait.kernel <loop>(%[[X]], %[[ALL]]) : (tensor<64x128xbf16>, tensor<1x1xf32>)
  // CHECK: ait.convert
  // CHECK: return %[[Y]]
  %0 = ait.convert %x : tensor<64x128xbf16> -> tensor<64x128xf32>
  %1 = ait.abs %0 : tensor<64x128xf32>
  %2 = ait.amax %1 {dims = array<i64: 1>} : tensor<64x128xf32> -> tensor<64x1xf32>
  %3 = ait.amax %2 {dims = array<i64: 0>} : tensor<64x1xf32> -> tensor<1x1xf32>
  %4 = ait.expand %3 : tensor<1x1xf32> -> tensor<64x128xf32>
  %5 = ait.div %0, %4 : tensor<64x128xf32>
  return %5 : tensor<64x128xf32>
}

// Windows read each element several times: not through a change of the order in
// memory, which would place what they read far apart.
// CHECK-LABEL: func @windows_of_permuted
func.func @windows_of_permuted(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x8x8xf32> {
  // CHECK-NEXT: %[[LAST:.*]] = ait.kernel <loop>(%arg0) : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>
  // CHECK: ait.permute
  // CHECK: ait.mul
  // CHECK: %[[LARGE:.*]] = ait.kernel <loop>(%[[LAST]]) : (tensor<1x4x4x8xf32>) -> tensor<1x8x8x8xf32>
  // CHECK: ait.upsample_bilinear2d
  // CHECK: ait.kernel <loop>(%[[LARGE]])
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 3, 1>} : tensor<1x8x4x4xf32> -> tensor<1x4x4x8xf32>
  %1 = ait.mul %0, %0 : tensor<1x4x4x8xf32>
  %2 = ait.upsample_bilinear2d %1 {align_corners = false, channels_last, scale_h = 0.5, scale_w = 0.5} : tensor<1x4x4x8xf32> -> tensor<1x8x8x8xf32>
  %3 = ait.permute %2 {permutation = array<i64: 0, 3, 1, 2>} : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
  return %3 : tensor<1x8x8x8xf32>
}

// The sum of one loop is written as it is, for the other to widen.
// CHECK-LABEL: func @widened_sum
func.func @widened_sum(%x: tensor<64x128xbf16>, %y: tensor<64x128xbf16>) -> (tensor<64x128xf32>, tensor<64x1xf32>) {
  // CHECK-NEXT: %[[K:.*]]:2 = ait.kernel <loop>(%arg0, %arg1) : {{.*}} -> (tensor<64x128xbf16>, tensor<64x128xf32>)
  // CHECK: %[[A:.*]] = ait.add
  // CHECK: ait.convert %[[A]]
  // CHECK: ait.sum
  // CHECK: ait.yield %[[A]]
  // CHECK: ait.kernel <loop>(%[[K]]#0) : (tensor<64x128xbf16>) -> tensor<64x1xf32>
  // CHECK: ait.convert
  // CHECK: ait.sum
  %0 = ait.add %x, %y : tensor<64x128xbf16>
  %1 = ait.convert %0 : tensor<64x128xbf16> -> tensor<64x128xf32>
  %2 = ait.sum %1 {dims = array<i64: 0>} : tensor<64x128xf32> -> tensor<1x128xf32>
  %3 = ait.sum %1 {dims = array<i64: 1>} : tensor<64x128xf32> -> tensor<64x1xf32>
  %4 = ait.expand %2 : tensor<1x128xf32> -> tensor<64x128xf32>
  %5 = ait.sub %1, %4 : tensor<64x128xf32>
  return %5, %3 : tensor<64x128xf32>, tensor<64x1xf32>
}

// The mean reduces what the sum left of other axes: its widening is its own, and
// the sum is in memory as it is.
// CHECK-LABEL: func @widened_by_reduction
func.func @widened_by_reduction(%x: tensor<2x16x8xbf16>) -> tensor<1x1x8xf32> {
  // CHECK: %[[K:.*]] = ait.kernel <loop>(%arg0) : (tensor<2x16x8xbf16>) -> tensor<1x16x8xbf16>
  // CHECK: ait.kernel <loop>(%[[K]]) : (tensor<1x16x8xbf16>) -> tensor<1x1x8xf32>
  %0 = ait.sum %x {dims = array<i64: 0>} : tensor<2x16x8xbf16> -> tensor<1x16x8xbf16>
  %1 = ait.convert %0 : tensor<1x16x8xbf16> -> tensor<1x16x8xf32>
  %2 = ait.mean %1 {dims = array<i64: 1>} : tensor<1x16x8xf32> -> tensor<1x1x8xf32>
  return %2 : tensor<1x1x8xf32>
}

// An attention reads the elements of its mask from memory.
// CHECK-LABEL: func @mask_of_one_number
// CHECK: %[[M:.*]] = ait.kernel <loop>
// CHECK-NEXT: ait.full -1.0
// CHECK: ait.kernel <attention>(%arg0, %[[M]])
func.func @mask_of_one_number(%q: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = ait.full -1.0 : f32 : tensor<4x4xf32>
  %1 = ait.attention %q, %q, %q, %0 {scale = 0.5 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// The fifth of five softmaxes in a row would compute the four before it again in
// each of its passes.
// CHECK-LABEL: func @softmaxes
// CHECK: ait.kernel <loop>
// CHECK-COUNT-4: ait.amax
// CHECK-NOT: ait.amax
// CHECK: ait.kernel <loop>
// CHECK: ait.amax
// CHECK-NOT: ait.kernel
func.func @softmaxes(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = ait.amax %x {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %1 = ait.expand %0 : tensor<4x1xf32> -> tensor<4x64xf32>
  %2 = ait.sub %x, %1 : tensor<4x64xf32>
  %3 = ait.exp %2 : tensor<4x64xf32>
  %4 = ait.sum %3 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %5 = ait.expand %4 : tensor<4x1xf32> -> tensor<4x64xf32>
  %6 = ait.div %3, %5 : tensor<4x64xf32>
  %7 = ait.amax %6 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %8 = ait.expand %7 : tensor<4x1xf32> -> tensor<4x64xf32>
  %9 = ait.sub %6, %8 : tensor<4x64xf32>
  %10 = ait.exp %9 : tensor<4x64xf32>
  %11 = ait.sum %10 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %12 = ait.expand %11 : tensor<4x1xf32> -> tensor<4x64xf32>
  %13 = ait.div %10, %12 : tensor<4x64xf32>
  %14 = ait.amax %13 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %15 = ait.expand %14 : tensor<4x1xf32> -> tensor<4x64xf32>
  %16 = ait.sub %13, %15 : tensor<4x64xf32>
  %17 = ait.exp %16 : tensor<4x64xf32>
  %18 = ait.sum %17 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %19 = ait.expand %18 : tensor<4x1xf32> -> tensor<4x64xf32>
  %20 = ait.div %17, %19 : tensor<4x64xf32>
  %21 = ait.amax %20 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %22 = ait.expand %21 : tensor<4x1xf32> -> tensor<4x64xf32>
  %23 = ait.sub %20, %22 : tensor<4x64xf32>
  %24 = ait.exp %23 : tensor<4x64xf32>
  %25 = ait.sum %24 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %26 = ait.expand %25 : tensor<4x1xf32> -> tensor<4x64xf32>
  %27 = ait.div %24, %26 : tensor<4x64xf32>
  %28 = ait.amax %27 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %29 = ait.expand %28 : tensor<4x1xf32> -> tensor<4x64xf32>
  %30 = ait.sub %27, %29 : tensor<4x64xf32>
  %31 = ait.exp %30 : tensor<4x64xf32>
  %32 = ait.sum %31 {dims = array<i64: 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
  %33 = ait.expand %32 : tensor<4x1xf32> -> tensor<4x64xf32>
  %34 = ait.div %31, %33 : tensor<4x64xf32>
  return %34 : tensor<4x64xf32>
}

// Two ends of an operand, which are read from the end: no kernel writes all of
// it backwards.
// CHECK-LABEL: func @ends
func.func @ends(%x: tensor<8x?xf32, #ends>) -> (tensor<8x5xf32>, tensor<8x9xf32>) {
  // CHECK: ait.kernel <loop>(%arg0)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.flip
  // CHECK-NEXT: ait.slice
  // CHECK-NEXT: ait.flip
  // CHECK-NEXT: ait.yield
  // CHECK: ait.kernel <loop>(%arg0)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: ait.flip
  // CHECK-NEXT: ait.slice
  // CHECK-NEXT: ait.flip
  // CHECK-NEXT: ait.yield
  // CHECK-NOT: ait.kernel
  // CHECK: return
  %f = ait.flip %x {dims = array<i64: 1>} : tensor<8x?xf32, #ends> -> tensor<8x?xf32, #ends>
  %0 = ait.slice %f {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<8x?xf32, #ends> -> tensor<8x5xf32>
  %1 = ait.flip %0 {dims = array<i64: 1>} : tensor<8x5xf32> -> tensor<8x5xf32>
  %2 = ait.slice %f {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<8x?xf32, #ends> -> tensor<8x9xf32>
  %3 = ait.flip %2 {dims = array<i64: 1>} : tensor<8x9xf32> -> tensor<8x9xf32>
  return %1, %3 : tensor<8x5xf32>, tensor<8x9xf32>
}

// A step of a sequence is read where a kernel wrote all of them. A slice that
// is a result is copied, as is one that begins where no 16 bytes do, and one of
// an input beside LibTorch, which may write it.
// CHECK-LABEL: func @steps
func.func @steps(%x: tensor<8x64xf32>, %h: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x63xf32>) {
  // CHECK: %[[ALL:.*]] = ait.kernel <matmul>
  // CHECK: %[[STEP:.*]] = ait.slice %[[ALL]] {starts = array<i64: 3, 0>
  // CHECK: ait.kernel <matmul>({{.*}}%[[STEP]]
  %0 = ait.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = ait.slice %0 {starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<1x64xf32>
  %2 = ait.matmul %h, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %3 = ait.add %2, %1 : tensor<1x64xf32>
  // CHECK: ait.kernel <loop>(%[[ALL]])
  // CHECK: ait.slice {{.*}}starts = array<i64: 5, 0>
  // CHECK: ait.kernel <loop>(%[[ALL]])
  // CHECK: ait.slice {{.*}}starts = array<i64: 2, 1>
  %4 = ait.slice %0 {starts = array<i64: 5, 0>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<1x64xf32>
  %5 = ait.slice %w {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<64x64xf32> -> tensor<64x63xf32>
  %6 = ait.slice %0 {starts = array<i64: 2, 1>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<1x63xf32>
  %7 = ait.matmul %h, %5 : (tensor<1x64xf32>, tensor<64x63xf32>) -> tensor<1x63xf32>
  %8 = ait.add %7, %6 : tensor<1x63xf32>
  return %3, %4, %8 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x63xf32>
}

// CHECK-LABEL: func @input
// CHECK: ait.slice %arg0
// CHECK: ait.kernel <matmul>
func.func @input(%x: tensor<8x64xf32>, %h: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> {
  %0 = ait.slice %x {starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<1x64xf32>
  %1 = ait.matmul %h, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %2 = ait.add %1, %0 : tensor<1x64xf32>
  return %2 : tensor<1x64xf32>
}

// CHECK-LABEL: func @written
// CHECK: ait.kernel <loop>(%arg0)
// CHECK: ait.kernel <matmul>
func.func @written(%x: tensor<8x64xf32>, %h: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> (tensor<1x64xf32>, tensor<8x64xf32>) {
  %0 = ait.slice %x {starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<1x64xf32>
  %1 = ait.matmul %h, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %2 = ait.add %1, %0 : tensor<1x64xf32>
  %3 = ait.fallback %x {trace_ops = array<i64: 0>, operators = ["aten::sort"], reasons = ["none"], input_values = array<i64: 0>, output_values = array<i64: 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2, %3 : tensor<1x64xf32>, tensor<8x64xf32>
}
