// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @slice_of_everything_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @slice_of_everything_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.slice %x {sizes = #kiln.exprs<"n", "3">, starts = #kiln.exprs<"0", "0">, steps = #kiln.exprs<"1", "1">} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @slice_backwards_is_kept
// CHECK-NEXT:  kiln.slice
func.func @slice_backwards_is_kept(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = kiln.slice %x {sizes = #kiln.exprs<"3">, starts = #kiln.exprs<"2">, steps = #kiln.exprs<"-1">} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @slice_of_a_slice_is_one
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  kiln.slice %[[X]] {sizes = #kiln.exprs<"2">, starts = #kiln.exprs<"7">, steps = #kiln.exprs<"-4">} : (tensor<10xf32>) -> tensor<2xf32>
// CHECK-NEXT:  return
func.func @slice_of_a_slice_is_one(%x: tensor<10xf32>) -> tensor<2xf32> {
  %0 = kiln.slice %x {sizes = #kiln.exprs<"5">, starts = #kiln.exprs<"9">, steps = #kiln.exprs<"-2">} : (tensor<10xf32>) -> tensor<5xf32>
  %1 = kiln.slice %0 {sizes = #kiln.exprs<"2">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"2">} : (tensor<5xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: @slice_back_and_forth_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @slice_back_and_forth_is_nothing(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = kiln.slice %x {sizes = #kiln.exprs<"3">, starts = #kiln.exprs<"2">, steps = #kiln.exprs<"-1">} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = kiln.slice %0 {sizes = #kiln.exprs<"3">, starts = #kiln.exprs<"2">, steps = #kiln.exprs<"-1">} : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// VALUE-LABEL: @slice_of_a_constant
// VALUE{LITERAL}: dense<[[6, 4], [3, 1]]> : tensor<2x2xi64>
func.func @slice_of_a_constant() -> tensor<2x2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.slice %x {sizes = #kiln.exprs<"2", "2">, starts = #kiln.exprs<"1", "2">, steps = #kiln.exprs<"-1", "-2">} : (tensor<2x3xi64>) -> tensor<2x2xi64>
  return %r : tensor<2x2xi64>
}
