// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @pad_with_a_value
func.func @pad_with_a_value(%a: tensor<3xf32>, %b: tensor<f32>) {
  // CHECK: kiln.pad %{{.*}}, %{{.*}} {after = #kiln.exprs<"k">, before = #kiln.exprs<"1">, mode = "constant"} : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"k + 4">>
  %0 = kiln.pad %a, %b {after = #kiln.exprs<"k">, before = #kiln.exprs<"1">, mode = "constant"} : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"k + 4">>
  return
}

// -----

// CHECK-LABEL: @pad_that_drops
func.func @pad_that_drops(%a: tensor<5x3xi1>, %b: tensor<i1>) {
  // CHECK: kiln.pad %{{.*}}, %{{.*}} {after = #kiln.exprs<"0", "2">, before = #kiln.exprs<"-2", "0">, mode = "constant"} : (tensor<5x3xi1>, tensor<i1>) -> tensor<3x5xi1>
  %0 = kiln.pad %a, %b {after = #kiln.exprs<"0", "2">, before = #kiln.exprs<"-2", "0">, mode = "constant"} : (tensor<5x3xi1>, tensor<i1>) -> tensor<3x5xi1>
  return
}

// -----

// CHECK-LABEL: @pad_edge
func.func @pad_edge(%x: tensor<?x3xf32, #kiln.dims<"n">>) {
  // CHECK: kiln.pad %{{.*}} {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "edge"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  %0 = kiln.pad %x {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "edge"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  return
}

// -----

// CHECK-LABEL: @pad_reflect
func.func @pad_reflect(%x: tensor<?x3xf32, #kiln.dims<"n">>) {
  // CHECK: kiln.pad %{{.*}} {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "reflect"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  %0 = kiln.pad %x {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "reflect"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  return
}

// -----

// CHECK-LABEL: @pad_wrap
func.func @pad_wrap(%x: tensor<?x3xf32, #kiln.dims<"n">>) {
  // CHECK: kiln.pad %{{.*}} {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "wrap"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  %0 = kiln.pad %x {after = #kiln.exprs<"0", "1">, before = #kiln.exprs<"2", "1">, mode = "wrap"} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n + 2">>
  return
}

// -----

func.func @pad_rejects_c1(%x: tensor<3x3xf32>) {
  // expected-error @+2 {{(C1) needs two numbers for each of 2 axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %x {after = #kiln.exprs<"1">, before = #kiln.exprs<"1">, mode = "edge"} : (tensor<3x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @pad_rejects_c2_without_a_value(%x: tensor<3xf32>) {
  // expected-error @+2 {{(C2) mode constant, and no other, needs a value of type 'tensor<f32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %x {after = #kiln.exprs<"1">, before = #kiln.exprs<"1">, mode = "constant"} : (tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @pad_rejects_c2_with_a_value(%a: tensor<3xf32>, %b: tensor<f32>) {
  // expected-error @+2 {{(C2) mode constant, and no other, needs a value of type 'tensor<f32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %a, %b {after = #kiln.exprs<"1">, before = #kiln.exprs<"1">, mode = "edge"} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @pad_rejects_c2_another_value(%a: tensor<3xf32>, %b: tensor<1xf32>) {
  // expected-error @+2 {{(C2) mode constant, and no other, needs a value of type 'tensor<f32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %a, %b {after = #kiln.exprs<"1">, before = #kiln.exprs<"1">, mode = "constant"} : (tensor<3xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @pad_rejects_c2_negative(%x: tensor<3xf32>) {
  // expected-error @+2 {{(C2) mode wrap drops nothing}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %x {after = #kiln.exprs<"-1">, before = #kiln.exprs<"1">, mode = "wrap"} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_rejects_c2_mode(%x: tensor<3xf32>) {
  // expected-error @+2 {{(C2) unknown mode 'mirror'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %x {after = #kiln.exprs<"1">, before = #kiln.exprs<"1">, mode = "mirror"} : (tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @pad_rejects_c3(%a: tensor<3xf32>, %b: tensor<f32>) {
  // expected-error @+2 {{(C3) dimension 0 becomes -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.pad %a, %b {after = #kiln.exprs<"-2">, before = #kiln.exprs<"-2">, mode = "constant"} : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}
