// RUN: aitune-opt %s --ait-lower-to-linalg --ait-cpu-lower-loops=target=avx512 --canonicalize --cse --split-input-file | FileCheck %s
// RUN: aitune-opt %s --ait-lower-to-linalg --ait-cpu-lower-loops=target=avx2 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=AVX2

#full = affine_map<()[s0] -> (s0, 768)>
#row = affine_map<()[s0] -> (s0, 1)>

// A unit is a row: the maximum, then the sum of exponentials, which are kept on
// the stack for the quotient.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> (s0)>
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME: ait.grid = #[[GRID]]
// CHECK: %[[ROW:.*]] = llvm.alloca
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:   scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:     arith.maximumf
// CHECK:   vector.shuffle
// CHECK:   scf.for
// CHECK:     math.exp {{.*}} : vector<16xf32>
// CHECK:     llvm.store {{.*}} : vector<16xf32>
// CHECK:     arith.addf
// CHECK:   scf.for
// CHECK-NOT: math.exp
// CHECK:     arith.divf {{.*}} : vector<16xf32>
// CHECK:     llvm.store
// AVX2-LABEL: func.func @softmax(
// AVX2: math.exp {{.*}} : vector<8xf32>
func.func private @softmax(%x: tensor<?x768xf32, #full>) -> tensor<?x768xf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<?x768xf32, #full> -> tensor<?x1xf32, #row>
  %me = ait.expand %m : tensor<?x1xf32, #row> -> tensor<?x768xf32, #full>
  %d = ait.sub %x, %me : tensor<?x768xf32, #full>
  %e = ait.exp %d : tensor<?x768xf32, #full>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<?x768xf32, #full> -> tensor<?x1xf32, #row>
  %te = ait.expand %t : tensor<?x1xf32, #row> -> tensor<?x768xf32, #full>
  %r = ait.div %e, %te : tensor<?x768xf32, #full>
  return %r : tensor<?x768xf32, #full>
}

// -----

// The same for the classes of a large vocabulary: computing the exponentials
// twice would take longer than a row in the second-level cache.
// CHECK-LABEL: func.func @vocabulary(
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 201092 : i64
// CHECK-DAG: llvm.alloca %[[BYTES]] x i8
func.func private @vocabulary(%x: tensor<32x50257xf32>) -> tensor<32x50257xf32> attributes {ait.kind = #ait.kind<loop>} {
  %max = ait.amax %x {dims = array<i64: 1>} : tensor<32x50257xf32> -> tensor<32x1xf32>
  %maxe = ait.expand %max : tensor<32x1xf32> -> tensor<32x50257xf32>
  %d = ait.sub %x, %maxe : tensor<32x50257xf32>
  %e = ait.exp %d : tensor<32x50257xf32>
  %sum = ait.sum %e {dims = array<i64: 1>} : tensor<32x50257xf32> -> tensor<32x1xf32>
  %sume = ait.expand %sum : tensor<32x1xf32> -> tensor<32x50257xf32>
  %r = ait.div %e, %sume : tensor<32x50257xf32>
  return %r : tensor<32x50257xf32>
}

// -----

// The mean and its division are computed once a row. What is left of an element
// is a difference, which is computed twice rather than kept.
// CHECK-LABEL: func.func @centred(
// CHECK-NOT: llvm.alloca
// CHECK: return
func.func private @centred(%x: tensor<32x32768xf32>) -> tensor<32x32768xf32> attributes {ait.kind = #ait.kind<loop>} {
  %mean = ait.mean %x {dims = array<i64: 1>} : tensor<32x32768xf32> -> tensor<32x1xf32>
  %all = ait.expand %mean : tensor<32x1xf32> -> tensor<32x32768xf32>
  %d = ait.sub %x, %all : tensor<32x32768xf32>
  %square = ait.mul %d, %d : tensor<32x32768xf32>
  %variance = ait.mean %square {dims = array<i64: 1>} : tensor<32x32768xf32> -> tensor<32x1xf32>
  %factor = ait.rsqrt %variance : tensor<32x1xf32>
  %factors = ait.expand %factor : tensor<32x1xf32> -> tensor<32x32768xf32>
  %r = ait.mul %d, %factors : tensor<32x32768xf32>
  return %r : tensor<32x32768xf32>
}

