// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @reshape_to_its_own_shape_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reshape_to_its_own_shape_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"n", "3">} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @reshape_of_a_reshape_is_one
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  kiln.reshape %[[X]]
// CHECK-NEXT:  return
func.func @reshape_of_a_reshape_is_one(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"3", "2">} : (tensor<6xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: @reshape_there_and_back_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @reshape_there_and_back_is_nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "3">} : (tensor<6xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: @reshape_of_another_op_is_kept
// CHECK: kiln.relu
// CHECK: kiln.reshape
func.func @reshape_of_another_op_is_kept(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = kiln.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// VALUE-LABEL: @reshape_of_a_constant
// VALUE{LITERAL}: dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
func.func @reshape_of_a_constant() -> tensor<2x2xi64> {
  %0 = kiln.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "2">} : (tensor<4xi64>) -> tensor<2x2xi64>
  return %1 : tensor<2x2xi64>
}

// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=RESOLVE

// One -1 is what is left, and a 0 keeps a dim; what is no shape is -1 throughout.
// RESOLVE-LABEL: @resolve_shapes
// RESOLVE{LITERAL}: dense<[2, 6]> : tensor<2xi64>
// RESOLVE{LITERAL}: dense<-1> : tensor<2xi64>
// RESOLVE{LITERAL}: dense<-1> : tensor<3xi64>
func.func @resolve_shapes() -> (tensor<2xi64>, tensor<2xi64>, tensor<3xi64>) {
  %good = kiln.constant dense<[0, -1]> : tensor<2xi64>
  %twice = kiln.constant dense<-1> : tensor<2xi64>
  %wraps = kiln.constant dense<[4294967296, 4294967296, 12]> : tensor<3xi64>
  %0 = kiln.resolve_shape %good {from = #kiln.exprs<"2", "6">, allow_zero = false} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = kiln.resolve_shape %twice {from = #kiln.exprs<"2", "6">, allow_zero = false} : (tensor<2xi64>) -> tensor<2xi64>
  %2 = kiln.resolve_shape %wraps {from = #kiln.exprs<"2", "6">, allow_zero = false} : (tensor<3xi64>) -> tensor<3xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<2xi64>, tensor<3xi64>
}

// torch's exporter merges the outer dims to transpose the last two.
// CHECK-LABEL: @reshapes_around_a_transpose
// CHECK:       %[[T:.*]] = kiln.transpose %arg0 {permutation = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT:  return %[[T]]
func.func @reshapes_around_a_transpose(%x: tensor<?x3x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x3x8x?xf32, #kiln.dims<"b", "s">> {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"3*b", "s", "8">} : (tensor<?x3x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x8xf32, #kiln.dims<"3*b", "s">>
  %1 = kiln.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x8xf32, #kiln.dims<"3*b", "s">>) -> tensor<?x8x?xf32, #kiln.dims<"3*b", "s">>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"b", "3", "8", "s">} : (tensor<?x8x?xf32, #kiln.dims<"3*b", "s">>) -> tensor<?x3x8x?xf32, #kiln.dims<"b", "s">>
  return %2 : tensor<?x3x8x?xf32, #kiln.dims<"b", "s">>
}

// The outer dim moves: there is nothing to split.
// CHECK-LABEL: @outer_dim_moves
// CHECK:       kiln.reshape
// CHECK-NEXT:  kiln.transpose
// CHECK-NEXT:  kiln.reshape
func.func @outer_dim_moves(%x: tensor<2x3x5x8xf32>) -> tensor<2x4x6x5xf32> {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"6", "5", "8">} : (tensor<2x3x5x8xf32>) -> tensor<6x5x8xf32>
  %1 = kiln.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<6x5x8xf32>) -> tensor<8x6x5xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "4", "6", "5">} : (tensor<8x6x5xf32>) -> tensor<2x4x6x5xf32>
  return %2 : tensor<2x4x6x5xf32>
}
