// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @matmul_absorbs_transposes
// CHECK-SAME:  (%[[A:.*]]: tensor<3x5xf32>, %[[B:.*]]: tensor<4x3xf32>)
// CHECK-NEXT:  kiln.matmul %[[A]], %[[B]] {trans_a = true, trans_b = true} : (tensor<3x5xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
// CHECK-NEXT:  return
func.func @matmul_absorbs_transposes(%a: tensor<3x5xf32>, %b: tensor<4x3xf32>) -> tensor<5x4xf32> {
  %0 = kiln.transpose %a {permutation = array<i64: 1, 0>} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %1 = kiln.transpose %b {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %2 = kiln.matmul %0, %1 : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// CHECK-LABEL: @matmul_swaps_back
// CHECK-SAME:  (%[[A:.*]]: tensor<2x5x3xf32>, %[[B:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT:  kiln.matmul %[[A]], %[[B]]
// CHECK-NOT:   trans_b = true
// CHECK:       return
func.func @matmul_swaps_back(%a: tensor<2x5x3xf32>, %b: tensor<2x3x4xf32>) -> tensor<2x5x4xf32> {
  %0 = kiln.transpose %b {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = kiln.matmul %a, %0 {trans_b = true} : (tensor<2x5x3xf32>, tensor<2x4x3xf32>) -> tensor<2x5x4xf32>
  return %1 : tensor<2x5x4xf32>
}

// CHECK-LABEL: @matmul_keeps_transposes_of_outer_dims
// CHECK-NEXT:  kiln.transpose
// CHECK-NEXT:  kiln.matmul
func.func @matmul_keeps_transposes_of_outer_dims(%a: tensor<5x2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x5x4xf32> {
  %0 = kiln.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x3xf32>) -> tensor<2x5x3xf32>
  %1 = kiln.matmul %0, %b : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  return %1 : tensor<2x5x4xf32>
}

// VALUE-LABEL: @matmul_of_constants
// VALUE{LITERAL}: dense<[[11], [29]]> : tensor<2x1xi64>
func.func @matmul_of_constants() -> tensor<2x1xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %y = kiln.constant dense<[[3], [1], [2]]> : tensor<3x1xi64>
  %r = kiln.matmul %x, %y : (tensor<2x3xi64>, tensor<3x1xi64>) -> tensor<2x1xi64>
  return %r : tensor<2x1xi64>
}
