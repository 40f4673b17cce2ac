// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=merge_constants}))' | FileCheck %s

// CHECK-LABEL: @sums
// CHECK:       %[[C:.*]] = kiln.constant dense<5.000000e+00>
// CHECK:       kiln.add %arg0, %[[C]]
// CHECK-NEXT:  return
func.func @sums(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = kiln.constant dense<2.0> : tensor<f32>
  %b = kiln.constant dense<3.0> : tensor<f32>
  %0 = kiln.add %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @products
// CHECK:       %[[C:.*]] = kiln.constant dense<6.000000e+00>
// CHECK:       kiln.mul %arg0, %[[C]]
// CHECK-NEXT:  return
func.func @products(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = kiln.constant dense<2.0> : tensor<f32>
  %b = kiln.constant dense<3.0> : tensor<f32>
  %0 = kiln.mul %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// The product of the constants is no float.
// CHECK-LABEL: @would_overflow
// CHECK-COUNT-2: kiln.mul
func.func @would_overflow(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = kiln.constant dense<1.0e30> : tensor<f32>
  %b = kiln.constant dense<1.0e30> : tensor<f32>
  %0 = kiln.mul %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// The inner sum stays, so there would be no gain.
// CHECK-LABEL: @second_reader
// CHECK:       %[[S:.*]] = kiln.add %arg0
// CHECK-NEXT:  kiln.add %[[S]]
func.func @second_reader(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = kiln.constant dense<2.0> : tensor<f32>
  %b = kiln.constant dense<3.0> : tensor<f32>
  %0 = kiln.add %x, %a : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.add %0, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
