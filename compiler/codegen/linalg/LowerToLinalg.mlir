// RUN: aitune-opt %s --ait-lower-to-linalg --split-input-file --verify-diagnostics | FileCheck %s

#full = affine_map<()[s0] -> (s0, 128)>
#row = affine_map<()[s0] -> (s0, 1)>

// Sizes come from the module's symbols; views are indexing maps; constants
// stand inside the bodies.
// CHECK-LABEL: func.func private @dynamic_row
// CHECK-SAME: %[[X:.*]]: tensor<?x128xf32,
// CHECK: %[[S:.*]] = ait.symbol 0
// CHECK: tensor.empty(%[[S]]) : tensor<?x1xf32
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins(%[[X]]
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: %[[COUNT:.*]] = arith.constant 1.280000e+02 : f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: arith.mulf %[[B:.*]], %[[B]]
// CHECK-NOT: math.powf
func.func private @dynamic_row(%x: tensor<?x128xf32, #full>) -> tensor<?x128xf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.mean %x {dims = array<i64: 1>} : tensor<?x128xf32, #full> -> tensor<?x1xf32, #row>
  %e = ait.expand %m : tensor<?x1xf32, #row> -> tensor<?x128xf32, #full>
  %two = ait.full 2.0 : f32 : tensor<?x128xf32, #full>
  %p = ait.pow %e, %two : tensor<?x128xf32, #full>
  return %p : tensor<?x128xf32, #full>
}

// -----

// CHECK: #[[PERMUTED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: #[[SLICED:.*]] = affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>
// CHECK-LABEL: func.func private @views
// CHECK: linalg.generic {indexing_maps = [#[[PERMUTED]],
// CHECK: linalg.generic {indexing_maps = [#[[SLICED]],
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<6x2xf32> into tensor<12xf32>
func.func private @views(%x: tensor<4x6xf32>) -> tensor<12xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = ait.slice %0 {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>} : tensor<6x4xf32> -> tensor<6x2xf32>
  %2 = ait.reshape %1 : tensor<6x2xf32> -> tensor<12xf32>
  return %2 : tensor<12xf32>
}

// -----

// A read outside the input stands in the branch that is not taken.
// CHECK-LABEL: func.func private @pad
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: scf.if %[[INSIDE]] -> (f32)
// CHECK-NEXT: tensor.extract
// CHECK: else
// CHECK-NEXT: arith.constant 7.0
func.func private @pad(%x: tensor<4x6xf32>) -> tensor<4x9xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.pad %x {low = array<i64: 0, 1>, high = array<i64: 0, 2>, value = 7.0} : tensor<4x6xf32> -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}

// -----

// A window without padding is never out of range: no branch.
// CHECK-LABEL: func.func private @pool
// CHECK: linalg.generic
// CHECK-SAME: "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"
// CHECK-NOT: scf.if
// CHECK: tensor.extract
// CHECK: arith.maximumf
func.func private @pool(%x: tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, channels_last} : tensor<1x8x8x16xf32> -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// -----

// ui8 tensors are carried as i8; the conversion knows the sign.
// CHECK-LABEL: func.func private @unsigned
// CHECK: tensor.bitcast %{{.*}} : tensor<4xui8> to tensor<4xi8>
// CHECK: arith.uitofp %{{.*}} : i8 to f32
func.func private @unsigned(%x: tensor<4xui8>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.convert %x : tensor<4xui8> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Other kernels are left alone.
// CHECK-LABEL: func.func private @contraction
// CHECK: ait.matmul
func.func private @contraction(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func private @refused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ait.kind = #ait.kind<loop>} {
  // expected-error @below {{has no lowering inside a loop kernel; decompose it or keep it out of the kernel}}
  %0 = ait.softmax %x {dim = 1} : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// An index is limited whatever it is, and the one that failed is reported. A
// silent check only limits.
// CHECK-LABEL: func.func private @checks
// CHECK-SAME: ait.checks = [{number = 0 : i64, operator = "aten::index", size = #{{.*}}}, {number = 2 : i64, operator = "aten::fmod"}]
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[X]] : i32 to i64
// CHECK: %[[BAD:.*]] = arith.cmpi uge, %[[WIDE]]
// CHECK: %[[R:.*]] = ait.report %[[WIDE]] if %[[BAD]] of %[[WIDE]] {check = 0 : i64} : i64
// CHECK: arith.minsi %[[R]]
// CHECK: arith.maxsi
// CHECK: linalg.generic
// CHECK: arith.addi
// CHECK-NOT: ait.report
// CHECK: linalg.generic
// CHECK: %[[ZERO:.*]] = arith.cmpi eq
// CHECK: ait.report %{{.*}} if %[[ZERO]] of %{{.*}} {check = 1 : i64} : i32
// CHECK: arith.select %[[ZERO]]
func.func private @checks(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.check %x {size = affine_map<()[] -> (10)>, operator_name = "aten::index", number = 0 : i64} : tensor<8xi32>
  %1 = ait.check %x {size = affine_map<()[] -> (10)>, from_end, silent, operator_name = "aten::take", number = 1 : i64} : tensor<8xi32>
  %2 = ait.check %x {operator_name = "aten::fmod", number = 2 : i64} : tensor<8xi32>
  return %0, %1, %2 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}

// -----

// A table that may have no rows is not read then.
// CHECK-LABEL: func.func private @empty_table
// CHECK: scf.if
// CHECK: tensor.extract
// CHECK: } else {
func.func private @empty_table(%w: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, %i: tensor<3xi64>) -> tensor<3x4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.embedding %w, %i : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
