// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @reverse_sequence_of_constants
// CHECK{LITERAL}: dense<[[2, 1, 3], [6, 5, 4]]> : tensor<2x3xi64>
func.func @reverse_sequence_of_constants() -> tensor<2x3xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %l = kiln.constant dense<[2, 3]> : tensor<2xi64>
  %r = kiln.reverse_sequence %x, %l {batch_axis = 0 : i64, time_axis = 1 : i64} : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}