// -----

// A transpose: lanes read with a stride, so the loop along which the operand
// lies in order is the innermost one, over 128 of its elements. Its steps load
// squares in that order and transpose them: no gather but where less than a
// square is left.
// CHECK: #[[BLOCKS:.*]] = affine_map<() -> (16)>
// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: ait.grid = #[[BLOCKS]]
// CHECK: %[[LANES:.*]] = arith.constant 16 : i64
// CHECK: scf.for
// CHECK:   scf.for {{.*}} step %[[LANES]]
// CHECK:     scf.for {{.*}} step %{{.*}}
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>
func.func private @transpose(%a: tensor<256x512xf32>) -> tensor<512x256xf32> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.permute %a {permutation = array<i64: 1, 0>} : tensor<256x512xf32> -> tensor<512x256xf32>
  return %p : tensor<512x256xf32>
}

// -----

// Of narrow elements too: squares of 16 do not fill vectors, but there is no
// gather of them at all.
// CHECK-LABEL: func.func @narrow_transpose(
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xbf16>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xbf16>
func.func private @narrow_transpose(%a: tensor<256x512xbf16>) -> tensor<512x256xbf16> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.permute %a {permutation = array<i64: 1, 0>} : tensor<256x512xbf16> -> tensor<512x256xbf16>
  return %p : tensor<512x256xbf16>
}

// -----

// A square can't be loaded before the steps where each step computes an index.
// CHECK-LABEL: func.func @computed_index(
// CHECK: llvm.intr.masked.gather
#full = affine_map<()[s0] -> (4, s0, s0)>
#turned = affine_map<()[s0] -> (s0, s0, 4)>
#row = affine_map<()[s0] -> (s0, 1, 4)>
module attributes {ait.symbols = [{axis = 1 : i64, input = 0 : i64, max = 17 : i64, min = 1 : i64, name = "n"}]} {
  func.func private @computed_index(%a: tensor<4x?x?xf32, #full>, %i: tensor<1xi64>) -> tensor<?x1x4xf32, #row> attributes {ait.kind = #ait.kind<loop>} {
    %p = ait.permute %a {permutation = array<i64: 2, 1, 0>} : tensor<4x?x?xf32, #full> -> tensor<?x?x4xf32, #turned>
    %r = ait.index_select %p, %i {dim = 1 : i64} : (tensor<?x?x4xf32, #turned>, tensor<1xi64>) -> tensor<?x1x4xf32, #row>
    return %r : tensor<?x1x4xf32, #row>
  }
}

// -----

// A flipped row is loaded from its end, each vector backwards.
// CHECK-LABEL: func.func @flip(
// CHECK: arith.constant 240 : i64
// CHECK: %[[LOADED:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[LOADED]], %[[LOADED]] [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
// CHECK-NOT: gather
func.func private @flip(%a: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {ait.kind = #ait.kind<loop>} {
  %f = ait.flip %a {dims = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x256xf32>
  return %f : tensor<64x256xf32>
}

// -----

// Every third element is taken out of three vectors, of which the last ends
// with the last element: it begins at 2 * 15, not at 2 * 16.
// CHECK-LABEL: func.func @third(
// CHECK-DAG: arith.constant 30 : i64
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[B:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[AB:.*]] = vector.shuffle %[[A]], %[[B]] [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 31, 31, 31, 31, 31]
// CHECK: %[[C:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[AB]], %[[C]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 19, 22, 25, 28, 31]
// CHECK-NOT: gather
func.func private @third(%a: tensor<64x768xf32>) -> tensor<64x256xf32> attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.slice %a {starts = array<i64: 0, 0>, steps = array<i64: 1, 3>} : tensor<64x768xf32> -> tensor<64x256xf32>
  %n = ait.neg %s : tensor<64x256xf32>
  return %n : tensor<64x256xf32>
}

// -----

// Axes that every operand has in the same order are one loop, in blocks; the
// scalar operand is read outside of it. Static sizes without remainder have no
// masks.
// CHECK: #[[UNITS:.*]] = affine_map<() -> (32)>
// CHECK-LABEL: func.func @flattened(
// CHECK-SAME: ait.grid = #[[UNITS]]
// CHECK: %[[SCALAR:.*]] = llvm.load {{.*}} -> f32
// CHECK: scf.for
// CHECK:   scf.for
// CHECK-NOT: scf.for
// CHECK:     vector.broadcast %[[SCALAR]]
// CHECK:     llvm.store {{.*}} : vector<16xf32>
// CHECK-NOT: masked
func.func private @flattened(%a: tensor<64x32x64xf32>, %b: tensor<1xf32>) -> tensor<64x32x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %be = ait.expand %b : tensor<1xf32> -> tensor<64x32x64xf32>
  %s = ait.mul %a, %be : tensor<64x32x64xf32>
  return %s : tensor<64x32x64xf32>
}

// -----

// A mean over H and W of channels-last data: lanes along the channels, which
// are not reduced; no shuffle of lanes.
// CHECK-LABEL: func.func @columns(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: vector.shuffle
// CHECK: llvm.store {{.*}} : vector<16xf32>
func.func private @columns(%a: tensor<1x7x7x64xf32>) -> tensor<1x1x1x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mean %a {dims = array<i64: 1, 2>} : tensor<1x7x7x64xf32> -> tensor<1x1x1x64xf32>
  return %0 : tensor<1x1x1x64xf32>
}

