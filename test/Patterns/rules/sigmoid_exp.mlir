// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=sigmoid_exp}))' | FileCheck %s

// CHECK-LABEL: @sigmoid
// CHECK:       kiln.sigmoid %arg0
// CHECK-NEXT:  return
func.func @sigmoid(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.div %one, %2 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// CHECK-LABEL: @silu
// CHECK:       %[[S:.*]] = kiln.sigmoid %arg0
// CHECK-NEXT:  kiln.mul %arg0, %[[S]]
// CHECK-NEXT:  return
func.func @silu(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.div %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// exp(x), not exp(-x).
// CHECK-LABEL: @other_sign
// CHECK-NOT:   kiln.sigmoid
func.func @other_sign(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %1 = kiln.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.div %one, %2 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
