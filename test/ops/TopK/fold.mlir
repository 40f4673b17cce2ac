// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @topk_values_of_a_constant
// CHECK{LITERAL}: dense<[3, 2]> : tensor<2xi64>
func.func @topk_values_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r, %i = kiln.topk %x {axis = 0 : i64, k = #kiln.exprs<"2">, largest = true} : (tensor<3xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @topk_indices_of_a_constant
// CHECK{LITERAL}: dense<[1, 2]> : tensor<2xi64>
func.func @topk_indices_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %v, %r = kiln.topk %x {axis = 0 : i64, k = #kiln.exprs<"2">, largest = false} : (tensor<3xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  return %r : tensor<2xi64>
}
