// RUN: aitune-opt %s -ait-simplify | FileCheck %s
// RUN: aitune-opt %s -ait-simplify=threads-share-sums=1 | FileCheck %s --check-prefix=SHARED

#r = affine_map<()[s0] -> (s0 * 6, 8)>
#t = affine_map<()[s0] -> (s0, 6, 8)>
#n = affine_map<()[s0] -> (s0 * 6, 16)>
#o = affine_map<()[s0] -> (s0, 6, 16)>
#many = affine_map<()[s0] -> (s0, 90)>
#column = affine_map<()[s0] -> (s0, 1)>

// A linear layer on flattened rows, its bias and activation, and the rows
// unflattened: no reshape is left.
// CHECK-LABEL: func @flattened_linear
func.func @flattened_linear(%x: tensor<?x6x8xf32, #t>, %w: tensor<16x8xf32>, %b: tensor<16xf32>) -> tensor<?x6x16xf32, #o> {
  // CHECK-NOT: ait.reshape
  // CHECK: %[[M:.*]] = ait.matmul %arg0, %arg1 {transpose_rhs} : (tensor<?x6x8xf32, {{.*}}>, tensor<16x8xf32>) -> tensor<?x6x16xf32, {{.*}}>
  // CHECK: %[[E:.*]] = ait.expand %arg2 : tensor<16xf32> -> tensor<?x6x16xf32
  // CHECK: ait.add %[[M]], %[[E]]
  // CHECK-NOT: ait.reshape
  // CHECK: return
  %0 = ait.reshape %x : tensor<?x6x8xf32, #t> -> tensor<?x8xf32, #r>
  %1 = ait.matmul %0, %w {transpose_rhs} : (tensor<?x8xf32, #r>, tensor<16x8xf32>) -> tensor<?x16xf32, #n>
  %2 = ait.expand %b : tensor<16xf32> -> tensor<?x16xf32, #n>
  %3 = ait.add %1, %2 : tensor<?x16xf32, #n>
  %4 = ait.gelu %3 : tensor<?x16xf32, #n>
  %5 = ait.reshape %4 : tensor<?x16xf32, #n> -> tensor<?x6x16xf32, #o>
  return %5 : tensor<?x6x16xf32, #o>
}

// Another tensor of the reshaped sizes keeps the reshape in place.
// CHECK-LABEL: func @two_domains
func.func @two_domains(%x: tensor<6x8xf32>, %y: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK-NEXT: ait.reshape
  // CHECK-NEXT: ait.add {{.*}} : tensor<2x3x8xf32>
  // CHECK-NEXT: return
  %0 = ait.reshape %x : tensor<6x8xf32> -> tensor<2x3x8xf32>
  %1 = ait.add %0, %y : tensor<2x3x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func @below_reduction
func.func @below_reduction(%x: tensor<6x8xf32>) -> (tensor<2x3x1xf32>, tensor<2x1x8xf32>) {
  // CHECK-DAG: ait.sum %arg0 {dims = array<i64: 1>} : tensor<6x8xf32> -> tensor<6x1xf32>
  // CHECK-DAG: ait.sum %{{.*}} {dims = array<i64: 1>} : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
  %0 = ait.reshape %x : tensor<6x8xf32> -> tensor<2x3x8xf32>
  %1 = ait.sum %0 {dims = array<i64: 2>} : tensor<2x3x8xf32> -> tensor<2x3x1xf32>
  %2 = ait.sum %0 {dims = array<i64: 1>} : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
  return %1, %2 : tensor<2x3x1xf32>, tensor<2x1x8xf32>
}

// Axes that the reshape merges are reduced together, so that what follows and
// the reduction read the tensor at the same sizes.
// CHECK-LABEL: func @below_reduction_of_merged
func.func @below_reduction_of_merged(%x: tensor<2x3x8xf32>) -> tensor<2x24xf32> {
  // CHECK: %[[MAX:.*]] = ait.amax %arg0 {dims = array<i64: 1, 2>} : tensor<2x3x8xf32> -> tensor<2x1x1xf32>
  // CHECK: ait.div %arg0, %{{.*}} : tensor<2x3x8xf32>
  %0 = ait.reshape %x : tensor<2x3x8xf32> -> tensor<2x24xf32>
  %1 = ait.amax %0 {dims = array<i64: 1>} : tensor<2x24xf32> -> tensor<2x1xf32>
  %2 = ait.expand %1 : tensor<2x1xf32> -> tensor<2x24xf32>
  %3 = ait.div %0, %2 : tensor<2x24xf32>
  return %3 : tensor<2x24xf32>
}

// The index in merged axes is none in the axes before.
// CHECK-LABEL: func @index_in_merged
func.func @index_in_merged(%x: tensor<2x3x8xf32>) -> (tensor<2x1xi64>, tensor<2x1x8xi64>) {
  // CHECK-DAG: %[[FLAT:.*]] = ait.reshape %arg0 : tensor<2x3x8xf32> -> tensor<2x24xf32>
  // CHECK-DAG: ait.argmax %[[FLAT]] {dims = array<i64: 1>} : tensor<2x24xf32> -> tensor<2x1xi64>
  // CHECK-DAG: ait.argmin %arg0 {dims = array<i64: 1>}
  %0 = ait.reshape %x : tensor<2x3x8xf32> -> tensor<2x24xf32>
  %1 = ait.argmax %0 {dims = array<i64: 1>} : tensor<2x24xf32> -> tensor<2x1xi64>
  %2 = ait.argmin %x {dims = array<i64: 1>} : tensor<2x3x8xf32> -> tensor<2x1x8xi64>
  return %1, %2 : tensor<2x1xi64>, tensor<2x1x8xi64>
}

// A mask is computed before it is broadcast.
// CHECK-LABEL: func @mask
func.func @mask(%x: tensor<2x1x1x7xf32>) -> tensor<2x3x5x7xf32> {
  // CHECK: ait.sub {{.*}} : tensor<2x1x1x7xf32>
  // CHECK: ait.mul {{.*}} : tensor<2x1x1x7xf32>
  // CHECK: %[[E:.*]] = ait.expand
  // CHECK: return %[[E]]
  %0 = ait.expand %x : tensor<2x1x1x7xf32> -> tensor<2x3x5x7xf32>
  %1 = ait.full 1.0 : f32 : tensor<2x3x5x7xf32>
  %2 = ait.sub %1, %0 : tensor<2x3x5x7xf32>
  %3 = ait.full -1.0e9 : f32 : tensor<2x3x5x7xf32>
  %4 = ait.mul %2, %3 : tensor<2x3x5x7xf32>
  return %4 : tensor<2x3x5x7xf32>
}

// The second third of a fused projection, as heads.
// CHECK-LABEL: func @heads_of_projection
func.func @heads_of_projection(%x: tensor<2x5x24xf32>) -> tensor<2x5x2x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = ait.reshape %arg0 : tensor<2x5x24xf32> -> tensor<2x5x6x4xf32>
  // CHECK-NEXT: %[[S:.*]] = ait.slice %[[R]] {starts = array<i64: 0, 0, 2, 0>, steps = array<i64: 1, 1, 1, 1>}
  // CHECK-NEXT: return %[[S]]
  %0 = ait.slice %x {starts = array<i64: 0, 0, 8>, steps = array<i64: 1, 1, 1>} : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
  %1 = ait.reshape %0 : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
  return %1 : tensor<2x5x2x4xf32>
}

// Of one token the heads come before it, which moves axes of size 1 alone.
// CHECK-LABEL: func @heads_of_one_token
func.func @heads_of_one_token(%x: tensor<1x1x24xf32>) -> tensor<1x2x1x4xf32> {
  // CHECK: %[[R:.*]] = ait.reshape %arg0 : tensor<1x1x24xf32> -> tensor<1x6x1x4xf32>
  // CHECK-NEXT: ait.slice %[[R]] {starts = array<i64: 0, 2, 0, 0>, steps = array<i64: 1, 1, 1, 1>}
  %0 = ait.slice %x {starts = array<i64: 0, 0, 8>, steps = array<i64: 1, 1, 1>} : tensor<1x1x24xf32> -> tensor<1x1x8xf32>
  %1 = ait.reshape %0 : tensor<1x1x8xf32> -> tensor<1x1x2x4xf32>
  %2 = ait.permute %1 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x1x2x4xf32> -> tensor<1x2x1x4xf32>
  return %2 : tensor<1x2x1x4xf32>
}

// An axis that the reshape drops has no place to be sliced at.
// CHECK-LABEL: func @last_element
func.func @last_element(%x: tensor<5xf32>) -> tensor<f32> {
  // CHECK: %[[LAST:.*]] = ait.slice %arg0 {{.*}} -> tensor<1xf32>
  // CHECK-NEXT: ait.reshape %[[LAST]]
  %0 = ait.slice %x {starts = array<i64: 4>, steps = array<i64: 1>} : tensor<5xf32> -> tensor<1xf32>
  %1 = ait.reshape %0 : tensor<1xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// A slice that cuts through a head stays.
// CHECK-LABEL: func @cut_head
func.func @cut_head(%x: tensor<2x5x24xf32>) -> tensor<2x5x2x4xf32> {
  // CHECK-NEXT: ait.slice %arg0
  // CHECK-NEXT: ait.reshape
  %0 = ait.slice %x {starts = array<i64: 0, 0, 6>, steps = array<i64: 1, 1, 1>} : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
  %1 = ait.reshape %0 : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
  return %1 : tensor<2x5x2x4xf32>
}

// Patches of a channels-last image as a sequence are no copy.
// CHECK-LABEL: func @patches
func.func @patches(%x: tensor<2x3x5x8xf32>) -> tensor<2x15x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = ait.reshape %arg0 : tensor<2x3x5x8xf32> -> tensor<2x15x8xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = ait.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x3x5x8xf32> -> tensor<2x8x3x5xf32>
  %1 = ait.reshape %0 : tensor<2x8x3x5xf32> -> tensor<2x8x15xf32>
  %2 = ait.permute %1 {permutation = array<i64: 0, 2, 1>} : tensor<2x8x15xf32> -> tensor<2x15x8xf32>
  return %2 : tensor<2x15x8xf32>
}

// Heads written behind each other are a copy.
// CHECK-LABEL: func @merged_heads
func.func @merged_heads(%x: tensor<2x3x5x8xf32>) -> tensor<2x5x24xf32> {
  // CHECK-NEXT: ait.permute
  // CHECK-NEXT: ait.reshape
  %0 = ait.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x8xf32> -> tensor<2x5x3x8xf32>
  %1 = ait.reshape %0 : tensor<2x5x3x8xf32> -> tensor<2x5x24xf32>
  return %1 : tensor<2x5x24xf32>
}

// CHECK-LABEL: func @transposed_keys
func.func @transposed_keys(%q: tensor<2x3x5x8xf32>, %k: tensor<2x7x3x8xf32>) -> tensor<2x3x5x7xf32> {
  // CHECK-NEXT: %[[K:.*]] = ait.permute %arg1 {permutation = array<i64: 0, 2, 1, 3>}
  // CHECK-NEXT: ait.matmul %arg0, %[[K]] {transpose_rhs}
  %0 = ait.permute %k {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x7x3x8xf32> -> tensor<2x3x8x7xf32>
  %1 = ait.matmul %q, %0 : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  return %1 : tensor<2x3x5x7xf32>
}

// CHECK-LABEL: func @shared_weight
func.func @shared_weight(%x: tensor<2x5x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK-NEXT: ait.matmul %arg0, %arg1 : (tensor<2x5x8xf32>, tensor<8x4xf32>)
  %0 = ait.expand %w : tensor<8x4xf32> -> tensor<2x8x4xf32>
  %1 = ait.matmul %x, %0 : (tensor<2x5x8xf32>, tensor<2x8x4xf32>) -> tensor<2x5x4xf32>
  return %1 : tensor<2x5x4xf32>
}

// Exact reciprocals only; -0 + 0 is not -0.
// CHECK-LABEL: func @arithmetic
func.func @arithmetic(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[EIGHTH:.*]] = ait.full 1.250000e-01 : f32
  // CHECK-DAG: %[[THREE:.*]] = ait.full 3.000000e+00 : f32
  // CHECK-DAG: %[[ZERO:.*]] = ait.full 0.000000e+00 : f32
  // CHECK-DAG: %[[A:.*]] = ait.mul %arg0, %[[EIGHTH]]
  // CHECK-DAG: %[[B:.*]] = ait.div %arg0, %[[THREE]]
  // CHECK-DAG: %[[C:.*]] = ait.mul %arg0, %arg0
  // CHECK-DAG: %[[D:.*]] = ait.add %arg0, %[[ZERO]]
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %arg0
  %eight = ait.full 8.0 : f32 : tensor<4xf32>
  %three = ait.full 3.0 : f32 : tensor<4xf32>
  %two = ait.full 2.0 : f32 : tensor<4xf32>
  %one = ait.full 1.0 : f32 : tensor<4xf32>
  %zero = ait.full 0.0 : f32 : tensor<4xf32>
  %0 = ait.div %x, %eight : tensor<4xf32>
  %1 = ait.div %x, %three : tensor<4xf32>
  %2 = ait.pow %x, %two : tensor<4xf32>
  %3 = ait.add %x, %zero : tensor<4xf32>
  %4 = ait.mul %one, %x : tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A sum over no elements: the reshape changes the number of rows.
// CHECK-LABEL: func.func @matmul_of_no_elements
func.func @matmul_of_no_elements(%x: tensor<1x3x0xf32>, %w: tensor<0x2xf32>) -> tensor<1x2xf32> {
  // CHECK: %[[ROW:.*]] = ait.reshape %{{.*}} : tensor<1x3x0xf32> -> tensor<1x0xf32>
  // CHECK: ait.matmul %[[ROW]], %{{.*}} -> tensor<1x2xf32>
  %0 = ait.reshape %x : tensor<1x3x0xf32> -> tensor<1x0xf32>
  %1 = ait.matmul %0, %w : (tensor<1x0xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// As many elements as a matrix, but one row for each of the batch.
// CHECK-LABEL: func @repeated_rows
func.func @repeated_rows(%x: tensor<4x3x4xf32>, %w: tensor<4x1x5xf32>) -> tensor<4x3x5xf32> {
  // CHECK: ait.matmul %arg0, {{.*}} : (tensor<4x3x4xf32>, tensor<4x4x5xf32>) -> tensor<4x3x5xf32>
  %0 = ait.expand %w : tensor<4x1x5xf32> -> tensor<4x4x5xf32>
  %1 = ait.matmul %x, %0 : (tensor<4x3x4xf32>, tensor<4x4x5xf32>) -> tensor<4x3x5xf32>
  return %1 : tensor<4x3x5xf32>
}

// CHECK-LABEL: func @repeated_columns
func.func @repeated_columns(%x: tensor<5x3x4xf32>, %w: tensor<5x4x1xf32>) -> tensor<5x3x5xf32> {
  // CHECK: ait.matmul %arg0, {{.*}} : (tensor<5x3x4xf32>, tensor<5x4x5xf32>) -> tensor<5x3x5xf32>
  %0 = ait.expand %w : tensor<5x4x1xf32> -> tensor<5x4x5xf32>
  %1 = ait.matmul %x, %0 : (tensor<5x3x4xf32>, tensor<5x4x5xf32>) -> tensor<5x3x5xf32>
  return %1 : tensor<5x3x5xf32>
}

// What was rounded stays so if the next conversion reads past the one that
// said it.
// CHECK-LABEL: func.func @rounded_and_widened_twice
func.func @rounded_and_widened_twice(%x: tensor<4xf16>) -> (tensor<4xf64>, tensor<4xf64>) {
  // CHECK-DAG: %[[R:.*]] = ait.convert %arg0 {ait.rounds} : tensor<4xf16> -> tensor<4xf64>
  // CHECK-DAG: %[[P:.*]] = ait.convert %arg0 : tensor<4xf16> -> tensor<4xf64>
  // CHECK: return %[[R]], %[[P]]
  %0 = ait.convert %x {ait.rounds} : tensor<4xf16> -> tensor<4xf32>
  %1 = ait.convert %0 : tensor<4xf32> -> tensor<4xf64>
  %2 = ait.convert %x : tensor<4xf16> -> tensor<4xf32>
  %3 = ait.convert %2 : tensor<4xf32> -> tensor<4xf64>
  return %1, %3 : tensor<4xf64>, tensor<4xf64>
}

// A byte has no sign, and the root of minus infinity is no number, as its power
// by one half is.
// CHECK-LABEL: func.func @numbers_as_they_are
func.func @numbers_as_they_are(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[BYTE:.*]] = ait.full 2.000000e+02 : f32
  // CHECK-DAG: %[[POWER:.*]] = ait.pow %arg0
  // CHECK: return %[[BYTE]], %[[POWER]]
  %byte = ait.full 200 : ui8 : tensor<4xui8>
  %half = ait.full 0.5 : f32 : tensor<4xf32>
  %0 = ait.convert %byte : tensor<4xui8> -> tensor<4xf32>
  %1 = ait.pow %x, %half : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Few results of a product are sums.
// CHECK-LABEL: func.func @dot
// CHECK-SAME: (%[[X:.*]]: tensor<1x500xbf16>, %[[Y:.*]]: tensor<500x1xbf16>)
// CHECK-DAG: %[[A:.*]] = ait.convert %[[X]] : tensor<1x500xbf16> -> tensor<1x500xf32>
// CHECK-DAG: %[[B:.*]] = ait.convert %[[Y]] : tensor<500x1xbf16> -> tensor<500x1xf32>
// CHECK: %[[C:.*]] = ait.reshape %[[B]] : tensor<500x1xf32> -> tensor<1x500xf32>
// CHECK: %[[P:.*]] = ait.mul %[[A]], %[[C]] : tensor<1x500xf32>
// CHECK: %[[S:.*]] = ait.sum %[[P]] {dims = array<i64: 1>}
// CHECK: ait.convert %[[S]] : tensor<1x1xf32> -> tensor<1x1xbf16>
func.func @dot(%x: tensor<1x500xbf16>, %y: tensor<500x1xbf16>) -> tensor<1x1xbf16> {
  %0 = ait.matmul %x, %y : (tensor<1x500xbf16>, tensor<500x1xbf16>) -> tensor<1x1xbf16>
  return %0 : tensor<1x1xbf16>
}

// CHECK-LABEL: func.func @few_columns
// CHECK: %[[X:.*]] = ait.expand %arg0 : tensor<6x1x90xf32> -> tensor<6x3x90xf32>
// CHECK: %[[P:.*]] = ait.mul %[[X]],
// CHECK: %[[S:.*]] = ait.sum %[[P]] {dims = array<i64: 2>} : tensor<6x3x90xf32> -> tensor<6x3x1xf32>
// CHECK: ait.reshape %[[S]] : tensor<6x3x1xf32> -> tensor<6x1x3xf32>
func.func @few_columns(%x: tensor<6x1x90xf32>, %y: tensor<6x3x90xf32>) -> tensor<6x1x3xf32> {
  %0 = ait.matmul %x, %y {transpose_rhs} : (tensor<6x1x90xf32>, tensor<6x3x90xf32>) -> tensor<6x1x3xf32>
  return %0 : tensor<6x1x3xf32>
}

// Not those of columns that are not in order, of many of little depth, or of
// many rows of a constant.
// CHECK-LABEL: func.func @not_sums
// CHECK-COUNT-4: ait.matmul
// CHECK-NOT: ait.sum
func.func @not_sums(%x: tensor<1x90xf32>, %y: tensor<90x3xf32>, %z: tensor<9x60xf32>, %u: tensor<100x60xf32>) -> (tensor<1x3xf32>, tensor<1x9xf32>, tensor<100x1xf32>, tensor<1x9xf32>) {
  %0 = ait.matmul %x, %y : (tensor<1x90xf32>, tensor<90x3xf32>) -> tensor<1x3xf32>
  %short = ait.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<1x90xf32> -> tensor<1x60xf32>
  %1 = ait.matmul %short, %z {transpose_rhs} : (tensor<1x60xf32>, tensor<9x60xf32>) -> tensor<1x9xf32>
  %2 = ait.matmul %u, %short {transpose_rhs} : (tensor<100x60xf32>, tensor<1x60xf32>) -> tensor<100x1xf32>
  %w = ait.constant 0 {name = "weight"} : tensor<9x90xf32>
  %3 = ait.matmul %x, %w {transpose_rhs} : (tensor<1x90xf32>, tensor<9x90xf32>) -> tensor<1x9xf32>
  return %0, %1, %2, %3 : tensor<1x3xf32>, tensor<1x9xf32>, tensor<100x1xf32>, tensor<1x9xf32>
}

// Many of them, of float64 and of great depth, are sums where one thread
// computes each.
// CHECK-LABEL: func.func @many_sums
// CHECK-NOT: ait.matmul
// CHECK-COUNT-4: ait.sum
// CHECK: return
// SHARED-LABEL: func.func @many_sums
// SHARED-COUNT-4: ait.matmul
func.func @many_sums(%x: tensor<1x90xf32>, %z: tensor<9x90xf32>, %u: tensor<1x40000xf32>, %v: tensor<40000x1xf32>, %a: tensor<?x90xf32, #many>, %d: tensor<9x90xf64>, %e: tensor<90x1xf64>) -> (tensor<1x9xf32>, tensor<1x1xf32>, tensor<?x1xf32, #column>, tensor<9x1xf64>) {
  %0 = ait.matmul %x, %z {transpose_rhs} : (tensor<1x90xf32>, tensor<9x90xf32>) -> tensor<1x9xf32>
  %1 = ait.matmul %u, %v : (tensor<1x40000xf32>, tensor<40000x1xf32>) -> tensor<1x1xf32>
  %2 = ait.matmul %a, %x {transpose_rhs} : (tensor<?x90xf32, #many>, tensor<1x90xf32>) -> tensor<?x1xf32, #column>
  %3 = ait.matmul %d, %e : (tensor<9x90xf64>, tensor<90x1xf64>) -> tensor<9x1xf64>
  return %0, %1, %2, %3 : tensor<1x9xf32>, tensor<1x1xf32>, tensor<?x1xf32, #column>, tensor<9x1xf64>
}
