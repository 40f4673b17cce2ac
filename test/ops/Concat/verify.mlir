// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @concat_static
func.func @concat_static(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) {
  // CHECK: kiln.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %0 = kiln.concat %a, %b {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @concat_adds_symbols
func.func @concat_adds_symbols(%a: tensor<?x3xi64, #kiln.dims<"n">>, %b: tensor<2x3xi64>, %c: tensor<?x3xi64, #kiln.dims<"m">>) {
  // CHECK: kiln.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<?x3xi64, #kiln.dims<"n">>, tensor<2x3xi64>, tensor<?x3xi64, #kiln.dims<"m">>) -> tensor<?x3xi64, #kiln.dims<"m + n + 2">>
  %0 = kiln.concat %a, %b, %c {axis = 0 : i64} : (tensor<?x3xi64, #kiln.dims<"n">>, tensor<2x3xi64>, tensor<?x3xi64, #kiln.dims<"m">>) -> tensor<?x3xi64, #kiln.dims<"m + n + 2">>
  return
}

// -----

// CHECK-LABEL: @concat_takes_known_dims
func.func @concat_takes_known_dims(%a: tensor<?x2xf32, #kiln.dims<"n">>, %b: tensor<4x3xf32>) {
  // CHECK: kiln.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<?x2xf32, #kiln.dims<"n">>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %0 = kiln.concat %a, %b {axis = 1 : i64} : (tensor<?x2xf32, #kiln.dims<"n">>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return
}

// -----

// CHECK-LABEL: @concat_of_one
func.func @concat_of_one(%x: tensor<3xi1>) {
  // CHECK: kiln.concat %{{.*}} {axis = 0 : i64} : (tensor<3xi1>) -> tensor<3xi1>
  %0 = kiln.concat %x {axis = 0 : i64} : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @concat_rejects_c1_nothing() {
  // expected-error @+2 {{(C1) needs an operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat {axis = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @concat_rejects_c1_axis(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{(C1) axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = 1 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_rejects_c1_negative_axis(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = -1 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_rejects_c1_ranks(%a: tensor<2xf32>, %b: tensor<3x1xf32>) {
  // expected-error @+2 {{(C1) cannot join 'tensor<2xf32>' and 'tensor<3x1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = 0 : i64} : (tensor<2xf32>, tensor<3x1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_rejects_c1_element_types(%a: tensor<2xf32>, %b: tensor<3xi32>) {
  // expected-error @+2 {{(C1) cannot join 'tensor<2xf32>' and 'tensor<3xi32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = 0 : i64} : (tensor<2xf32>, tensor<3xi32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_rejects_c2(%a: tensor<2x3xf32>, %b: tensor<4x1xf32>) {
  // expected-error @+2 {{(C2) dimension 0 is 2 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = 1 : i64} : (tensor<2x3xf32>, tensor<4x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @concat_rejects_another_result(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<5xf32>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.concat %a, %b {axis = 0 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<6xf32>
  return
}
