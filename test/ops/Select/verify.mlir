// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @select_static
func.func @select_static(%a: tensor<4x1xi1>, %b: tensor<3xf32>, %c: tensor<f32>) {
  // CHECK: kiln.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %0 = kiln.select %a, %b, %c : (tensor<4x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

// CHECK-LABEL: @select_dynamic
func.func @select_dynamic(%a: tensor<?x1xi1, #kiln.dims<"n">>, %b: tensor<?xi64, #kiln.dims<"m">>, %c: tensor<1x1xi64>) {
  // CHECK: kiln.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x1xi1, #kiln.dims<"n">>, tensor<?xi64, #kiln.dims<"m">>, tensor<1x1xi64>) -> tensor<?x?xi64, #kiln.dims<"n", "m">>
  %0 = kiln.select %a, %b, %c : (tensor<?x1xi1, #kiln.dims<"n">>, tensor<?xi64, #kiln.dims<"m">>, tensor<1x1xi64>) -> tensor<?x?xi64, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @select_rejects_c1(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xf64>) {
  // expected-error @+2 {{(C1) element types differ: 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.select %a, %b, %c : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @select_rejects_c2_operands(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<3xf32>) {
  // expected-error @+2 {{(C2) shapes of 'tensor<i1>', 'tensor<4xf32>' and 'tensor<3xf32>' do not broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.select %a, %b, %c : (tensor<i1>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_rejects_c2_condition(%a: tensor<3xi1>, %b: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{(C2) shapes of 'tensor<3xi1>', 'tensor<4xf32>' and 'tensor<f32>' do not broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.select %a, %b, %c : (tensor<3xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_rejects_another_condition(%a: tensor<4xi8>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 1-bit signless integer values}}
  %0 = kiln.select %a, %b, %c : (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
