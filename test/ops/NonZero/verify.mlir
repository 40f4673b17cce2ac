// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @count_nonzero_static
func.func @count_nonzero_static(%x: tensor<3x4xf32>) {
  // CHECK: kiln.count_nonzero %{{.*}} : (tensor<3x4xf32>) -> tensor<i64>
  %0 = kiln.count_nonzero %x : (tensor<3x4xf32>) -> tensor<i64>
  return
}

// -----

// CHECK-LABEL: @count_nonzero_dynamic
func.func @count_nonzero_dynamic(%x: tensor<?xi1, #kiln.dims<"n">>) {
  // CHECK: kiln.count_nonzero %{{.*}} : (tensor<?xi1, #kiln.dims<"n">>) -> tensor<i64>
  %0 = kiln.count_nonzero %x : (tensor<?xi1, #kiln.dims<"n">>) -> tensor<i64>
  return
}

// -----

func.func @count_nonzero_rejects_another_result(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{result #0 must be 0D tensor of 64-bit signless integer values}}
  %0 = kiln.count_nonzero %x : (tensor<3x4xf32>) -> tensor<1xi64>
  return
}

// -----

// CHECK-LABEL: @nonzero_static
func.func @nonzero_static(%x: tensor<3x4xf32>) {
  // CHECK: kiln.nonzero %{{.*}} {count = #kiln.exprs<"5">} : (tensor<3x4xf32>) -> tensor<2x5xi64>
  %0 = kiln.nonzero %x {count = #kiln.exprs<"5">} : (tensor<3x4xf32>) -> tensor<2x5xi64>
  return
}

// -----

// CHECK-LABEL: @nonzero_dynamic
func.func @nonzero_dynamic(%x: tensor<?x4x2xi1, #kiln.dims<"n">>) {
  // CHECK: kiln.nonzero %{{.*}} {count = #kiln.exprs<"m">} : (tensor<?x4x2xi1, #kiln.dims<"n">>) -> tensor<3x?xi64, #kiln.dims<"m">>
  %0 = kiln.nonzero %x {count = #kiln.exprs<"m">} : (tensor<?x4x2xi1, #kiln.dims<"n">>) -> tensor<3x?xi64, #kiln.dims<"m">>
  return
}

// -----

// CHECK-LABEL: @nonzero_of_a_scalar
func.func @nonzero_of_a_scalar(%x: tensor<f32>) {
  // CHECK: kiln.nonzero %{{.*}} {count = #kiln.exprs<"m">} : (tensor<f32>) -> tensor<0x?xi64, #kiln.dims<"m">>
  %0 = kiln.nonzero %x {count = #kiln.exprs<"m">} : (tensor<f32>) -> tensor<0x?xi64, #kiln.dims<"m">>
  return
}

// -----

func.func @nonzero_rejects_c1_two(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{(C1) count must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.nonzero %x {count = #kiln.exprs<"n", "m">} : (tensor<3x4xf32>) -> tensor<2x?xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @nonzero_rejects_c1_negative(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{(C1) count must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.nonzero %x {count = #kiln.exprs<"-1">} : (tensor<3x4xf32>) -> tensor<2x0xi64>
  return
}
