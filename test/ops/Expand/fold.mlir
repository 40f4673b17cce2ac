// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @broadcast_to_its_own_shape_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @broadcast_to_its_own_shape_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"n", "3">} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @broadcast_to_twice_is_one
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  kiln.broadcast_to %[[X]] {shape = #kiln.exprs<"4", "2", "3">} : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:  return
func.func @broadcast_to_twice_is_one(%x: tensor<1x3xf32>) -> tensor<4x2x3xf32> {
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"2", "3">} : (tensor<1x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.broadcast_to %0 {shape = #kiln.exprs<"4", "2", "3">} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// CHECK-LABEL: @tile_once_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @tile_once_is_nothing(%x: tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">> {
  %0 = kiln.tile %x {repeats = #kiln.exprs<"1", "1">} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3xf32, #kiln.dims<"n">>
}

// CHECK-LABEL: @tile_twice_is_kept
// CHECK:       kiln.tile
func.func @tile_twice_is_kept(%x: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %0 = kiln.tile %x {repeats = #kiln.exprs<"1", "2">} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// VALUE-LABEL: @broadcast_to_of_a_constant
// VALUE{LITERAL}: dense<[[1, 1], [2, 2]]> : tensor<2x2xi64>
func.func @broadcast_to_of_a_constant() -> tensor<2x2xi64> {
  %x = kiln.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %r = kiln.broadcast_to %x {shape = #kiln.exprs<"2", "2">} : (tensor<2x1xi64>) -> tensor<2x2xi64>
  return %r : tensor<2x2xi64>
}

// VALUE-LABEL: @tile_of_a_constant
// VALUE{LITERAL}: dense<[3, 1, 2, 3, 1, 2]> : tensor<6xi64>
func.func @tile_of_a_constant() -> tensor<6xi64> {
  %x = kiln.constant dense<[3, 1, 2]> : tensor<3xi64>
  %r = kiln.tile %x {repeats = #kiln.exprs<"2">} : (tensor<3xi64>) -> tensor<6xi64>
  return %r : tensor<6xi64>
}
