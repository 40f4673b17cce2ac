// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=softmax_masked}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "softmax"
// CHECK-SAME:  rule = "softmax_masked"
// CHECK-NOT:   kiln.fusion
func.func @match(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %s = kiln.constant dense<0.125> : tensor<f32>
  %0 = kiln.mul %x, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.softmax %1 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// The masked scores are read outside, so they must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %s = kiln.constant dense<0.125> : tensor<f32>
  %0 = kiln.mul %x, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.softmax %1 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
