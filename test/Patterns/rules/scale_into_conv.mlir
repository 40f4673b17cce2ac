// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=scale_into_conv}))' | FileCheck %s

// The filter takes the scale in: 3 * 2 and 5 * 10.
// CHECK-LABEL: @after
// CHECK-SAME:  (%[[X:.*]]: tensor<1x1x4x4xf32>)
// CHECK-NEXT:  %[[W:.*]] = kiln.constant dense<{{\[\[\[\[}}6.000000e+00]]], {{\[\[\[}}5.000000e+01]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:  %[[Y:.*]] = kiln.conv %[[X]], %[[W]]
// CHECK-NEXT:  return %[[Y]]
func.func @after(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = kiln.constant dense<[[[[3.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %s = kiln.constant dense<[[[2.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = kiln.mul %0, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// The product is read twice; the scale is not one a channel; it would overflow.
// CHECK-LABEL: @near_misses
// CHECK-COUNT-3: kiln.mul
func.func @near_misses(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = kiln.constant dense<[[[[3.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %v = kiln.constant dense<[[[[1.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %u = kiln.constant dense<[[[[2.0]]], [[[5.0]]]]> : tensor<2x1x1x1xf32>
  %s = kiln.constant dense<[[[2.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %row = kiln.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %large = kiln.constant dense<1.0e30> : tensor<f32>
  %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = kiln.mul %0, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = kiln.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = kiln.mul %2, %row : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  %4 = kiln.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %5 = kiln.mul %4, %large : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  return %0, %1, %3, %5 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// Weights of one value take no room; multiplied, they would be 100 KB, or be multiplied again in each run.
// CHECK-LABEL: @splat_weights
// CHECK:       kiln.constant dense<2.000000e-02> : tensor<2x64x15x15xf32>
// CHECK:       kiln.conv
// CHECK:       kiln.mul
func.func @splat_weights(%x: tensor<1x64x16x16xf32>) -> tensor<1x2x2x2xf32> {
  %w = kiln.constant dense<2.000000e-02> : tensor<2x64x15x15xf32>
  %s = kiln.constant dense<[[[2.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x64x16x16xf32>, tensor<2x64x15x15xf32>) -> tensor<1x2x2x2xf32>
  %1 = kiln.mul %0, %s : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  return %1 : tensor<1x2x2x2xf32>
}
