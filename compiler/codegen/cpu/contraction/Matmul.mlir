// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512 | FileCheck %s
// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=avx512bf16 | FileCheck %s --check-prefix=PAIRS
// RUN: aitune-opt %s -split-input-file -mlir-print-local-scope -ait-cpu-lower-contractions=target=amx | FileCheck %s --check-prefix=AMX
// RUN: not aitune-opt %s -split-input-file -ait-cpu-lower-contractions=target=sse 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: unknown target "sse"; known are host, avx2, avx512, avx512bf16 and amx

// A constant right side is read in panels; a register tile of 8 x 48 runs down
// the rows, which divide evenly: one microkernel, no rest. It asks for its
// panel some steps ahead, and for a quarter of the next one, as all of them do
// not stay in the cache; the rows of the left side do.
// CHECK-LABEL: func.func @constant_rhs(
// CHECK-SAME: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME: ait.config = {grain = 0 : i64, kc = 0 : i64, mc = 128 : i64, mr = 8 : i64, nr = 48 : i64
// CHECK-SAME: ait.grid = affine_map<() -> (16)>
// CHECK-SAME: ait.packings = [#ait.packing<argument = 1, layout = matmul_panels, block_columns = 48>]
// CHECK: llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: scf.for
// CHECK-COUNT-3: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK-COUNT-1: "llvm.intr.prefetch"{{.*}}hint = 2
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK-COUNT-24: llvm.intr.fma{{.*}}vector<16xf32>
// CHECK-NOT: llvm.intr.fma
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: llvm.store
// CHECK-NOT: masked
// CHECK: return
func.func private @constant_rhs(%a: tensor<128x768xf32>, %b: tensor<768x768xf32> {ait.constant}, %bias: tensor<768xf32>)
    -> tensor<128x768xf32> attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %a, %b : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  %1 = ait.expand %bias : tensor<768xf32> -> tensor<128x768xf32>
  %2 = ait.add %0, %1 : tensor<128x768xf32>
  return %2 : tensor<128x768xf32>
}

// -----

// More rows than stay in the cache: a tile asks for those of the next one, 8
// elements a step. So many tiles read a panel that the first may wait for it.
// CHECK-LABEL: func.func @many_rows(
// CHECK-SAME: mr = 8 : i64, nr = 48 : i64, panels = 1 : i64, panels_outer = true
// CHECK-COUNT-3: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c32_i64
// CHECK-NEXT: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]] {{.*}}, i8
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{{.*}}hint = 2
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: llvm.intr.fma
func.func private @many_rows(%a: tensor<1024x384xf32>, %b: tensor<384x768xf32> {ait.constant}) -> tensor<1024x768xf32>
    attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %a, %b : (tensor<1024x384xf32>, tensor<384x768xf32>) -> tensor<1024x768xf32>
  return %0 : tensor<1024x768xf32>
}

// Two panels of so many steps have no room in the cache: only rows are asked for.
// CHECK-LABEL: func.func @long_panels(
// CHECK-SAME: panels_outer = true
// CHECK-COUNT-1: "llvm.intr.prefetch"{{.*}}hint = 2
// CHECK-NOT: hint = 2
// CHECK: llvm.intr.fma
func.func private @long_panels(%a: tensor<128x3072xf32>, %b: tensor<3072x768xf32> {ait.constant}) -> tensor<128x768xf32>
    attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %a, %b : (tensor<128x3072xf32>, tensor<3072x768xf32>) -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}

// The panels of a block read its rows from the cache, all but the first.
// CHECK-LABEL: func.func @many_panels(
// CHECK-SAME: panels_outer = false
// CHECK: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK-NOT: hint = 2
// CHECK: llvm.intr.fma
func.func private @many_panels(%a: tensor<3600x160xf32>, %b: tensor<160x640xf32> {ait.constant}) -> tensor<3600x640xf32>
    attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %a, %b : (tensor<3600x160xf32>, tensor<160x640xf32>) -> tensor<3600x640xf32>
  return %0 : tensor<3600x640xf32>
}

