// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=add_relu}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "loop"
// CHECK-SAME:  rule = "add_relu"
// CHECK-NOT:   kiln.fusion
func.func @match(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// The sum is read outside, so it must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = kiln.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}
