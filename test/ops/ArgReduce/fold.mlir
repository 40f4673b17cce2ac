// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @arg_max_of_a_constant
// CHECK{LITERAL}: dense<[0, 1]> : tensor<2xi64>
func.func @arg_max_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[5, 5, 1], [1, 7, 7]]> : tensor<2x3xi64>
  %r = kiln.arg_max %x {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @arg_max_selects_the_last
// CHECK{LITERAL}: dense<[1, 2]> : tensor<2xi64>
func.func @arg_max_selects_the_last() -> tensor<2xi64> {
  %x = kiln.constant dense<[[5, 5, 1], [1, 7, 7]]> : tensor<2x3xi64>
  %r = kiln.arg_max %x {axis = 1 : i64, keepdims = false, select_last = true} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @arg_min_of_a_constant
// CHECK{LITERAL}: dense<1> : tensor<1xi64>
func.func @arg_min_of_a_constant() -> tensor<1xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.arg_min %x {axis = 0 : i64, keepdims = true, select_last = false} : (tensor<3xi64>) -> tensor<1xi64>
  return %r : tensor<1xi64>
}
