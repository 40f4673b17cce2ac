// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @pad_by_nothing_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @pad_by_nothing_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.pad %x {after = #kiln.exprs<"0", "0">, before = #kiln.exprs<"0", "0">, mode = "edge"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// The shape stays, the elements move.
// CHECK-LABEL: @pad_that_shifts_is_kept
// CHECK-NEXT:  kiln.pad
func.func @pad_that_shifts_is_kept(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<3xf32> {
  %0 = kiln.pad %x, %v {after = #kiln.exprs<"-1">, before = #kiln.exprs<"1">, mode = "constant"} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// VALUE-LABEL: @pad_of_a_constant
// VALUE{LITERAL}: dense<[0, 0, 3, 1, 2]> : tensor<5xi64>
func.func @pad_of_a_constant() -> tensor<5xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %v = kiln.constant dense<0> : tensor<i64>
  %r = kiln.pad %x, %v {after = #kiln.exprs<"0">, before = #kiln.exprs<"2">, mode = "constant"} : (tensor<3xi64>, tensor<i64>) -> tensor<5xi64>
  return %r : tensor<5xi64>
}

// VALUE-LABEL: @pad_reflects_a_constant
// VALUE{LITERAL}: dense<[2, 1, 3, 1, 2]> : tensor<5xi64>
func.func @pad_reflects_a_constant() -> tensor<5xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.pad %x {after = #kiln.exprs<"0">, before = #kiln.exprs<"2">, mode = "reflect"} : (tensor<3xi64>) -> tensor<5xi64>
  return %r : tensor<5xi64>
}
