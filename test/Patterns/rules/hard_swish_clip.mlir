// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=hard_swish_clip}))' | FileCheck %s

// As Paddle exports it.
// CHECK-LABEL: @match
// CHECK-SAME:  (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT:  %[[G:.*]] = kiln.hard_sigmoid %[[X]] {alpha = 0.16666666666666666 : f64, beta = 5.000000e-01 : f64}
// CHECK-NEXT:  kiln.mul %[[X]], %[[G]]
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %three = kiln.constant dense<3.0> : tensor<1xf32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %six = kiln.constant dense<6.0> : tensor<f32>
  %0 = kiln.add %x, %three : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  %1 = kiln.max %0, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.min %1, %six : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = kiln.mul %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = kiln.div %3, %six : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// A constant of an operand's rank that the replacement would not have.
// CHECK-LABEL: @other_rank
// CHECK:       kiln.div
func.func @other_rank(%x: tensor<f32>) -> tensor<1xf32> {
  %three = kiln.constant dense<3.0> : tensor<1xf32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %six = kiln.constant dense<6.0> : tensor<f32>
  %0 = kiln.add %x, %three : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = kiln.max %0, %zero : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %2 = kiln.min %1, %six : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %3 = kiln.mul %x, %2 : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %4 = kiln.div %3, %six : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  return %4 : tensor<1xf32>
}
