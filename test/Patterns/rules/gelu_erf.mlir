// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=gelu_erf}))' | FileCheck %s

// As torch associates it.
// CHECK-LABEL: @half_last
// CHECK-SAME:  (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT:  kiln.gelu %[[X]]
// CHECK-NEXT:  return
func.func @half_last(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %root = kiln.constant dense<1.41421354> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.div %x, %root : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.erf %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// As tf2onnx does, the operands exchanged.
// CHECK-LABEL: @half_first_by_product
// CHECK:       kiln.gelu
// CHECK-NEXT:  return
func.func @half_first_by_product(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %root = kiln.constant dense<0.7071> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %root : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.erf %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = kiln.mul %2, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// Another constant, and another factor.
// CHECK-LABEL: @near_misses
// CHECK-NOT:   kiln.gelu
func.func @near_misses(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %root = kiln.constant dense<1.5> : tensor<f32>
  %right = kiln.constant dense<1.41421354> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.div %x, %root : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.erf %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = kiln.div %x, %right : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = kiln.erf %5 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = kiln.add %6, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %8 = kiln.mul %y, %7 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = kiln.mul %8, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %4, %9 : tensor<2x4xf32>, tensor<2x4xf32>
}
