// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=layer_norm_gelu}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "layer_norm_gelu"
// CHECK:       kiln.add
// CHECK:       kiln.standardize
// CHECK:       kiln.gelu
// CHECK-NEXT:  kiln.yield
func.func @match(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %s = kiln.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = kiln.standardize %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = kiln.gelu %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// The normalised rows are read outside, so they must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = kiln.gelu %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}

// Another activation.
// CHECK-LABEL: @other_activation
// CHECK-NOT:   kiln.fusion
func.func @other_activation(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = kiln.tanh %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
