// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @trilu_of_a_constant
// CHECK{LITERAL}: dense<[[0, 2, 3], [0, 0, 6]]> : tensor<2x3xi64>
func.func @trilu_of_a_constant() -> tensor<2x3xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.trilu %x {k = #kiln.exprs<"1">, upper = true} : (tensor<2x3xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @trilu_lower_of_a_constant
// CHECK{LITERAL}: dense<[[1, 0, 0], [4, 5, 0]]> : tensor<2x3xi64>
func.func @trilu_lower_of_a_constant() -> tensor<2x3xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.trilu %x {k = #kiln.exprs<"0">, upper = false} : (tensor<2x3xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}
