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
