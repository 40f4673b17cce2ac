// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s

// CHECK-LABEL: @range_of_constants
// CHECK{LITERAL}: dense<[5, 3, 1]> : tensor<3xi64>
func.func @range_of_constants() -> tensor<3xi64> {
  %s = kiln.constant dense<5> : tensor<i64>
  %d = kiln.constant dense<-2> : tensor<i64>
  %r = kiln.range %s, %d {count = #kiln.exprs<"3">} : (tensor<i64>, tensor<i64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @range_count_of_constants
// CHECK{LITERAL}: dense<3> : tensor<i64>
func.func @range_count_of_constants() -> tensor<i64> {
  %s = kiln.constant dense<5> : tensor<i64>
  %l = kiln.constant dense<0> : tensor<i64>
  %d = kiln.constant dense<-2> : tensor<i64>
  %r = kiln.range_count %s, %l, %d : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
  return %r : tensor<i64>
}

// CHECK-LABEL: @range_count_without_a_step
// CHECK{LITERAL}: dense<-1> : tensor<i64>
func.func @range_count_without_a_step() -> tensor<i64> {
  %s = kiln.constant dense<5> : tensor<i64>
  %d = kiln.constant dense<0> : tensor<i64>
  %r = kiln.range_count %s, %d, %d : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
  return %r : tensor<i64>
}
