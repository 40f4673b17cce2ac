// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @cum_sum_of_a_constant
// CHECK{LITERAL}: dense<[3, 4, 6]> : tensor<3xi64>
func.func @cum_sum_of_a_constant() -> tensor<3xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.cum_sum %x {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<3xi64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @cum_sum_exclusive_from_the_end
// CHECK{LITERAL}: dense<[3, 2, 0]> : tensor<3xi64>
func.func @cum_sum_exclusive_from_the_end() -> tensor<3xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.cum_sum %x {axis = 0 : i64, exclusive = true, reverse = true} : (tensor<3xi64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @cum_prod_of_a_constant
// CHECK{LITERAL}: dense<[1, 3, 3]> : tensor<3xi64>
func.func @cum_prod_of_a_constant() -> tensor<3xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.cum_prod %x {axis = 0 : i64, exclusive = true, reverse = false} : (tensor<3xi64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}
