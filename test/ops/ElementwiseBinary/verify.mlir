// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @add_broadcasts
func.func @add_broadcasts(%a: tensor<?x1x4xf32, #kiln.dims<"n">>, %b: tensor<3x1xf32>) -> tensor<?x3x4xf32, #kiln.dims<"n">> {
  // CHECK: kiln.add {{.*}} -> tensor<?x3x4xf32, #kiln.dims<"n">>
  %0 = kiln.add %a, %b : (tensor<?x1x4xf32, #kiln.dims<"n">>, tensor<3x1xf32>) -> tensor<?x3x4xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3x4xf32, #kiln.dims<"n">>
}

// -----

// Nobody knows which of the two is 1.
// CHECK-LABEL: @mul_of_unknown_dims
func.func @mul_of_unknown_dims(%a: tensor<?xf32, #kiln.dims<"n">>, %b: tensor<?xf32, #kiln.dims<"m">>) {
  // CHECK: kiln.mul {{.*}} -> tensor<?xf32, #kiln.dims<"bcast(m, n)">>
  %0 = kiln.mul %a, %b : (tensor<?xf32, #kiln.dims<"n">>, tensor<?xf32, #kiln.dims<"m">>) -> tensor<?xf32, #kiln.dims<"bcast(m, n)">>
  return
}

// -----

// CHECK-LABEL: @less_gives_bool
func.func @less_gives_bool(%a: tensor<2xf32>, %b: tensor<f32>) {
  // CHECK: kiln.less {{.*}} -> tensor<2xi1>
  %0 = kiln.less %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  return
}

// -----

func.func @add_rejects_clashing_dims(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{shapes of 'tensor<2xf32>' and 'tensor<3xf32>' do not broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @sub_rejects_mixed_elements(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error @+2 {{element types differ: 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.sub %a, %b : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @div_rejects_bool(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of integer or floating point values}}
  %0 = kiln.div %a, %a : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @and_rejects_floats(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.and %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @prelu_rejects_c1(%x: tensor<2xf32>, %slope: tensor<3x2xf32>) {
  // expected-error @+2 {{(C1) slope of 'tensor<3x2xf32>' does not broadcast to x of 'tensor<2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.prelu %x, %slope : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}
