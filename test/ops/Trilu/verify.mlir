// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @trilu_static
func.func @trilu_static(%x: tensor<3x3xf32>) {
  // CHECK: kiln.trilu %{{.*}} {k = #kiln.exprs<"1">, upper = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %0 = kiln.trilu %x {k = #kiln.exprs<"1">, upper = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// CHECK-LABEL: @trilu_dynamic
func.func @trilu_dynamic(%x: tensor<?x3x?xi64, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.trilu %{{.*}} {k = #kiln.exprs<"-k">, upper = false} : (tensor<?x3x?xi64, #kiln.dims<"n", "m">>) -> tensor<?x3x?xi64, #kiln.dims<"n", "m">>
  %0 = kiln.trilu %x {k = #kiln.exprs<"-k">, upper = false} : (tensor<?x3x?xi64, #kiln.dims<"n", "m">>) -> tensor<?x3x?xi64, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @trilu_rejects_c1(%x: tensor<3xf32>) {
  // expected-error @+2 {{(C1) needs matrices, not 'tensor<3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.trilu %x {k = #kiln.exprs<"1">, upper = true} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @trilu_rejects_c2(%x: tensor<3x3xf32>) {
  // expected-error @+2 {{(C2) k must be one number}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.trilu %x {k = #kiln.exprs<"1", "1">, upper = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}
