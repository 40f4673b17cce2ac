// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=depthwise_pointwise}))' | FileCheck %s

// Depthwise convolution, bias, ReLU, pointwise convolution, bias.
// CHECK-LABEL: @linear
// CHECK:       kiln.fusion "conv"
// CHECK-SAME:  rule = "depthwise_pointwise"
// CHECK:       kiln.conv
// CHECK-NEXT:  kiln.add
// CHECK-NEXT:  kiln.relu
// CHECK-NEXT:  kiln.conv
// CHECK-NEXT:  kiln.add
// CHECK-NEXT:  kiln.yield
func.func @linear(%x: tensor<1x4x8x8xf32>, %b: tensor<4x1x1xf32>, %c: tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32> {
  %w = kiln.constant dense<1.0> : tensor<4x1x3x3xf32>
  %v = kiln.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"1", "1", "1", "1">, group = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.add %0, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.relu %1 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = kiln.conv %2, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32>
  %4 = kiln.add %3, %c : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  return %4 : tensor<1x2x8x8xf32>
}

// Between them ReLU6 as two ops, behind them the residual; no first bias.
// CHECK-LABEL: @residual_of_clip
// CHECK:       rule = "depthwise_pointwise"
// CHECK:       kiln.conv
// CHECK-NEXT:  kiln.max
// CHECK-NEXT:  kiln.min
// CHECK-NEXT:  kiln.conv
// CHECK-NEXT:  kiln.add
// CHECK-NEXT:  kiln.add
// CHECK-NEXT:  kiln.yield
func.func @residual_of_clip(%x: tensor<1x4x8x8xf32>, %c: tensor<2x1x1xf32>, %r: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = kiln.constant dense<1.0> : tensor<4x1x3x3xf32>
  %v = kiln.constant dense<1.0> : tensor<2x4x1x1xf32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %six = kiln.constant dense<6.0> : tensor<f32>
  %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"1", "1", "1", "1">, group = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.max %0, %zero : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.min %1, %six : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %3 = kiln.conv %2, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32>
  %4 = kiln.add %3, %c : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %5 = kiln.add %4, %r : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  return %5 : tensor<1x2x8x8xf32>
}

// The first mixes channels, or the second pixels.
// CHECK-LABEL: @near_misses
// CHECK-NOT:   rule = "depthwise_pointwise"
func.func @near_misses(%x: tensor<1x4x8x8xf32>, %c: tensor<2x1x1xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x4x4xf32>) {
  %u = kiln.constant dense<1.0> : tensor<4x4x3x3xf32>
  %w = kiln.constant dense<1.0> : tensor<4x1x3x3xf32>
  %v = kiln.constant dense<1.0> : tensor<2x4x1x1xf32>
  %0 = kiln.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"1", "1", "1", "1">, group = 1} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.relu %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.conv %1, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32>
  %3 = kiln.add %2, %c : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %4 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"1", "1", "1", "1">, group = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  %5 = kiln.relu %4 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %6 = kiln.conv %5, %v {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x4x4xf32>
  %7 = kiln.add %6, %c : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %3, %7 : tensor<1x2x8x8xf32>, tensor<1x2x4x4xf32>
}
