// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @gather_of_constants
// CHECK{LITERAL}: dense<[2, 3]> : tensor<2xi64>
func.func @gather_of_constants() -> tensor<2xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %i = kiln.constant dense<[2, -3]> : tensor<2xi64>
  %r = kiln.gather %x, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @gather_elements_of_constants
// CHECK{LITERAL}: dense<[[3], [5]]> : tensor<2x1xi64>
func.func @gather_elements_of_constants() -> tensor<2x1xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = kiln.constant dense<[[2], [1]]> : tensor<2x1xi64>
  %r = kiln.gather_elements %x, %i {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x1xi64>
  return %r : tensor<2x1xi64>
}

// CHECK-LABEL: @gather_nd_of_constants
// CHECK{LITERAL}: dense<[6, 1]> : tensor<2xi64>
func.func @gather_nd_of_constants() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = kiln.constant dense<[[1, 2], [0, 0]]> : tensor<2x2xi64>
  %r = kiln.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<2x3xi64>, tensor<2x2xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}
