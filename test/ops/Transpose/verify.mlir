// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @transpose_moves_dims
func.func @transpose_moves_dims(%x: tensor<?x3x?xf32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.transpose {{.*}} -> tensor<?x?x3xf32, #kiln.dims<"m", "n">>
  %0 = kiln.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<?x3x?xf32, #kiln.dims<"n", "m">>) -> tensor<?x?x3xf32, #kiln.dims<"m", "n">>
  return
}

// -----

// CHECK-LABEL: @transpose_of_a_scalar
func.func @transpose_of_a_scalar(%x: tensor<f32>) {
  %0 = kiln.transpose %x {permutation = array<i64>} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @transpose_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) permutation must hold each of the 2 axes once}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_rejects_c1_too_few(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) permutation must hold each of the 2 axes once}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.transpose %x {permutation = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @transpose_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) permutation must hold each of the 2 axes once}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.transpose %x {permutation = array<i64: -1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @transpose_rejects_another_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3x2xf32>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
