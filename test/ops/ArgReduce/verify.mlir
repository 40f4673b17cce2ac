// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @arg_max_drops_the_axis
func.func @arg_max_drops_the_axis(%x: tensor<2x3xf32>) {
  // CHECK: kiln.arg_max %{{.*}} {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  %0 = kiln.arg_max %x {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

// CHECK-LABEL: @arg_max_keeps_the_axis
func.func @arg_max_keeps_the_axis(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.arg_max %{{.*}} {axis = 2 : i64, keepdims = true, select_last = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x3x1xi64, #kiln.dims<"n">>
  %0 = kiln.arg_max %x {axis = 2 : i64, keepdims = true, select_last = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x3x1xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @arg_max_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_max %x {axis = 2 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @arg_max_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_max %x {axis = -1 : i64, keepdims = true, select_last = false} : (tensor<2x3xf32>) -> tensor<2x1xi64>
  return
}

// -----

func.func @arg_max_rejects_another_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x1xi64>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_max %x {axis = 1 : i64, keepdims = true, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

// CHECK-LABEL: @arg_min_drops_the_axis
func.func @arg_min_drops_the_axis(%x: tensor<2x3xf32>) {
  // CHECK: kiln.arg_min %{{.*}} {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  %0 = kiln.arg_min %x {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

// CHECK-LABEL: @arg_min_keeps_the_axis
func.func @arg_min_keeps_the_axis(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.arg_min %{{.*}} {axis = 2 : i64, keepdims = true, select_last = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x3x1xi64, #kiln.dims<"n">>
  %0 = kiln.arg_min %x {axis = 2 : i64, keepdims = true, select_last = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x3x1xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @arg_min_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_min %x {axis = 2 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @arg_min_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_min %x {axis = -1 : i64, keepdims = true, select_last = false} : (tensor<2x3xf32>) -> tensor<2x1xi64>
  return
}

// -----

func.func @arg_min_rejects_another_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x1xi64>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.arg_min %x {axis = 1 : i64, keepdims = true, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

// CHECK-LABEL: @hardmax_static
func.func @hardmax_static(%x: tensor<2x3xf16>) {
  // CHECK: kiln.hardmax %{{.*}} {axis = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %0 = kiln.hardmax %x {axis = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return
}

// -----

// CHECK-LABEL: @hardmax_dynamic
func.func @hardmax_dynamic(%x: tensor<?x?xf32, #kiln.dims<"n", "2*n">>) {
  // CHECK: kiln.hardmax %{{.*}} {axis = 0 : i64} : (tensor<?x?xf32, #kiln.dims<"n", "2*n">>) -> tensor<?x?xf32, #kiln.dims<"n", "2*n">>
  %0 = kiln.hardmax %x {axis = 0 : i64} : (tensor<?x?xf32, #kiln.dims<"n", "2*n">>) -> tensor<?x?xf32, #kiln.dims<"n", "2*n">>
  return
}

// -----

func.func @hardmax_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.hardmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @hardmax_rejects_c1_on_scalars(%x: tensor<f32>) {
  // expected-error @+2 {{(C1) axis 0 is out of range for rank 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.hardmax %x {axis = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @hardmax_rejects_integers(%x: tensor<2x3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.hardmax %x {axis = 1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}
