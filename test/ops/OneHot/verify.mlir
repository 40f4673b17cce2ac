// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @one_hot_static
func.func @one_hot_static(%a: tensor<3xi64>, %b: tensor<2xf32>) {
  // CHECK: kiln.one_hot %{{.*}}, %{{.*}} {axis = 1 : i64, depth = #kiln.exprs<"5">} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  %0 = kiln.one_hot %a, %b {axis = 1 : i64, depth = #kiln.exprs<"5">} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

// CHECK-LABEL: @one_hot_dynamic
func.func @one_hot_dynamic(%a: tensor<?x3xi32, #kiln.dims<"n">>, %b: tensor<2xi1>) {
  // CHECK: kiln.one_hot %{{.*}}, %{{.*}} {axis = 0 : i64, depth = #kiln.exprs<"d">} : (tensor<?x3xi32, #kiln.dims<"n">>, tensor<2xi1>) -> tensor<?x?x3xi1, #kiln.dims<"d", "n">>
  %0 = kiln.one_hot %a, %b {axis = 0 : i64, depth = #kiln.exprs<"d">} : (tensor<?x3xi32, #kiln.dims<"n">>, tensor<2xi1>) -> tensor<?x?x3xi1, #kiln.dims<"d", "n">>
  return
}

// -----

func.func @one_hot_rejects_c1(%a: tensor<3xi64>, %b: tensor<2xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.one_hot %a, %b {axis = 2 : i64, depth = #kiln.exprs<"5">} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @one_hot_rejects_c2_two(%a: tensor<3xi64>, %b: tensor<2xf32>) {
  // expected-error @+2 {{(C2) depth must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.one_hot %a, %b {axis = 1 : i64, depth = #kiln.exprs<"5", "5">} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @one_hot_rejects_c2_negative(%a: tensor<3xi64>, %b: tensor<2xf32>) {
  // expected-error @+2 {{(C2) depth must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.one_hot %a, %b {axis = 1 : i64, depth = #kiln.exprs<"-5">} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @one_hot_rejects_c3(%a: tensor<3xi64>, %b: tensor<3xf32>) {
  // expected-error @+2 {{(C3) values must be [off, on], not 'tensor<3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.one_hot %a, %b {axis = 1 : i64, depth = #kiln.exprs<"5">} : (tensor<3xi64>, tensor<3xf32>) -> tensor<3x5xf32>
  return
}
