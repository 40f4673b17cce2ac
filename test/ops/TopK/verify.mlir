// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @topk_static
func.func @topk_static(%x: tensor<3x9xf32>) {
  // CHECK: kiln.topk %{{.*}} {axis = 1 : i64, k = #kiln.exprs<"2">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %0:2 = kiln.topk %x {axis = 1 : i64, k = #kiln.exprs<"2">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return
}

// -----

// CHECK-LABEL: @topk_dynamic
func.func @topk_dynamic(%x: tensor<?x9xi32, #kiln.dims<"n">>) {
  // CHECK: kiln.topk %{{.*}} {axis = 0 : i64, k = #kiln.exprs<"k">, largest = false} : (tensor<?x9xi32, #kiln.dims<"n">>) -> (tensor<?x9xi32, #kiln.dims<"k">>, tensor<?x9xi64, #kiln.dims<"k">>)
  %0:2 = kiln.topk %x {axis = 0 : i64, k = #kiln.exprs<"k">, largest = false} : (tensor<?x9xi32, #kiln.dims<"n">>) -> (tensor<?x9xi32, #kiln.dims<"k">>, tensor<?x9xi64, #kiln.dims<"k">>)
  return
}

// -----

func.func @topk_rejects_c1(%x: tensor<3x9xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.topk %x {axis = 2 : i64, k = #kiln.exprs<"2">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return
}

// -----

func.func @topk_rejects_c2_two(%x: tensor<3x9xf32>) {
  // expected-error @+2 {{(C2) k must be one number from 0 to 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.topk %x {axis = 1 : i64, k = #kiln.exprs<"2", "2">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return
}

// -----

func.func @topk_rejects_c2_negative(%x: tensor<3x9xf32>) {
  // expected-error @+2 {{(C2) k must be one number from 0 to 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.topk %x {axis = 1 : i64, k = #kiln.exprs<"-1">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x0xf32>, tensor<3x0xi64>)
  return
}

// -----

func.func @topk_rejects_c2_too_large(%x: tensor<3x9xf32>) {
  // expected-error @+2 {{(C2) k must be one number from 0 to 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.topk %x {axis = 1 : i64, k = #kiln.exprs<"10">, largest = true} : (tensor<3x9xf32>) -> (tensor<3x10xf32>, tensor<3x10xi64>)
  return
}
