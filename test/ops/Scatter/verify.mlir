// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @scatter_elements_static
func.func @scatter_elements_static(%a: tensor<9xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>) {
  // CHECK: kiln.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64, reduction = "add"} : (tensor<9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<9xf32>
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "add"} : (tensor<9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<9xf32>
  return
}

// -----

// CHECK-LABEL: @scatter_elements_dynamic
func.func @scatter_elements_dynamic(%a: tensor<?x4xi1, #kiln.dims<"n">>, %b: tensor<?x9xi32, #kiln.dims<"m">>, %c: tensor<?x9xi1, #kiln.dims<"m">>) {
  // CHECK: kiln.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, reduction = "max"} : (tensor<?x4xi1, #kiln.dims<"n">>, tensor<?x9xi32, #kiln.dims<"m">>, tensor<?x9xi1, #kiln.dims<"m">>) -> tensor<?x4xi1, #kiln.dims<"n">>
  %0 = kiln.scatter_elements %a, %b, %c {axis = 1 : i64, reduction = "max"} : (tensor<?x4xi1, #kiln.dims<"n">>, tensor<?x9xi32, #kiln.dims<"m">>, tensor<?x9xi1, #kiln.dims<"m">>) -> tensor<?x4xi1, #kiln.dims<"n">>
  return
}

// -----

func.func @scatter_elements_rejects_c1_axis(%a: tensor<9xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>) {
  // expected-error @+2 {{(C1) axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 1 : i64, reduction = "none"} : (tensor<9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter_elements_rejects_c1_reduction(%a: tensor<9xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>) {
  // expected-error @+2 {{(C1) unknown reduction 'sub'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "sub"} : (tensor<9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter_elements_rejects_c2_element_types(%a: tensor<9xf32>, %b: tensor<2xi64>, %c: tensor<2xf16>) {
  // expected-error @+2 {{(C2) cannot update 'tensor<9xf32>' by 'tensor<2xf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "add"} : (tensor<9xf32>, tensor<2xi64>, tensor<2xf16>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter_elements_rejects_c2_ranks(%a: tensor<9xf32>, %b: tensor<2x1xi64>, %c: tensor<2x1xf32>) {
  // expected-error @+2 {{(C2) cannot update 'tensor<9xf32>' by 'tensor<2x1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "add"} : (tensor<9xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter_elements_rejects_c2_shapes(%a: tensor<9xf32>, %b: tensor<2xi64>, %c: tensor<3xf32>) {
  // expected-error @+2 {{(C2) dimension 0 of indices and updates is 2 and 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "add"} : (tensor<9xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter_elements_rejects_c3(%a: tensor<9x2xf32>, %b: tensor<2x3xi64>, %c: tensor<2x3xf32>) {
  // expected-error @+2 {{(C3) dimension 1 of the indices, 3, is larger than x's, 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_elements %a, %b, %c {axis = 0 : i64, reduction = "add"} : (tensor<9x2xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<9x2xf32>
  return
}

// -----

// CHECK-LABEL: @scatter_nd_static
func.func @scatter_nd_static(%a: tensor<9x4xf32>, %b: tensor<2x1xi64>, %c: tensor<2x4xf32>) {
  // CHECK: kiln.scatter_nd %{{.*}}, %{{.*}}, %{{.*}} {reduction = "none"} : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<9x4xf32>
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<9x4xf32>
  return
}

// -----

// CHECK-LABEL: @scatter_nd_dynamic
func.func @scatter_nd_dynamic(%a: tensor<?x4x?xi64, #kiln.dims<"n", "m">>, %b: tensor<?x2xi64, #kiln.dims<"k">>, %c: tensor<?x?xi64, #kiln.dims<"k", "m">>) {
  // CHECK: kiln.scatter_nd %{{.*}}, %{{.*}}, %{{.*}} {reduction = "mul"} : (tensor<?x4x?xi64, #kiln.dims<"n", "m">>, tensor<?x2xi64, #kiln.dims<"k">>, tensor<?x?xi64, #kiln.dims<"k", "m">>) -> tensor<?x4x?xi64, #kiln.dims<"n", "m">>
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "mul"} : (tensor<?x4x?xi64, #kiln.dims<"n", "m">>, tensor<?x2xi64, #kiln.dims<"k">>, tensor<?x?xi64, #kiln.dims<"k", "m">>) -> tensor<?x4x?xi64, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @scatter_nd_rejects_c1(%a: tensor<9x4xf32>, %b: tensor<2x1xi64>, %c: tensor<2x4xf32>) {
  // expected-error @+2 {{(C1) unknown reduction 'mean'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "mean"} : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_nd_rejects_c2_too_deep(%a: tensor<9x4xf32>, %b: tensor<2x3xi64>, %c: tensor<2xf32>) {
  // expected-error @+2 {{(C2) index tuples must be static and fit rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<2x3xi64>, tensor<2xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_nd_rejects_c2_unknown(%a: tensor<9x4xf32>, %b: tensor<2x?xi64, #kiln.dims<"k">>, %c: tensor<2xf32>) {
  // expected-error @+2 {{(C2) index tuples must be static and fit rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<2x?xi64, #kiln.dims<"k">>, tensor<2xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_nd_rejects_c2_scalars(%a: tensor<9x4xf32>, %b: tensor<i64>, %c: tensor<4xf32>) {
  // expected-error @+2 {{(C2) index tuples must be static and fit rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<i64>, tensor<4xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_nd_rejects_c3_shape(%a: tensor<9x4xf32>, %b: tensor<2x1xi64>, %c: tensor<2x3xf32>) {
  // expected-error @+2 {{(C3) updates must be of type 'tensor<2x4xf32>', not 'tensor<2x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_nd_rejects_c3_element_type(%a: tensor<9x4xf32>, %b: tensor<2x1xi64>, %c: tensor<2x4xf64>) {
  // expected-error @+2 {{(C3) updates must be of type 'tensor<2x4xf32>', not 'tensor<2x4xf64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.scatter_nd %a, %b, %c {reduction = "none"} : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x4xf64>) -> tensor<9x4xf32>
  return
}

// -----

// CHECK-LABEL: @tensor_scatter_static
func.func @tensor_scatter_static(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf32>, %c: tensor<2xi64>) {
  // CHECK: kiln.tensor_scatter %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>, tensor<2xi64>) -> tensor<2x9x4xf32>
  %0 = kiln.tensor_scatter %a, %b, %c {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>, tensor<2xi64>) -> tensor<2x9x4xf32>
  return
}

// -----

// CHECK-LABEL: @tensor_scatter_dynamic
func.func @tensor_scatter_dynamic(%a: tensor<?x9x4xf16, #kiln.dims<"b">>, %b: tensor<?x?x4xf16, #kiln.dims<"b", "t">>) {
  // CHECK: kiln.tensor_scatter %{{.*}}, %{{.*}} {axis = 1 : i64, circular = true} : (tensor<?x9x4xf16, #kiln.dims<"b">>, tensor<?x?x4xf16, #kiln.dims<"b", "t">>) -> tensor<?x9x4xf16, #kiln.dims<"b">>
  %0 = kiln.tensor_scatter %a, %b {axis = 1 : i64, circular = true} : (tensor<?x9x4xf16, #kiln.dims<"b">>, tensor<?x?x4xf16, #kiln.dims<"b", "t">>) -> tensor<?x9x4xf16, #kiln.dims<"b">>
  return
}

// -----

func.func @tensor_scatter_rejects_c1_batch(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf32>) {
  // expected-error @+2 {{(C1) axis 0 is the batch}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b {axis = 0 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c1_range(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf32>) {
  // expected-error @+2 {{(C1) axis 3 is out of range for rank 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b {axis = 3 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c2_shape(%a: tensor<2x9x4xf32>, %b: tensor<2x1x3xf32>) {
  // expected-error @+2 {{(C2) cannot update 'tensor<2x9x4xf32>' by 'tensor<2x1x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x3xf32>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c2_element_type(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf16>) {
  // expected-error @+2 {{(C2) cannot update 'tensor<2x9x4xf32>' by 'tensor<2x1x4xf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf16>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c3(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf32>, %c: tensor<3xi64>) {
  // expected-error @+2 {{(C3) needs 2 starts, not 'tensor<3xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b, %c {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>, tensor<3xi64>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c3_rank(%a: tensor<2x9x4xf32>, %b: tensor<2x1x4xf32>, %c: tensor<i64>) {
  // expected-error @+2 {{(C3) needs 2 starts, not 'tensor<i64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %a, %b, %c {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>, tensor<i64>) -> tensor<2x9x4xf32>
  return
}

// -----

func.func @tensor_scatter_rejects_c2_ranks(%c: tensor<2x9x4xf32>, %u: tensor<2x1xf32>) {
  // expected-error @+2 {{(C2) cannot update 'tensor<2x9x4xf32>' by 'tensor<2x1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tensor_scatter %c, %u {axis = 1 : i64, circular = false} : (tensor<2x9x4xf32>, tensor<2x1xf32>) -> tensor<2x9x4xf32>
  return
}
