// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @scatter_elements_of_constants
// CHECK{LITERAL}: dense<[13, 1, 12]> : tensor<3xi64>
func.func @scatter_elements_of_constants() -> tensor<3xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %i = kiln.constant dense<[2, -3]> : tensor<2xi64>
  %u = kiln.constant dense<10> : tensor<2xi64>
  %r = kiln.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "add"} : (tensor<3xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @scatter_nd_of_constants
// CHECK{LITERAL}: dense<[[1, 2, 3], [7, 8, 9]]> : tensor<2x3xi64>
func.func @scatter_nd_of_constants() -> tensor<2x3xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = kiln.constant dense<1> : tensor<1x1xi64>
  %u = kiln.constant dense<[[7, 8, 9]]> : tensor<1x3xi64>
  %r = kiln.scatter_nd %x, %i, %u {reduction = "none"} : (tensor<2x3xi64>, tensor<1x1xi64>, tensor<1x3xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @tensor_scatter_goes_round
// CHECK{LITERAL}: dense<[[1, 7, 8], [9, 5, 9]]> : tensor<2x3xi64>
func.func @tensor_scatter_goes_round() -> tensor<2x3xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %u = kiln.constant dense<[[7, 8], [9, 9]]> : tensor<2x2xi64>
  %s = kiln.constant dense<[1, 2]> : tensor<2xi64>
  %r = kiln.tensor_scatter %x, %u, %s {axis = 1 : i64, circular = true} : (tensor<2x3xi64>, tensor<2x2xi64>, tensor<2xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}
