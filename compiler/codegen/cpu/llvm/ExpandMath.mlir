// RUN: aitune-opt %s --ait-cpu-expand-math | FileCheck %s
// RUN: aitune-opt %s --ait-cpu-expand-math=has-bfloat16=true | FileCheck %s --check-prefix=NATIVE
// RUN: aitune-opt %s --ait-cpu-expand-math=has-scale=true | FileCheck %s --check-prefix=SCALE
// RUN: aitune-opt %s --ait-cpu-expand-math=vector-math-bits=256 | FileCheck %s --check-prefix=VECTOR

// CHECK-DAG: func.func private @sinf(f32) -> f32
// CHECK-DAG: func.func private @exp(f64) -> f64

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.exp
// CHECK: math.roundeven {{.*}} : vector<16xf32>
// CHECK: math.fma
// CHECK: arith.shli
// SCALE-LABEL: func.func @vector
// SCALE: %[[N:.*]] = math.roundeven {{.*}} : vector<16xf32>
// SCALE: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[E:.*]], %[[N]], %[[E]],
// SCALE-NOT: arith.shli
// SCALE: return
func.func @vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// A weight near the numbers that are too small for normal ones is zero.
// SCALE-LABEL: func.func @weight
// SCALE: %[[ZERO:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : vector<16xf32>
// SCALE: %[[SCALED:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// SCALE: arith.select %[[ZERO]], %{{.*}}, %[[SCALED]]
// CHECK-LABEL: func.func @weight
// CHECK: %[[LEAST:.*]] = arith.constant dense<-8.733650e+01> : vector<16xf32>
// CHECK: arith.cmpf olt, %{{.*}}, %[[LEAST]]
func.func @weight(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x fastmath<afn> : vector<16xf32>
  return %0 : vector<16xf32>
}

// One call a lane where there is no approximation.
// CHECK-LABEL: func.func @lanes
// CHECK-COUNT-2: call @sinf
// CHECK-NOT: call
func.func @lanes(%x: vector<2xf32>) -> vector<2xf32> {
  %0 = math.sin %x : vector<2xf32>
  return %0 : vector<2xf32>
}

// As many lanes at once as a register has.
// CHECK-LABEL: func.func @registers
// CHECK-COUNT-16: call @powf
// VECTOR-LABEL: func.func @registers
// VECTOR: %[[X:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
// VECTOR: call @_ZGVdN8vv_powf(%[[X]], %{{.*}}) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
// VECTOR: call @_ZGVdN8vv_powf
// VECTOR-NOT: call
func.func @registers(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = math.powf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// VECTOR-LABEL: func.func @narrow
// VECTOR: call @_ZGVbN4v_cosf
// VECTOR-NOT: call
func.func @narrow(%x: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = math.cos %x : vector<2x2xf32>
  return %0 : vector<2x2xf32>
}

// libmvec has no remainder. It is exact in one instruction where the quotient
// is.
// VECTOR-LABEL: func.func @remainder
// VECTOR: %[[QUOTIENT:.*]] = math.trunc
// VECTOR: %[[EXACT:.*]] = vector.reduction <and>
// VECTOR: scf.if %[[EXACT]]
// VECTOR: %[[NEGATED:.*]] = arith.negf %[[QUOTIENT]]
// VECTOR: math.fma %[[NEGATED]]
// VECTOR: else
// VECTOR-COUNT-8: call @fmodf
func.func @remainder(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.remf %x, %y : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @double
// CHECK: call @exp
func.func @double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @maximum
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[A:.*]], %[[B:.*]] : f32
// CHECK: %[[GREATER:.*]] = arith.select %[[LESS]], %[[B]], %[[A]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[B]], %[[B]]
// CHECK: arith.select %[[NAN]], %[[B]], %[[GREATER]]
func.func @maximum(%a: f32, %b: f32) -> f32 {
  %0 = arith.maximumf %a, %b : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @bfloat16
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast {{.*}} : i16 to bf16
// NATIVE-LABEL: func.func @bfloat16
// NATIVE: arith.truncf
func.func @bfloat16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
