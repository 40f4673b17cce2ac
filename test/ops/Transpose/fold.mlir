// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @transpose_in_order_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @transpose_in_order_is_nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @transpose_of_a_square_is_kept
// CHECK: kiln.transpose
func.func @transpose_of_a_square_is_kept(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// VALUE-LABEL: @transpose_of_a_constant
// VALUE{LITERAL}: dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
func.func @transpose_of_a_constant() -> tensor<3x2xi64> {
  %0 = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %1 = kiln.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  return %1 : tensor<3x2xi64>
}
