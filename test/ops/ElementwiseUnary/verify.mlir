// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @relu_keeps_the_type
func.func @relu_keeps_the_type(%x: tensor<?x3xi8, #kiln.dims<"2*n">>) {
  // CHECK: kiln.relu {{.*}} -> tensor<?x3xi8, #kiln.dims<"2*n">>
  %0 = kiln.relu %x : (tensor<?x3xi8, #kiln.dims<"2*n">>) -> tensor<?x3xi8, #kiln.dims<"2*n">>
  return
}

// -----

// CHECK-LABEL: @is_nan_gives_bool
func.func @is_nan_gives_bool(%x: tensor<3xf32>) {
  // CHECK: kiln.is_nan {{.*}} -> tensor<3xi1>
  %0 = kiln.is_nan %x : (tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @relu_rejects_another_shape(%x: tensor<3xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = kiln.relu %x : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sigmoid_rejects_integers(%x: tensor<3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of floating point values}}
  %0 = kiln.sigmoid %x : (tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @relu_rejects_bool(%x: tensor<3xi1>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of integer or floating point values}}
  %0 = kiln.relu %x : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @gelu_rejects_c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(C1) approximate is 'fast', must be 'none' or 'tanh'}}
  %0 = kiln.gelu %x {approximate = "fast"} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
