// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @softmax_static
func.func @softmax_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.softmax %{{.*}} {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = kiln.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: @softmax_dynamic
func.func @softmax_dynamic(%x: tensor<?x3x?xf16, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.softmax %{{.*}} {axis = 2 : i64} : (tensor<?x3x?xf16, #kiln.dims<"n", "m">>) -> tensor<?x3x?xf16, #kiln.dims<"n", "m">>
  %0 = kiln.softmax %x {axis = 2 : i64} : (tensor<?x3x?xf16, #kiln.dims<"n", "m">>) -> tensor<?x3x?xf16, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @softmax_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.softmax %x {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_rejects_integers(%x: tensor<2x3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.softmax %x {axis = 1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

// CHECK-LABEL: @log_softmax_static
func.func @log_softmax_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.log_softmax %{{.*}} {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = kiln.log_softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: @log_softmax_dynamic
func.func @log_softmax_dynamic(%x: tensor<?x3x?xf16, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.log_softmax %{{.*}} {axis = 2 : i64} : (tensor<?x3x?xf16, #kiln.dims<"n", "m">>) -> tensor<?x3x?xf16, #kiln.dims<"n", "m">>
  %0 = kiln.log_softmax %x {axis = 2 : i64} : (tensor<?x3x?xf16, #kiln.dims<"n", "m">>) -> tensor<?x3x?xf16, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @log_softmax_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.log_softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.log_softmax %x {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax_rejects_integers(%x: tensor<2x3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.log_softmax %x {axis = 1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}
