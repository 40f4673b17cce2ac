// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @reverse_sequence_static
func.func @reverse_sequence_static(%a: tensor<4x3xf32>, %b: tensor<3xi64>) {
  // CHECK: kiln.reverse_sequence %{{.*}}, %{{.*}} {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

// CHECK-LABEL: @reverse_sequence_dynamic
func.func @reverse_sequence_dynamic(%a: tensor<?x?x2xi8, #kiln.dims<"n", "t">>, %b: tensor<?xi32, #kiln.dims<"n">>) {
  // CHECK: kiln.reverse_sequence %{{.*}}, %{{.*}} {batch_axis = 0 : i64, time_axis = 1 : i64} : (tensor<?x?x2xi8, #kiln.dims<"n", "t">>, tensor<?xi32, #kiln.dims<"n">>) -> tensor<?x?x2xi8, #kiln.dims<"n", "t">>
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 0 : i64, time_axis = 1 : i64} : (tensor<?x?x2xi8, #kiln.dims<"n", "t">>, tensor<?xi32, #kiln.dims<"n">>) -> tensor<?x?x2xi8, #kiln.dims<"n", "t">>
  return
}

// -----

func.func @reverse_sequence_rejects_c1_range(%a: tensor<4x3xf32>, %b: tensor<3xi64>) {
  // expected-error @+2 {{(C1) batch axis 1 and time axis 2 for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 1 : i64, time_axis = 2 : i64} : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reverse_sequence_rejects_c1_same(%a: tensor<4x3xf32>, %b: tensor<3xi64>) {
  // expected-error @+2 {{(C1) batch axis 1 and time axis 1 for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 1 : i64, time_axis = 1 : i64} : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reverse_sequence_rejects_c2(%a: tensor<4x3xf32>, %b: tensor<4xi64>) {
  // expected-error @+2 {{(C2) needs 3 lengths, not 'tensor<4xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reverse_sequence_rejects_c2_rank(%a: tensor<4x3xf32>, %b: tensor<i64>) {
  // expected-error @+2 {{(C2) needs 3 lengths, not 'tensor<i64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reverse_sequence %a, %b {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reverse_sequence_shows_negative_axes(%x: tensor<3x2xf32>, %l: tensor<2xi64>) {
  // expected-error @+2 {{(C1) batch axis -1 and time axis 0 for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reverse_sequence %x, %l {batch_axis = -1 : i64, time_axis = 0 : i64} : (tensor<3x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}
