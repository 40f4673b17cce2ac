// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=scale_into_matmul}))' | FileCheck %s

// CHECK-LABEL: @after_by_column
// CHECK:       %[[W:.*]] = kiln.constant dense<{{\[\[}}1.000000e+01, 4.000000e+01]
// CHECK:       kiln.matmul %arg0, %[[W]]
// CHECK-NEXT:  return
func.func @after_by_column(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = kiln.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %s = kiln.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %1 = kiln.mul %0, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// CHECK-LABEL: @before
// CHECK:       %[[W:.*]] = kiln.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00]
// CHECK:       kiln.matmul %arg0, %[[W]]
// CHECK-NEXT:  return
func.func @before(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = kiln.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %s = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.mul %x, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.matmul %0, %w : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// The matrix is not known.
// CHECK-LABEL: @matrix_of_the_run
// CHECK:       kiln.mul
// CHECK-NEXT:  kiln.matmul
// CHECK-NEXT:  return
func.func @matrix_of_the_run(%x: tensor<2x4xf32>, %w: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %s = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.mul %x, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = kiln.matmul %0, %w : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
