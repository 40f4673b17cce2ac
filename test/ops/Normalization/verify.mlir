// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @standardize_static
func.func @standardize_static(%x: tensor<2x768xf32>) {
  // CHECK: kiln.standardize %{{.*}} {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}

// -----

// CHECK-LABEL: @standardize_dynamic
func.func @standardize_dynamic(%x: tensor<?x?x8xf16, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.standardize %{{.*}} {axis = 0 : i64, epsilon = 0.000000e+00 : f64} : (tensor<?x?x8xf16, #kiln.dims<"n", "m">>) -> tensor<?x?x8xf16, #kiln.dims<"n", "m">>
  %0 = kiln.standardize %x {axis = 0 : i64, epsilon = 0.000000e+00 : f64} : (tensor<?x?x8xf16, #kiln.dims<"n", "m">>) -> tensor<?x?x8xf16, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @standardize_rejects_c1(%x: tensor<2x768xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}

// -----

func.func @standardize_rejects_c1_negative(%x: tensor<2x768xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.standardize %x {axis = -1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}

// -----

// CHECK-LABEL: @rms_normalize_static
func.func @rms_normalize_static(%x: tensor<2x768xf32>) {
  // CHECK: kiln.rms_normalize %{{.*}} {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  %0 = kiln.rms_normalize %x {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}

// -----

// CHECK-LABEL: @rms_normalize_dynamic
func.func @rms_normalize_dynamic(%x: tensor<?x?x8xf16, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.rms_normalize %{{.*}} {axis = 0 : i64, epsilon = 0.000000e+00 : f64} : (tensor<?x?x8xf16, #kiln.dims<"n", "m">>) -> tensor<?x?x8xf16, #kiln.dims<"n", "m">>
  %0 = kiln.rms_normalize %x {axis = 0 : i64, epsilon = 0.000000e+00 : f64} : (tensor<?x?x8xf16, #kiln.dims<"n", "m">>) -> tensor<?x?x8xf16, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @rms_normalize_rejects_c1(%x: tensor<2x768xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.rms_normalize %x {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}

// -----

func.func @rms_normalize_rejects_c1_negative(%x: tensor<2x768xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.rms_normalize %x {axis = -1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
  return
}
