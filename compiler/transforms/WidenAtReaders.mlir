// RUN: aitune-opt %s -ait-widen-at-readers | FileCheck %s

// The loop behind the reshape converts what it reads.
// CHECK-LABEL: func @widened
func.func @widened(%x: tensor<4x6xf16>) -> tensor<4x2x3xf32> {
  // CHECK-NEXT: %[[R:.*]] = ait.reshape %arg0 : tensor<4x6xf16> -> tensor<4x2x3xf16>
  // CHECK-NEXT: %[[C:.*]] = ait.convert %[[R]] : tensor<4x2x3xf16> -> tensor<4x2x3xf32>
  // CHECK-NEXT: ait.exp %[[C]]
  %0 = ait.convert %x : tensor<4x6xf16> -> tensor<4x6xf32>
  %1 = ait.reshape %0 : tensor<4x6xf32> -> tensor<4x2x3xf32>
  %2 = ait.exp %1 : tensor<4x2x3xf32>
  return %2 : tensor<4x2x3xf32>
}

// Other readers keep theirs; reshapes may follow each other.
// CHECK-LABEL: func @read_twice
func.func @read_twice(%x: tensor<12xbf16>) -> (tensor<12xf32>, tensor<2x2x3xf64>) {
  // CHECK-DAG: ait.convert %arg0 : tensor<12xbf16> -> tensor<12xf32>
  // CHECK-DAG: ait.reshape %arg0 : tensor<12xbf16> -> tensor<4x3xbf16>
  // CHECK: %[[R:.*]] = ait.reshape {{.*}} -> tensor<2x2x3xbf16>
  // CHECK-NEXT: %[[C:.*]] = ait.convert %[[R]] : tensor<2x2x3xbf16> -> tensor<2x2x3xf32>
  // CHECK-NEXT: ait.convert %[[C]] : tensor<2x2x3xf32> -> tensor<2x2x3xf64>
  %0 = ait.convert %x : tensor<12xbf16> -> tensor<12xf32>
  %1 = ait.reshape %0 : tensor<12xf32> -> tensor<4x3xf32>
  %2 = ait.convert %1 : tensor<4x3xf32> -> tensor<4x3xf64>
  %3 = ait.reshape %2 : tensor<4x3xf64> -> tensor<2x2x3xf64>
  return %0, %3 : tensor<12xf32>, tensor<2x2x3xf64>
}

// What is narrower after the conversion is better stored so.
// CHECK-LABEL: func @narrowed
func.func @narrowed(%x: tensor<4x6xf32>) -> tensor<24xf16> {
  // CHECK-NEXT: ait.convert
  // CHECK-NEXT: ait.reshape
  %0 = ait.convert %x : tensor<4x6xf32> -> tensor<4x6xf16>
  %1 = ait.reshape %0 : tensor<4x6xf16> -> tensor<24xf16>
  return %1 : tensor<24xf16>
}
