// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=mish_softplus}))' | FileCheck %s

// CHECK-LABEL: @softplus
// CHECK:       kiln.softplus %arg0
// CHECK-NEXT:  return
func.func @softplus(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.log %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// CHECK-LABEL: @mish
// CHECK:       kiln.mish %arg0
// CHECK-NEXT:  return
func.func @mish(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.log %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.tanh %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// Of another value: no Mish.
// CHECK-LABEL: @other_factor
// CHECK:       kiln.softplus
// CHECK-NOT:   kiln.mish
func.func @other_factor(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.log %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.tanh %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}
