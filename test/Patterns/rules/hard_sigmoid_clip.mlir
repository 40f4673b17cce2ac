// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=hard_sigmoid_clip}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.hard_sigmoid %arg0 {alpha = 0.20000000298023224 : f64, beta = 5.000000e-01 : f64}
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = kiln.constant dense<0.2> : tensor<f32>
  %b = kiln.constant dense<0.5> : tensor<f32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.mul %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.max %1, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.min %2, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// Not cut at 1.
// CHECK-LABEL: @up_to_two
// CHECK-NOT:   kiln.hard_sigmoid
func.func @up_to_two(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = kiln.constant dense<0.2> : tensor<f32>
  %b = kiln.constant dense<0.5> : tensor<f32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %one = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.mul %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.max %1, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.min %2, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
