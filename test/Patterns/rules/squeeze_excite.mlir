// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=squeeze_excite}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "loop"
// CHECK-SAME:  rule = "squeeze_excite"
// CHECK:       kiln.hard_sigmoid
// CHECK-NEXT:  kiln.mul
// CHECK-NEXT:  kiln.yield
func.func @match(%x: tensor<2x3x4x5xf32>, %s: tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32> {
  %0 = kiln.hard_sigmoid %s {alpha = 1.0e-1 : f64, beta = 5.0e-1 : f64} : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %1 = kiln.mul %x, %0 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  return %1 : tensor<2x3x4x5xf32>
}

// The gate of each pixel is attention in space: its sigmoid is needed everywhere.
// CHECK-LABEL: @each_pixel
// CHECK-NOT:   kiln.fusion
func.func @each_pixel(%x: tensor<2x3x4x5xf32>, %s: tensor<2x1x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = kiln.sigmoid %s : (tensor<2x1x4x5xf32>) -> tensor<2x1x4x5xf32>
  %1 = kiln.mul %x, %0 : (tensor<2x3x4x5xf32>, tensor<2x1x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %1 : tensor<2x3x4x5xf32>
}
