// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @cast_to_its_own_type_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @cast_to_its_own_type_is_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.cast %x {to = f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Rounding must not be lost.
// CHECK-LABEL: @cast_there_and_back_is_kept
// CHECK-COUNT-2: kiln.cast
func.func @cast_there_and_back_is_kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.cast %x {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = kiln.cast %0 {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Truncation toward zero; what does not fit saturates; NaN is 0.
// VALUE-LABEL: @cast_of_floats_to_integers
// VALUE: dense<[2, -2, 127, -128, 0]> : tensor<5xi8>
func.func @cast_of_floats_to_integers() -> tensor<5xi8> {
  %0 = kiln.constant dense<[2.9, -2.9, 1000.0, -1000.0, 0x7FC00000]> : tensor<5xf32>
  %1 = kiln.cast %0 {to = i8} : (tensor<5xf32>) -> tensor<5xi8>
  return %1 : tensor<5xi8>
}

// VALUE-LABEL: @cast_of_integers_wraps
// VALUE: dense<[-56, 1]> : tensor<2xi8>
func.func @cast_of_integers_wraps() -> tensor<2xi8> {
  %0 = kiln.constant dense<[200, 257]> : tensor<2xi32>
  %1 = kiln.cast %0 {to = i8} : (tensor<2xi32>) -> tensor<2xi8>
  return %1 : tensor<2xi8>
}

// VALUE-LABEL: @cast_to_bool_asks_for_zero
// VALUE: dense<[false, true, true]> : tensor<3xi1>
func.func @cast_to_bool_asks_for_zero() -> tensor<3xi1> {
  %0 = kiln.constant dense<[0.0, 0.25, -3.0]> : tensor<3xf32>
  %1 = kiln.cast %0 {to = i1} : (tensor<3xf32>) -> tensor<3xi1>
  return %1 : tensor<3xi1>
}

// 2049 lies between two halves that f16 has.
// VALUE-LABEL: @cast_rounds_to_even
// VALUE: dense<[2.048000e+03, 2.052000e+03]> : tensor<2xf16>
func.func @cast_rounds_to_even() -> tensor<2xf16> {
  %0 = kiln.constant dense<[2049.0, 2051.0]> : tensor<2xf32>
  %1 = kiln.cast %0 {to = f16} : (tensor<2xf32>) -> tensor<2xf16>
  return %1 : tensor<2xf16>
}
