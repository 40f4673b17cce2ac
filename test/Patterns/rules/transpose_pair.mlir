// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=transpose_pair}))' | FileCheck %s

// CHECK-LABEL: @unary
// CHECK-NEXT:  kiln.gelu %arg0
// CHECK-NEXT:  return
func.func @unary(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = kiln.gelu %0 : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %2 = kiln.transpose %1 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @with_number
// CHECK:       kiln.mul %arg0
// CHECK-NEXT:  return
func.func @with_number(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %c = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = kiln.mul %0, %c : (tensor<3x4x2xf32>, tensor<f32>) -> tensor<3x4x2xf32>
  %2 = kiln.transpose %1 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @binary
// CHECK-NEXT:  kiln.add %arg0, %arg1
// CHECK-NEXT:  return
func.func @binary(%x: tensor<2x3x4xf32>, %y: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = kiln.transpose %y {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %2 = kiln.add %0, %1 : (tensor<3x4x2xf32>, tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %3 = kiln.transpose %2 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// The same permutation twice is none that takes itself back.
// CHECK-LABEL: @twice
// CHECK-COUNT-2: kiln.transpose
func.func @twice(%x: tensor<3x3x3xf32>) -> tensor<3x3x3xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %1 = kiln.gelu %0 : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %2 = kiln.transpose %1 {permutation = array<i64: 1, 2, 0>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  return %2 : tensor<3x3x3xf32>
}

// One a column, which is another axis elsewhere.
// CHECK-LABEL: @vector
// CHECK-COUNT-2: kiln.transpose
func.func @vector(%x: tensor<2x3x4xf32>, %v: tensor<2xf32>) -> tensor<2x3x4xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = kiln.mul %0, %v : (tensor<3x4x2xf32>, tensor<2xf32>) -> tensor<3x4x2xf32>
  %2 = kiln.transpose %1 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}
