// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @concat_of_one_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @concat_of_one_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.concat %x {axis = 0 : i64} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @concat_drops_empty_operands
// CHECK-SAME:  (%[[X:.*]]: tensor<2xf32>, %[[E:.*]]: tensor<0xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK-NEXT:  kiln.concat %[[X]], %[[Y]] {axis = 0 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
func.func @concat_drops_empty_operands(%x: tensor<2xf32>, %e: tensor<0xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %0 = kiln.concat %x, %e, %y {axis = 0 : i64} : (tensor<2xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: @concat_with_nothing_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor<2xf32>,
// CHECK-NEXT:  return %[[X]]
func.func @concat_with_nothing_is_nothing(%x: tensor<2xf32>, %e: tensor<0xf32>) -> tensor<2xf32> {
  %0 = kiln.concat %e, %x {axis = 0 : i64} : (tensor<0xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @concat_of_nothing_keeps_one
// CHECK-SAME:  (%[[E:.*]]: tensor<0xf32>,
// CHECK-NEXT:  return %[[E]]
func.func @concat_of_nothing_keeps_one(%e: tensor<0xf32>, %f: tensor<0xf32>) -> tensor<0xf32> {
  %0 = kiln.concat %e, %f {axis = 0 : i64} : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// Symbols may be 0, but nobody knows now.
// CHECK-LABEL: @concat_of_symbols_is_kept
// CHECK-NEXT:  kiln.concat
func.func @concat_of_symbols_is_kept(%x: tensor<?xf32, #kiln.dims<"n">>, %y: tensor<2xf32>) -> tensor<?xf32, #kiln.dims<"n + 2">> {
  %0 = kiln.concat %x, %y {axis = 0 : i64} : (tensor<?xf32, #kiln.dims<"n">>, tensor<2xf32>) -> tensor<?xf32, #kiln.dims<"n + 2">>
  return %0 : tensor<?xf32, #kiln.dims<"n + 2">>
}

// VALUE-LABEL: @concat_of_constants
// VALUE{LITERAL}: dense<[[1, 2, 3, 7], [4, 5, 6, 8]]> : tensor<2x4xi64>
func.func @concat_of_constants() -> tensor<2x4xi64> {
  %x = kiln.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %y = kiln.constant dense<[[7], [8]]> : tensor<2x1xi64>
  %r = kiln.concat %x, %y {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x4xi64>
  return %r : tensor<2x4xi64>
}

// -----

// The empty operand alone knows that dim 0 is 5.
// CHECK-LABEL: @concat_keeps_what_knows_a_dim
func.func @concat_keeps_what_knows_a_dim(%x: tensor<?x1xf32, #kiln.dims<"n">>, %c: tensor<5x0xf32>) -> tensor<5x2xf32> {
  // CHECK: kiln.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64}
  %0 = kiln.concat %x, %c, %x {axis = 1 : i64} : (tensor<?x1xf32, #kiln.dims<"n">>, tensor<5x0xf32>, tensor<?x1xf32, #kiln.dims<"n">>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