// What stays in the cache is not asked for.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: llvm.intr.fma
func.func private @small(%a: tensor<64x64xf32>, %b: tensor<64x128xf32> {ait.constant}) -> tensor<64x128xf32>
    attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {
  %0 = ait.matmul %a, %b : (tensor<64x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// -----

// One row: a matrix times a vector, units over panels. The last panel's columns
// that do not exist are masked.
// CHECK-LABEL: func.func @one_row(
// CHECK-SAME: mr = 1 : i64, nr = 64 : i64
// CHECK-SAME: ait.grid = affine_map<() -> (16)>
// CHECK-SAME: layout = matmul_panels, block_columns = 64, transposed = true>
// CHECK-COUNT-4: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.intr.masked.store
func.func private @one_row(%a: tensor<1x300xf32>, %b: tensor<1001x300xf32> {ait.constant}) -> tensor<1x1001xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<1x300xf32>, tensor<1001x300xf32>) -> tensor<1x1001xf32>
  return %0 : tensor<1x1001xf32>
}

// -----

// Rows from a symbol: the grid is an expression, and tiles of halving sizes
// cover what is left.
// CHECK-LABEL: func.func @dynamic_rows(
// CHECK-SAME: ait.grid = affine_map<()[s0] -> ({{.*}}s0 ceildiv
// CHECK-COUNT-45: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
func.func private @dynamic_rows(%a: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, %b: tensor<64x48xf32> {ait.constant})
    -> tensor<?x48xf32, affine_map<()[s0] -> (s0, 48)>> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, tensor<64x48xf32>)
    -> tensor<?x48xf32, affine_map<()[s0] -> (s0, 48)>>
  return %0 : tensor<?x48xf32, affine_map<()[s0] -> (s0, 48)>>
}

// -----

// bf16: products of pairs where the CPU has them, else the left side is widened
// into a copy and the right side as it is loaded.
// CHECK-LABEL: func.func @bf16(
// CHECK-SAME: layout = matmul_panels, block_columns = {{[0-9]+}}>
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: llvm.intr.fma
// PAIRS-LABEL: func.func @bf16(
// PAIRS-SAME: layout = matmul_panels, block_columns = {{[0-9]+}}, steps_together = 2>
// PAIRS-NOT: arith.extf
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// PAIRS: arith.truncf
// AMX-LABEL: func.func @bf16(
// AMX-SAME: layout = matmul_panels, block_columns = 32, steps_together = 2>
// AMX: llvm.call_intrinsic "llvm.x86.tilezero.internal"
// AMX: scf.for {{.*}} -> (!llvm.x86_amx, !llvm.x86_amx)
// AMX-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// AMX: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// AMX-LABEL: func.func @bf16_odd(
// AMX-NOT: llvm.x86.tdpbf16ps.internal
// AMX: llvm.x86.avx512bf16.dpbf16ps.512
func.func private @bf16(%a: tensor<16x64xbf16>, %b: tensor<64x64xbf16> {ait.constant}) -> tensor<16x64xbf16>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b : (tensor<16x64xbf16>, tensor<64x64xbf16>) -> tensor<16x64xf32>
  %1 = ait.convert %0 : tensor<16x64xf32> -> tensor<16x64xbf16>
  return %1 : tensor<16x64xbf16>
}

// AMX's tiles take 32 steps at once.
func.func private @bf16_odd(%a: tensor<16x50xbf16>, %b: tensor<50x64xbf16> {ait.constant}) -> tensor<16x64xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b : (tensor<16x50xbf16>, tensor<50x64xbf16>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}

// -----

