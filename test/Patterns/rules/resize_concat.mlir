// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=resize_concat}))' | FileCheck %s

// CHECK-LABEL: @first
// CHECK:       kiln.fusion "concat"
// CHECK-SAME:  rule = "resize_concat"
// CHECK:       kiln.resize
// CHECK-NEXT:  kiln.concat
// CHECK:       kiln.conv
func.func @first(%x: tensor<1x3x4x4xf32>, %s: tensor<1x2x8x8xf32>, %w: tensor<7x5x3x3xf32>) -> tensor<1x7x6x6xf32> {
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, sizes = #kiln.exprs<"8", "8">, scales = array<f64: 2.0, 2.0>, mode = "nearest", coordinates = "asymmetric"} : (tensor<1x3x4x4xf32>) -> tensor<1x3x8x8xf32>
  %1 = kiln.concat %0, %s {axis = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x5x8x8xf32>
  %2 = kiln.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1 : i64} : (tensor<1x5x8x8xf32>, tensor<7x5x3x3xf32>) -> tensor<1x7x6x6xf32>
  return %2 : tensor<1x7x6x6xf32>
}

// CHECK-LABEL: @second
// CHECK:       rule = "resize_concat"
func.func @second(%x: tensor<1x3x4x4xf32>, %s: tensor<1x2x8x8xf32>) -> tensor<1x5x8x8xf32> {
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, sizes = #kiln.exprs<"8", "8">, scales = array<f64: 2.0, 2.0>, mode = "nearest", coordinates = "asymmetric"} : (tensor<1x3x4x4xf32>) -> tensor<1x3x8x8xf32>
  %1 = kiln.concat %s, %0 {axis = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x5x8x8xf32>
  return %1 : tensor<1x5x8x8xf32>
}

// The larger image is an output, too.
// CHECK-LABEL: @image_is_read
// CHECK-NOT:   kiln.fusion
func.func @image_is_read(%x: tensor<1x3x4x4xf32>, %s: tensor<1x2x8x8xf32>) -> (tensor<1x5x8x8xf32>, tensor<1x3x8x8xf32>) {
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, sizes = #kiln.exprs<"8", "8">, scales = array<f64: 2.0, 2.0>, mode = "nearest", coordinates = "asymmetric"} : (tensor<1x3x4x4xf32>) -> tensor<1x3x8x8xf32>
  %1 = kiln.concat %s, %0 {axis = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x5x8x8xf32>
  return %1, %0 : tensor<1x5x8x8xf32>, tensor<1x3x8x8xf32>
}
