// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=rms_norm_spelled}))' | FileCheck %s

// CHECK-LABEL: @quotient
// CHECK:       kiln.rms_normalize %arg0 {axis = 1 : i64
// CHECK-NEXT:  return
func.func @quotient(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = kiln.div %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// CHECK-LABEL: @product
// CHECK:       kiln.rms_normalize %arg0
// CHECK-NEXT:  return
func.func @product(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %4 = kiln.div %one, %3 : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = kiln.mul %x, %4 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// Rows of another tensor.
// CHECK-LABEL: @other_row
// CHECK-NOT:   kiln.rms_normalize
func.func @other_row(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = kiln.div %y, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// Roots written as powers; another power is none.
// CHECK-LABEL: @powers
// CHECK:       %[[A:.*]] = kiln.rms_normalize %arg0 {axis = 1 : i64
// CHECK:       %[[B:.*]] = kiln.rms_normalize %[[A]] {axis = 1 : i64
// CHECK:       kiln.pow
// CHECK:       return
func.func @powers(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = kiln.constant dense<1.0e-6> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %less = kiln.constant dense<-0.5> : tensor<f32>
  %quarter = kiln.constant dense<-0.25> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.reduce_mean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = kiln.add %1, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = kiln.pow %2, %half : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %4 = kiln.div %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = kiln.mul %4, %4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = kiln.reduce_mean %5 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %7 = kiln.add %6, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %8 = kiln.pow %7, %less : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %9 = kiln.mul %4, %8 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %10 = kiln.mul %9, %9 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %11 = kiln.reduce_mean %10 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %12 = kiln.add %11, %e : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %13 = kiln.pow %12, %quarter : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %14 = kiln.mul %9, %13 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %14 : tensor<2x4xf32>
}
