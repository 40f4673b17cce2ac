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

// The bias of the product before, and the residual, in both orders.
// CHECK-LABEL: @bias_and_residual
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "layer_norm"
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "layer_norm"
// CHECK-NOT:   kiln.fusion
func.func @bias_and_residual(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %c: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = kiln.add %x, %c : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = kiln.add %y, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.standardize %1 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.mul %2, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = kiln.add %3, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %5 = kiln.add %4, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = kiln.add %5, %c : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %7 = kiln.standardize %6 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = kiln.mul %7, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %9 = kiln.add %8, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %4, %9 : tensor<2x4xf32>, tensor<2x4xf32>
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
