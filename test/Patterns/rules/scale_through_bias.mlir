// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=scale_through_bias}))' | FileCheck %s

// CHECK-LABEL: @matmul
// CHECK:       %[[P:.*]] = kiln.matmul
// CHECK-NEXT:  %[[S:.*]] = kiln.mul %[[P]]
// CHECK-NEXT:  %[[B:.*]] = kiln.constant dense<[1.000000e+01, 4.000000e+01]>
// CHECK-NEXT:  kiln.add %[[S]], %[[B]]
// CHECK-NEXT:  return
func.func @matmul(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = kiln.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %b = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = kiln.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %1 = kiln.add %0, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %2 = kiln.mul %1, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// No constant factor or matrix is there to take the scale in.
// CHECK-LABEL: @nothing_takes_it
// CHECK:       kiln.add
// CHECK-NEXT:  kiln.mul
// CHECK-NEXT:  return
func.func @nothing_takes_it(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %b = kiln.constant dense<1.0> : tensor<f32>
  %s = kiln.constant dense<2.0> : tensor<f32>
  %1 = kiln.add %x, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = kiln.mul %1, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
