// RUN: aitune-opt %s -split-input-file -ait-quantize-layers=quantization=int8wo 2>%t.layers | FileCheck %s
// RUN: FileCheck %s --check-prefix=LAYERS --input-file=%t.layers
// RUN: aitune-opt %s -split-input-file -ait-quantize-layers=quantization=int8dq | FileCheck %s --check-prefix=DYNAMIC
// RUN: aitune-opt %s -split-input-file -ait-quantize-layers="quantization=fp8dq cuda=1" | FileCheck %s --check-prefix=FLOAT8
// RUN: not aitune-opt %s -split-input-file -ait-quantize-layers=quantization=fp8dq 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: Float8 dynamic quantization requires CUDA compute capability
// RUN: not aitune-opt %s -split-input-file -ait-quantize-layers=quantization=int9 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: Invalid quantization: int9. Must be one of: ['int8wo', 'int8dq', 'fp8wo', 'fp8dq']

// The scales of the rows of a weight are factors of columns of the product,
// which is rounded to its type once.
// CHECK-LABEL: func.func @one(
// CHECK-SAME: %[[X:.*]]: tensor<2x8xbf16>
// CHECK-DAG: %[[CODES:.*]] = ait.constant 1000 {{.*}} : tensor<4x8xi8>
// CHECK-DAG: %[[SCALES:.*]] = ait.constant 1001 {{.*}} : tensor<4xf32>
// CHECK: %[[PRODUCT:.*]] = ait.matmul %[[X]], %[[CODES]] {transpose_rhs} : (tensor<2x8xbf16>, tensor<4x8xi8>) -> tensor<2x4xf32>
// CHECK: %[[FACTORS:.*]] = ait.expand %[[SCALES]]
// CHECK: %[[SCALED:.*]] = ait.mul %[[PRODUCT]], %[[FACTORS]]
// CHECK: %[[RESULT:.*]] = ait.convert %[[SCALED]] : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: return %[[RESULT]]
// LAYERS: layer 8x4: int8wo

// Codes of the activation: a row's greatest magnitude over 127.5, at least
// 2^-23, gives its scale; a signed code plus 128 is an unsigned one, which the
// sums of the weight's codes take off again.
// DYNAMIC-LABEL: func.func @one(
// DYNAMIC-SAME: %[[X:.*]]: tensor<2x8xbf16>
// DYNAMIC: %[[F:.*]] = ait.convert %[[X]] : tensor<2x8xbf16> -> tensor<2x8xf32>
// DYNAMIC: ait.abs %[[F]]
// DYNAMIC: ait.amax
// DYNAMIC: ait.div
// DYNAMIC: %[[SCALE:.*]] = ait.maximum {{.*}} : tensor<2x1xf32>
// DYNAMIC: ait.round
// DYNAMIC: ait.clamp
// DYNAMIC: %[[Q:.*]] = ait.convert {{.*}} : tensor<2x8xf32> -> tensor<2x8xui8>
// DYNAMIC: %[[PRODUCT:.*]] = ait.matmul %[[Q]], {{.*}} -> tensor<2x4xi32>
// DYNAMIC: %[[SUMS:.*]] = ait.constant 1002 {{.*}} : tensor<4xi32>
// DYNAMIC: ait.expand %[[SUMS]]
// DYNAMIC: ait.sub %[[PRODUCT]]
// DYNAMIC: ait.convert {{.*}} : tensor<2x4xi32> -> tensor<2x4xf32>
// DYNAMIC: ait.expand %[[SCALE]]
// DYNAMIC-COUNT-2: ait.mul
// DYNAMIC: ait.convert {{.*}} : tensor<2x4xf32> -> tensor<2x4xbf16>
func.func @one(%x: tensor<2x8xbf16>) -> tensor<2x4xbf16> {
  %w = ait.constant 0 {name = "layer.weight"} : tensor<4x8xbf16>
  %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x8xbf16>, tensor<4x8xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// -----

// Codes of float8: a division by the scale, which is the greatest magnitude of
// all tokens over 448, at least 2^-126. Each token is given it.
// FLOAT8-LABEL: func.func @sixteens(
// FLOAT8-SAME: %[[X:.*]]: tensor<2x16xbf16>
// FLOAT8: %[[F:.*]] = ait.convert %[[X]] : tensor<2x16xbf16> -> tensor<2x16xf32>
// FLOAT8: ait.abs %[[F]]
// FLOAT8: %[[EACH:.*]] = ait.amax {{.*}} -> tensor<2x1xf32>
// FLOAT8: %[[ALL:.*]] = ait.amax %[[EACH]] {{.*}} -> tensor<1x1xf32>
// FLOAT8: %[[REPEATED:.*]] = ait.expand %[[ALL]]
// FLOAT8: ait.maximum %[[REPEATED]], %[[EACH]] : tensor<2x1xf32>
// FLOAT8: ait.full 4.480000e+02
// FLOAT8: ait.div
// FLOAT8: %[[SCALE:.*]] = ait.maximum {{.*}} : tensor<2x1xf32>
// FLOAT8: ait.expand %[[SCALE]]
// FLOAT8: %[[NUMBER:.*]] = ait.div %[[F]]
// FLOAT8: ait.clamp %[[NUMBER]] {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64}
// FLOAT8: %[[Q:.*]] = ait.convert {{.*}} : tensor<2x16xf32> -> tensor<2x16xf8E4M3FN>
// FLOAT8: %[[PRODUCT:.*]] = ait.matmul %[[Q]], {{.*}} : (tensor<2x16xf8E4M3FN>, tensor<32x16xf8E4M3FN>) -> tensor<2x32xf32>
// FLOAT8: %[[ROWS:.*]] = ait.expand %[[SCALE]]
// FLOAT8: ait.mul %[[PRODUCT]], %[[ROWS]]
// FLOAT8: ait.mul
// FLOAT8: ait.convert {{.*}} : tensor<2x32xf32> -> tensor<2x32xbf16>
func.func @sixteens(%x: tensor<2x16xbf16>) -> tensor<2x32xbf16> {
  %w = ait.constant 0 {name = "layer.weight"} : tensor<32x16xbf16>
  %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x16xbf16>, tensor<32x16xbf16>) -> tensor<2x32xbf16>
  return %y : tensor<2x32xbf16>
}

