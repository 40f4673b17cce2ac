// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @gather_static
func.func @gather_static(%a: tensor<9x4xf32>, %b: tensor<2xi64>) {
  // CHECK: kiln.gather %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %0 = kiln.gather %a, %b {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @gather_dynamic
func.func @gather_dynamic(%a: tensor<3x?x4xi1, #kiln.dims<"n">>, %b: tensor<?x2xi32, #kiln.dims<"m">>) {
  // CHECK: kiln.gather %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<3x?x4xi1, #kiln.dims<"n">>, tensor<?x2xi32, #kiln.dims<"m">>) -> tensor<3x?x2x4xi1, #kiln.dims<"m">>
  %0 = kiln.gather %a, %b {axis = 1 : i64} : (tensor<3x?x4xi1, #kiln.dims<"n">>, tensor<?x2xi32, #kiln.dims<"m">>) -> tensor<3x?x2x4xi1, #kiln.dims<"m">>
  return
}

// -----

// CHECK-LABEL: @gather_of_a_scalar_index
func.func @gather_of_a_scalar_index(%a: tensor<?xi64, #kiln.dims<"n">>, %b: tensor<i64>) {
  // CHECK: kiln.gather %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<?xi64, #kiln.dims<"n">>, tensor<i64>) -> tensor<i64>
  %0 = kiln.gather %a, %b {axis = 0 : i64} : (tensor<?xi64, #kiln.dims<"n">>, tensor<i64>) -> tensor<i64>
  return
}

// -----

func.func @gather_rejects_c1(%a: tensor<9x4xf32>, %b: tensor<2xi64>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather %a, %b {axis = 2 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_rejects_float_indices(%a: tensor<9x4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand #1 must be ranked tensor of}}
  %0 = kiln.gather %a, %b {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @gather_elements_static
func.func @gather_elements_static(%a: tensor<3x9xf32>, %b: tensor<3x2xi64>) {
  // CHECK: kiln.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<3x9xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  %0 = kiln.gather_elements %a, %b {axis = 1 : i64} : (tensor<3x9xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

// CHECK-LABEL: @gather_elements_dynamic
func.func @gather_elements_dynamic(%a: tensor<?x9xf32, #kiln.dims<"n">>, %b: tensor<?x12xi32, #kiln.dims<"m">>) {
  // CHECK: kiln.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<?x9xf32, #kiln.dims<"n">>, tensor<?x12xi32, #kiln.dims<"m">>) -> tensor<?x12xf32, #kiln.dims<"m">>
  %0 = kiln.gather_elements %a, %b {axis = 1 : i64} : (tensor<?x9xf32, #kiln.dims<"n">>, tensor<?x12xi32, #kiln.dims<"m">>) -> tensor<?x12xf32, #kiln.dims<"m">>
  return
}

// -----

func.func @gather_elements_rejects_c1(%a: tensor<3x9xf32>, %b: tensor<3x2xi64>) {
  // expected-error @+2 {{(C1) axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_elements %a, %b {axis = 2 : i64} : (tensor<3x9xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_elements_rejects_c2_ranks(%a: tensor<3x9xf32>, %b: tensor<3xi64>) {
  // expected-error @+2 {{(C2) ranks 2 and 1 differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_elements %a, %b {axis = 1 : i64} : (tensor<3x9xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_elements_rejects_c2_dims(%a: tensor<3x9xf32>, %b: tensor<4x2xi64>) {
  // expected-error @+2 {{(C2) dimension 0 of the indices, 4, is larger than x's, 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_elements %a, %b {axis = 1 : i64} : (tensor<3x9xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// -----

// CHECK-LABEL: @gather_nd_static
func.func @gather_nd_static(%a: tensor<3x9x4xf32>, %b: tensor<5x2xi64>) {
  // CHECK: kiln.gather_nd %{{.*}}, %{{.*}} {batch_dims = 0 : i64} : (tensor<3x9x4xf32>, tensor<5x2xi64>) -> tensor<5x4xf32>
  %0 = kiln.gather_nd %a, %b {batch_dims = 0 : i64} : (tensor<3x9x4xf32>, tensor<5x2xi64>) -> tensor<5x4xf32>
  return
}

// -----

// CHECK-LABEL: @gather_nd_with_a_batch
func.func @gather_nd_with_a_batch(%a: tensor<?x9x4xf32, #kiln.dims<"n">>, %b: tensor<?x5x1xi64, #kiln.dims<"n">>) {
  // CHECK: kiln.gather_nd %{{.*}}, %{{.*}} {batch_dims = 1 : i64} : (tensor<?x9x4xf32, #kiln.dims<"n">>, tensor<?x5x1xi64, #kiln.dims<"n">>) -> tensor<?x5x4xf32, #kiln.dims<"n">>
  %0 = kiln.gather_nd %a, %b {batch_dims = 1 : i64} : (tensor<?x9x4xf32, #kiln.dims<"n">>, tensor<?x5x1xi64, #kiln.dims<"n">>) -> tensor<?x5x4xf32, #kiln.dims<"n">>
  return
}

// -----

func.func @gather_nd_rejects_c1(%a: tensor<3x9xf32>, %b: tensor<3x1xi64>) {
  // expected-error @+2 {{(C1) 2 batch dims for ranks 2 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_nd %a, %b {batch_dims = 2 : i64} : (tensor<3x9xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_nd_rejects_c2_too_deep(%a: tensor<3x9xf32>, %b: tensor<5x3xi64>) {
  // expected-error @+2 {{(C2) tuples of 3 indices for rank 2 after 0 batch dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_nd %a, %b {batch_dims = 0 : i64} : (tensor<3x9xf32>, tensor<5x3xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @gather_nd_rejects_c2_unknown(%a: tensor<3x9xf32>, %b: tensor<5x?xi64, #kiln.dims<"k">>) {
  // expected-error @+2 {{(C2) tuples of k indices for rank 2 after 0 batch dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_nd %a, %b {batch_dims = 0 : i64} : (tensor<3x9xf32>, tensor<5x?xi64, #kiln.dims<"k">>) -> tensor<5xf32>
  return
}

// -----

func.func @gather_shows_negative_axes(%a: tensor<9x4xf32>, %b: tensor<2xi64>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather %a, %b {axis = -1 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<9x2xf32>
  return
}

// -----

func.func @gather_nd_shows_negative_counts(%a: tensor<9x4xf32>, %b: tensor<2x1xi64>) {
  // expected-error @+2 {{(C1) -1 batch dims for ranks 2 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.gather_nd %a, %b {batch_dims = -1 : i64} : (tensor<9x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  return
}
