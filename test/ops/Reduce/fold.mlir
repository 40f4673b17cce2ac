// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @reduce_sum_over_no_axes_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reduce_sum_over_no_axes_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reduce_sum %x {axes = array<i64>, keepdims = false} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @reduce_prod_over_no_axes_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reduce_prod_over_no_axes_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reduce_prod %x {axes = array<i64>, keepdims = false} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @reduce_max_over_no_axes_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reduce_max_over_no_axes_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reduce_max %x {axes = array<i64>, keepdims = false} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @reduce_min_over_no_axes_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reduce_min_over_no_axes_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reduce_min %x {axes = array<i64>, keepdims = false} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @reduce_mean_over_no_axes_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reduce_mean_over_no_axes_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reduce_mean %x {axes = array<i64>, keepdims = false} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// VALUE-LABEL: @reduce_sum_of_a_constant
// VALUE{LITERAL}: dense<[6, 15]> : tensor<2xi64>
func.func @reduce_sum_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// VALUE-LABEL: @reduce_prod_of_a_constant
// VALUE{LITERAL}: dense<[6, 120]> : tensor<2xi64>
func.func @reduce_prod_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.reduce_prod %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// VALUE-LABEL: @reduce_max_of_a_constant
// VALUE{LITERAL}: dense<[3, 6]> : tensor<2xi64>
func.func @reduce_max_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.reduce_max %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// VALUE-LABEL: @reduce_min_of_a_constant
// VALUE{LITERAL}: dense<[1, 4]> : tensor<2xi64>
func.func @reduce_min_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.reduce_min %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// VALUE-LABEL: @reduce_mean_of_a_constant
// VALUE{LITERAL}: dense<[2, 5]> : tensor<2xi64>
func.func @reduce_mean_of_a_constant() -> tensor<2xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = kiln.reduce_mean %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}
