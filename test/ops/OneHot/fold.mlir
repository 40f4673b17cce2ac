// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @one_hot_of_constants
// CHECK{LITERAL}: dense<[[7, 7, 9], [9, 7, 7]]> : tensor<2x3xi64>
func.func @one_hot_of_constants() -> tensor<2x3xi64> {
  %i = kiln.constant dense<[2, -3]> : tensor<2xi64>
  %v = kiln.constant dense<[7, 9]> : tensor<2xi64>
  %r = kiln.one_hot %i, %v {axis = 1 : i64, depth = #kiln.exprs<"3">} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}
