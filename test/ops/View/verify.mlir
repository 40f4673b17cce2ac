// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @reshape_of_symbols
func.func @reshape_of_symbols(%x: tensor<?x12x64xf32, #kiln.dims<"n">>) {
  // CHECK: kiln.reshape {{.*}} {shape = #kiln.exprs<"n", "768">} {{.*}} -> tensor<?x768xf32, #kiln.dims<"n">>
  %0 = kiln.reshape %x {shape = #kiln.exprs<"n", "768">} : (tensor<?x12x64xf32, #kiln.dims<"n">>) -> tensor<?x768xf32, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @reshape_to_a_scalar
func.func @reshape_to_a_scalar(%x: tensor<1x1xf32>) {
  // CHECK: kiln.reshape {{.*}} {shape = #kiln.exprs<>}
  %0 = kiln.reshape %x {shape = #kiln.exprs<>} : (tensor<1x1xf32>) -> tensor<f32>
  return
}

// -----

// Nobody knows now: the run checks it.
// CHECK-LABEL: @reshape_that_may_fit
func.func @reshape_that_may_fit(%x: tensor<?xf32, #kiln.dims<"n">>) {
  %0 = kiln.reshape %x {shape = #kiln.exprs<"m", "2">} : (tensor<?xf32, #kiln.dims<"n">>) -> tensor<?x2xf32, #kiln.dims<"m">>
  return
}

// -----

func.func @reshape_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) cannot reshape 6 elements into 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reshape %x {shape = #kiln.exprs<"4">} : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reshape_rejects_another_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<6xf32>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reshape %x {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @reshape_rejects_c2(%x: tensor<6xf32>) {
  // expected-error @+2 {{(C2) a size of the shape is negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reshape %x {shape = #kiln.exprs<"-2", "-3">} : (tensor<6xf32>) -> tensor<6xf32>
  return
}
