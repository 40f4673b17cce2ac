// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=conv_tanh}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "conv"
// CHECK-SAME:  rule = "conv_tanh"
// CHECK:         kiln.conv
// CHECK:         kiln.add
// CHECK:         kiln.yield
// CHECK:       return
func.func @match(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32> {
  %p = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32>
  %s = kiln.add %p, %b : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %a = kiln.tanh %s : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  return %a : tensor<1x4x5x5xf32>
}

// A value inside is read outside, so it must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4x1x1xf32>) -> (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) {
  %p = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32>
  %s = kiln.add %p, %b : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %a = kiln.tanh %s : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  return %a, %s : tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>
}
