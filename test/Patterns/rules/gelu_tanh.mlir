// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=gelu_tanh}))' | FileCheck %s

// CHECK-LABEL: @half_last
// CHECK:       kiln.gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT:  return
func.func @half_last(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %k = kiln.constant dense<0.044715> : tensor<f32>
  %f = kiln.constant dense<0.797884583> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.add %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = kiln.tanh %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = kiln.add %5, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %7 = kiln.mul %x, %6 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = kiln.mul %7, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// The cubic term of another formula.
// CHECK-LABEL: @other_cubic
// CHECK-NOT:   kiln.gelu
func.func @other_cubic(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %k = kiln.constant dense<0.05> : tensor<f32>
  %f = kiln.constant dense<0.797884583> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.add %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = kiln.tanh %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = kiln.add %5, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %7 = kiln.mul %x, %6 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = kiln.mul %7, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// CHECK-LABEL: @cubic_first
// CHECK:       kiln.gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT:  return
func.func @cubic_first(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %k = kiln.constant dense<0.044715> : tensor<f32>
  %f = kiln.constant dense<0.797884583> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.add %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %t = kiln.tanh %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = kiln.add %t, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %h = kiln.mul %x, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = kiln.mul %h, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @fast
// CHECK:       kiln.gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT:  return
func.func @fast(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %k = kiln.constant dense<0.044715> : tensor<f32>
  %f = kiln.constant dense<0.797884583> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = kiln.tanh %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = kiln.add %t, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %h = kiln.mul %x, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = kiln.mul %h, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// The bracket is a half of what it is.
// CHECK-LABEL: @fast_of_half
// CHECK-NOT:   kiln.gelu
func.func @fast_of_half(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %k = kiln.constant dense<0.044715> : tensor<f32>
  %f = kiln.constant dense<0.797884583> : tensor<f32>
  %one = kiln.constant dense<1.0> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.mul %x, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %f : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = kiln.mul %3, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = kiln.tanh %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = kiln.add %t, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %h = kiln.mul %x, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = kiln.mul %h, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
