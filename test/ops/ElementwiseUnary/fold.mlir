// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @relu_twice_is_once
// CHECK-COUNT-1: kiln.relu
// CHECK-NOT: kiln.relu
func.func @relu_twice_is_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @neg_twice_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @neg_twice_is_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @exp_twice_is_twice
// CHECK-COUNT-2: kiln.exp
func.func @exp_twice_is_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// VALUE-LABEL: @relu_of_a_constant
// VALUE: dense<[0, 0, 5]> : tensor<3xi8>
func.func @relu_of_a_constant() -> tensor<3xi8> {
  %0 = kiln.constant dense<[-128, 0, 5]> : tensor<3xi8>
  %1 = kiln.relu %0 : (tensor<3xi8>) -> tensor<3xi8>
  return %1 : tensor<3xi8>
}

// VALUE-LABEL: @relu_keeps_nan
// VALUE: dense<[0x7FC00000, 0.000000e+00]> : tensor<2xf32>
func.func @relu_keeps_nan() -> tensor<2xf32> {
  %0 = kiln.constant dense<[0x7FC00000, -1.0]> : tensor<2xf32>
  %1 = kiln.relu %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// VALUE-LABEL: @sigmoid_of_a_constant
// VALUE: dense<[5.000000e-01, 1.000000e+00, 0.000000e+00]> : tensor<3xf32>
func.func @sigmoid_of_a_constant() -> tensor<3xf32> {
  %0 = kiln.constant dense<[0.0, 100.0, -1000.0]> : tensor<3xf32>
  %1 = kiln.sigmoid %0 : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// VALUE-LABEL: @neg_of_the_least_integer
// VALUE: dense<[-128, 5]> : tensor<2xi8>
func.func @neg_of_the_least_integer() -> tensor<2xi8> {
  %0 = kiln.constant dense<[-128, -5]> : tensor<2xi8>
  %1 = kiln.neg %0 : (tensor<2xi8>) -> tensor<2xi8>
  return %1 : tensor<2xi8>
}
