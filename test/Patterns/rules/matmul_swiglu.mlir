// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=matmul_swiglu}))' | FileCheck %s

// The gate opens for the second product.
// CHECK-LABEL: @match
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "matmul_swiglu"
// CHECK:       kiln.matmul
// CHECK:       kiln.sigmoid
// CHECK:       kiln.mul
// CHECK:       kiln.mul
// CHECK-NEXT:  kiln.yield
func.func @match(%x: tensor<128x8xf32>, %v: tensor<128x16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %1 = kiln.sigmoid %0 : (tensor<128x16xf32>) -> tensor<128x16xf32>
  %2 = kiln.mul %0, %1 : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  %3 = kiln.mul %v, %2 : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  return %3 : tensor<128x16xf32>
}

// The gate is read elsewhere.
// CHECK-LABEL: @gate_is_read
// CHECK-NOT:   kiln.fusion
func.func @gate_is_read(%x: tensor<128x8xf32>, %v: tensor<128x16xf32>) -> (tensor<128x16xf32>, tensor<128x16xf32>) {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %1 = kiln.sigmoid %0 : (tensor<128x16xf32>) -> tensor<128x16xf32>
  %2 = kiln.mul %0, %1 : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  %3 = kiln.mul %v, %2 : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  return %3, %0 : tensor<128x16xf32>, tensor<128x16xf32>
}

// GLU: the gate is not times itself.
// CHECK-LABEL: @glu
// CHECK-NOT:   kiln.fusion
func.func @glu(%x: tensor<128x8xf32>, %v: tensor<128x16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %1 = kiln.sigmoid %0 : (tensor<128x16xf32>) -> tensor<128x16xf32>
  %2 = kiln.mul %v, %1 : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  return %2 : tensor<128x16xf32>
}
