// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=relu_max}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.relu %arg0
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %0 = kiln.max %x, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// What reads it is the other half of a Clip.
// CHECK-LABEL: @half_of_a_clip
// CHECK-NOT:   kiln.relu
func.func @half_of_a_clip(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %six = kiln.constant dense<6.0> : tensor<f32>
  %0 = kiln.max %x, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.min %0, %six : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
