// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @select_of_the_same_is_nothing
// CHECK-SAME:  (%[[C:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:  return %[[X]]
func.func @select_of_the_same_is_nothing(%c: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.select %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @select_that_broadcasts_is_kept
// CHECK-NEXT:  kiln.select
func.func @select_that_broadcasts_is_kept(%c: tensor<4xi1>, %x: tensor<f32>) -> tensor<4xf32> {
  %0 = kiln.select %c, %x, %x : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// VALUE-LABEL: @select_of_constants
// VALUE{LITERAL}: dense<[3, 9, 2]> : tensor<3xi64>
func.func @select_of_constants() -> tensor<3xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %c = kiln.constant dense<[true, false, true]> : tensor<3xi1>
  %y = kiln.constant dense<9> : tensor<i64>
  %r = kiln.select %c, %x, %y : (tensor<3xi1>, tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  return %r : tensor<3xi64>
}