// Codes of 8 bits: many rows widen a panel of them once for all rows, to bf16
// in pairs where the CPU multiplies these; few rows widen them as they load.
// CHECK-LABEL: func.func @codes(
// CHECK-SAME: layout = matmul_panels, block_columns = {{[0-9]+}}, transposed = true>
// CHECK: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// CHECK: llvm.intr.fma
// CHECK-NOT: arith.sitofp
// PAIRS-LABEL: func.func @codes(
// PAIRS-SAME: layout = matmul_panels, block_columns = {{[0-9]+}}, transposed = true>
// PAIRS: llvm.alloca {{.*}} x bf16
// PAIRS: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// PAIRS: arith.shrui
// PAIRS: arith.ori
// PAIRS: llvm.x86.avx512bf16.dpbf16ps.512
// PAIRS-NOT: arith.sitofp
// AMX-LABEL: func.func @codes(
// AMX-SAME: layout = matmul_panels, block_columns = {{[0-9]+}}, transposed = true>
// AMX: arith.ori
// AMX: llvm.x86.tdpbf16ps.internal
func.func private @codes(%a: tensor<64x96xbf16>, %b: tensor<128x96xi8> {ait.constant}) -> tensor<64x128xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<64x96xbf16>, tensor<128x96xi8>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// Two sides of codes: four steps at once, or 64 in the tiles of AMX.
// PAIRS-LABEL: func.func @codes_on_both_sides(
// PAIRS: llvm.x86.avx512.vpdpbusd.512
// AMX-LABEL: func.func @codes_on_both_sides(
// AMX-SAME: layout = matmul_panels, block_columns = 32, steps_together = 4, transposed = true>
// AMX-COUNT-16: llvm.intr.prefetch
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbusd.internal"
// AMX-NOT: vpdpbusd
// AMX-LABEL: func.func @codes_on_both_sides_odd(
// AMX-NOT: llvm.x86.tdpbusd.internal
// AMX: llvm.x86.avx512.vpdpbusd.512
func.func private @codes_on_both_sides(%a: tensor<64x128xui8>, %b: tensor<128x128xi8> {ait.constant}) -> tensor<64x128xi32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<64x128xui8>, tensor<128x128xi8>) -> tensor<64x128xi32>
  return %0 : tensor<64x128xi32>
}

func.func private @codes_on_both_sides_odd(%a: tensor<64x96xui8>, %b: tensor<128x96xi8> {ait.constant}) -> tensor<64x128xi32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<64x96xui8>, tensor<128x96xi8>) -> tensor<64x128xi32>
  return %0 : tensor<64x128xi32>
}

// CHECK-LABEL: func.func @codes_of_one_row(
// CHECK: arith.sitofp
// CHECK: llvm.intr.fma
// PAIRS-LABEL: func.func @codes_of_one_row(
// PAIRS-NOT: dpbf16ps
// PAIRS: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// PAIRS: llvm.intr.fma
func.func private @codes_of_one_row(%a: tensor<1x96xbf16>, %b: tensor<128x96xi8> {ait.constant}) -> tensor<1x128xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<1x96xbf16>, tensor<128x96xi8>) -> tensor<1x128xf32>
  return %0 : tensor<1x128xf32>
}

// -----

// A transposed right side that is no constant is transposed in registers, panel
// by panel; few rows of a row-major one are multiplied as they lie.
// CHECK-LABEL: func.func @transposed_operand(
// CHECK-SAME: ait.packings = []
// CHECK: vector.shuffle
// CHECK: llvm.intr.fma
func.func private @transposed_operand(%a: tensor<2x40x32xf32>, %b: tensor<2x48x32xf32>) -> tensor<2x40x48xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<2x40x32xf32>, tensor<2x48x32xf32>) -> tensor<2x40x48xf32>
  return %0 : tensor<2x40x48xf32>
}

// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT: vector.shuffle
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.fma
func.func private @few_rows(%a: tensor<2x4x32xf32>, %b: tensor<2x32x50xf32>) -> tensor<2x4x50xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %a, %b : (tensor<2x4x32xf32>, tensor<2x32x50xf32>) -> tensor<2x4x50xf32>
  return %0 : tensor<2x4x50xf32>
}