// -----

// The two halves of a concatenation are two loops without conditions.
// CHECK-LABEL: func.func @halves(
// CHECK-NOT: scf.if
// CHECK: arith.negf
// CHECK: llvm.store
// CHECK-NOT: arith.negf
// CHECK: llvm.store
func.func private @halves(%a: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %low = ait.slice %a {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<8x32xf32>
  %high = ait.slice %a {starts = array<i64: 0, 32>, steps = array<i64: 1, 1>} : tensor<8x64xf32> -> tensor<8x32xf32>
  %n = ait.neg %high : tensor<8x32xf32>
  %c = ait.concat %n, %low {dim = 1} : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// -----

// A row shorter than a vector has a vector of the next power of two; what is
// beyond the row is masked.
// CHECK-LABEL: func.func @tail(
// CHECK: llvm.intr.masked.load {{.*}} -> vector<8xbf16>
// CHECK: arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: llvm.intr.masked.store
func.func private @tail(%a: tensor<7xbf16>) -> tensor<7xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %a : tensor<7xbf16> -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// Rows of an embedding are copied as vectors, from an address read once a row.
// CHECK-LABEL: func.func @embedding(
// CHECK: %[[INDEX:.*]] = llvm.load {{.*}} -> i64
// CHECK: arith.minsi %[[INDEX]]
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: gather
func.func private @embedding(%w: tensor<100x64xf32>, %i: tensor<12xi64>) -> tensor<12x64xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.embedding %w, %i : (tensor<100x64xf32>, tensor<12xi64>) -> tensor<12x64xf32>
  return %0 : tensor<12x64xf32>
}

// -----

// A result of at least half of the last cache is written past it, where the
// memory is aligned for that.
// CHECK-LABEL: func.func @large(
// CHECK:         %[[LOW:.*]] = arith.andi %{{.*}}, %{{.*}} : i64
// CHECK:         %[[ALIGNED:.*]] = arith.cmpi eq, %[[LOW]], %{{.*}} : i64
// CHECK:         scf.if %[[ALIGNED]]
// CHECK:           llvm.store {{.*}} {alignment = 64 : i64, nontemporal} : vector<16xf32>
// CHECK:           llvm.call_intrinsic "llvm.x86.sse.sfence"()
// CHECK:         } else {
// CHECK:           llvm.store {{.*}} {alignment = 4 : i64} : vector<16xf32>
// CHECK-NOT:       nontemporal
// CHECK:         return
// AVX2-LABEL: func.func @large(
// AVX2: llvm.store {{.*}} {alignment = 32 : i64, nontemporal} : vector<8xf32>
func.func private @large(%x: tensor<64x65536xf32>) -> tensor<64x65536xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.relu %x : tensor<64x65536xf32>
  return %r : tensor<64x65536xf32>
}

// -----

