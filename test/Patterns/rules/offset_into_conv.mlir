// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=offset_into_conv}))' | FileCheck %s

// 6 is 3 times 2.
// CHECK-LABEL: @match
// CHECK:       %[[Y:.*]] = kiln.conv %arg0,
// CHECK-NEXT:  %[[B:.*]] = kiln.constant dense<6.000000e+00>
// CHECK-NEXT:  kiln.add %[[Y]], %[[B]]
// CHECK-NEXT:  return
func.func @match(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = kiln.constant dense<3.0> : tensor<1x1x1x1xf32>
  %o = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.add %x, %o : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %1 = kiln.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  return %1 : tensor<1x1x4x4xf32>
}

// The zeros around are not moved.
// CHECK-LABEL: @padded
// CHECK:       kiln.add %arg0
// CHECK-NEXT:  kiln.conv
// CHECK-NEXT:  return
func.func @padded(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32> {
  %w = kiln.constant dense<3.0> : tensor<1x1x1x1xf32>
  %o = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.add %x, %o : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %1 = kiln.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"1", "1", "1", "1">, group = 1} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x6xf32>
  return %1 : tensor<1x1x6x6xf32>
}
