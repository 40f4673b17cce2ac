// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=layer_norm}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "layer_norm"
// CHECK-NOT:   kiln.fusion
func.func @match(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.standardize %0 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = kiln.add %2, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// The scaled rows are read outside, so they must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = kiln.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.standardize %0 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = kiln.add %2, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %3, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}