// -----

// Layers of one input share its codes, layers of one weight share that's.
// DYNAMIC-LABEL: func.func @shared(
// DYNAMIC: ait.round
// DYNAMIC-NOT: ait.round
// DYNAMIC-COUNT-2: ait.matmul {{.*}} -> tensor<2x4xi32>
// CHECK-LABEL: func.func @shared(
// CHECK-COUNT-2: ait.matmul {{.*}}tensor<4x8xi8>
func.func @shared(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = ait.constant 0 {name = "q.weight"} : tensor<4x8xf32>
  %v = ait.constant 1 {name = "k.weight"} : tensor<4x8xf32>
  %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %z = ait.matmul %x, %v {transpose_rhs} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Scales of activations are those of rows, so that a left side which is read
// transposed is a transposition of its own.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[X:.*]]: tensor<3x8x2xf32>
// CHECK: %[[ROWS:.*]] = ait.permute %[[X]] {{.*}} -> tensor<3x2x8xf32>
// CHECK: ait.matmul %[[ROWS]], {{.*}} {transpose_rhs} : (tensor<3x2x8xf32>, tensor<4x8xi8>) -> tensor<3x2x4xf32>
// DYNAMIC-LABEL: func.func @transposed(
// DYNAMIC: ait.permute
// DYNAMIC: ait.amax {{.*}} -> tensor<3x2x1xf32>
// LAYERS: layer 8x4: int8wo
func.func @transposed(%x: tensor<3x8x2xf32>) -> tensor<3x2x4xf32> {
  %w = ait.constant 0 {name = "layer.weight"} : tensor<4x8xf32>
  %0 = ait.matmul %x, %w {transpose_lhs, transpose_rhs} : (tensor<3x8x2xf32>, tensor<4x8xf32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

// -----

// What is no torch.nn.Linear stays, and so does what has one step or no
// constant weight.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: i8
// LAYERS: c_attn 8x4: filtered: its weight is [K, N], that of a Linear is [N, K]
// LAYERS: attention.out_proj 8x8: filtered: it is the output of a MultiheadAttention
// LAYERS: single 1x4: shape: {{.*}}
func.func @others(%x: tensor<2x8xf32>, %a: tensor<8x4xf32>, %t: tensor<2x1xf32>)
    -> (tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %in = ait.constant 0 {name = "attention.in_proj_weight"} : tensor<24x8xf32>
  %c = ait.constant 1 {name = "c_attn.weight"} : tensor<8x4xf32>
  %o = ait.constant 2 {name = "attention.out_proj.weight"} : tensor<8x8xf32>
  %s = ait.constant 3 {name = "single.weight"} : tensor<4x1xf32>
  %0 = ait.matmul %x, %c : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = ait.matmul %x, %o {transpose_rhs} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %2 = ait.matmul %t, %s {transpose_rhs} : (tensor<2x1xf32>, tensor<4x1xf32>) -> tensor<2x4xf32>
  %3 = ait.matmul %x, %a : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