// Neither half as large a one, nor rows that are no whole vectors, nor what is
// written a column at a time.
// CHECK-LABEL: func.func @small(
// CHECK-NOT:     nontemporal
// CHECK-LABEL: func.func @odd(
// CHECK-NOT:     nontemporal
// CHECK-LABEL: func.func @transpose(
// CHECK-NOT:     nontemporal
func.func private @small(%x: tensor<32x65536xf32>) -> tensor<32x65536xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.relu %x : tensor<32x65536xf32>
  return %r : tensor<32x65536xf32>
}
func.func private @odd(%x: tensor<65536x97xf32>, %y: tensor<65536x1xf32>) -> tensor<65536x97xf32> attributes {ait.kind = #ait.kind<loop>} {
  %e = ait.expand %y : tensor<65536x1xf32> -> tensor<65536x97xf32>
  %r = ait.add %x, %e : tensor<65536x97xf32>
  return %r : tensor<65536x97xf32>
}
func.func private @transpose(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<4096x4096xf32> -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// -----

// What a branch that is not taken would read may be in no page of memory, where
// a load without lanes takes long: it reads the tensor's own memory.
// CHECK-LABEL: func.func @joined(
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> !llvm.ptr
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[A]][
// CHECK-NEXT: %[[ANY:.*]] = vector.reduction <or>, %[[LANES:.*]] : vector<16xi1> into i1
// CHECK-NEXT: %[[READ:.*]] = arith.select %[[ANY]], %[[PLACE]], %[[A]] : !llvm.ptr
// CHECK-NEXT: llvm.intr.masked.load %[[READ]], %[[LANES]],
#first = affine_map<()[s0] -> (8, s0)>
#both = affine_map<()[s0] -> (8, s0 + 78)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 64 : i64, input = 0 : i64, axis = 1 : i64}]} {
func.func private @joined(%a: tensor<8x?xf32, #first>, %b: tensor<8x78xf32>) -> tensor<8x1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.concat %a, %b {dim = 1} : (tensor<8x?xf32, #first>, tensor<8x78xf32>) -> tensor<8x?xf32, #both>
  %s = ait.sum %c {dims = array<i64: 1>} : tensor<8x?xf32, #both> -> tensor<8x1xf32>
  return %s : tensor<8x1xf32>
}
}

// -----

// The parts of a concatenation whose sizes are not known, in units that are
// blocks of a row: each ends where its part or the block ends.
// CHECK-LABEL: func.func @parts(
// CHECK-DAG: %[[FIRST:.*]] = llvm.load {{.*}} -> i64
// CHECK: scf.for
// CHECK-NOT: vector.reduction
// CHECK: %[[BLOCK:.*]] = arith.muli
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[BEGUN:.*]] = arith.maxsi %{{.*}}, %[[BLOCK]]
// CHECK: %[[SPLIT:.*]] = arith.minsi %[[BEGUN]], %[[END]]
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[SPLIT]]
// CHECK: masked.store
// CHECK: scf.for %{{.*}} = %[[SPLIT]] to
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK-NOT: scf.for
#x = affine_map<()[s0] -> (8, s0)>
#y = affine_map<()[s0, s1] -> (8, s1)>
#xy = affine_map<()[s0, s1] -> (8, s0 + s1)>
func.func private @parts(%a: tensor<8x?xf32, #x>, %b: tensor<8x?xf32, #y>) -> tensor<8x?xf32, #xy> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.concat %a, %b {dim = 1} : (tensor<8x?xf32, #x>, tensor<8x?xf32, #y>) -> tensor<8x?xf32, #xy>
  return %c : tensor<8x?xf32, #xy>
}

// -----

// A part with fewer elements than a vector has no loop over whole vectors.
// CHECK-LABEL: func.func @narrow(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: arith.subi
// CHECK: masked.store
// CHECK: scf.for
// CHECK-NOT: masked
// CHECK: llvm.store
// CHECK: scf.for
// CHECK-NEXT: arith.subi
// CHECK: masked.store
// CHECK-NOT: scf.for
// CHECK: return
#wide = affine_map<()[s0] -> (8, s0)>
#wider = affine_map<()[s0] -> (8, s0 + 3)>
func.func private @narrow(%a: tensor<8x3xf32>, %b: tensor<8x?xf32, #wide>) -> tensor<8x?xf32, #wider> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.concat %a, %b {dim = 1} : (tensor<8x3xf32>, tensor<8x?xf32, #wide>) -> tensor<8x?xf32, #wider>
  return %c : tensor<8x?xf32, #wider>
}
