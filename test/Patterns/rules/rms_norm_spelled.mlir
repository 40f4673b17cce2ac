// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=rms_norm_spelled}))' | FileCheck %s

// CHECK-LABEL: @quotient
// CHECK:       kiln.rms_normalize %arg0 {axis = 1 : i64
// CHECK-NEXT:  return
func.func @quotient(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = kiln.div %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// CHECK-LABEL: @product
// CHECK:       kiln.rms_normalize %arg0
// CHECK-NEXT:  return
func.func @product(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %4 = kiln.div %one, %3 : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = kiln.mul %x, %4 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// Rows of another tensor.
// CHECK-LABEL: @other_row
// CHECK-NOT:   kiln.rms_normalize
func.func @other_row(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = kiln.div %y, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}
