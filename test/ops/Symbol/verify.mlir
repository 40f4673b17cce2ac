// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @symbols_from_here_and_there
func.func @symbols_from_here_and_there(%x: tensor<?x3xf32, #kiln.dims<"n">>, %v: tensor<2xi64>) {
  // CHECK: kiln.shape %{{.*}} {end = 2 : i64, start = 0 : i64}
  %0 = kiln.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<2xi64>
  // CHECK: kiln.exprs {values = #kiln.exprs<"n", "2*n + 1">}
  %1 = kiln.exprs {values = #kiln.exprs<"n", "2*n + 1">} : () -> tensor<2xi64>
  // CHECK: kiln.bind %{{.*}} ["%s0", "%s1"] : tensor<2xi64>
  kiln.bind %v ["%s0", "%s1"] : tensor<2xi64>
  // CHECK: kiln.require <"%s0", "n"> "they are equal"
  kiln.require #kiln.exprs<"%s0", "n"> "they are equal"
  return
}

// -----

func.func @shape_rejects_another_length(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2xi64>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<2x3xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @bind_rejects_c1(%v: tensor<2xi64>) {
  // expected-error @+1 {{(C1) needs one symbol for each element of a static tensor}}
  kiln.bind %v ["a"] : tensor<2xi64>
  return
}

// -----

func.func @bind_rejects_c1_on_dynamic_tensors(%v: tensor<?xi64, #kiln.dims<"n">>) {
  // expected-error @+1 {{(C1) needs one symbol for each element of a static tensor}}
  kiln.bind %v ["a"] : tensor<?xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @bind_rejects_floats(%v: tensor<1xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  kiln.bind %v ["a"] : tensor<1xf32>
  return
}

// -----

func.func @require_rejects_three() {
  // expected-error @+1 {{(C1) compares two expressions, got 3}}
  kiln.require #kiln.exprs<"a", "b", "c"> "text"
  return
}

// -----

// expected-error @+1 {{'n +' is not a size expression}}
func.func @dims_reject_what_is_no_expression(%x: tensor<?xf32, #kiln.dims<"n +">>) {
  return
}

// -----

// expected-error @+1 {{'n*2' is not canonical: write '2*n'}}
func.func @dims_reject_other_spellings(%x: tensor<?xf32, #kiln.dims<"n*2">>) {
  return
}

// -----

// expected-error @+1 {{#kiln.dims has 1 expressions for 2 dynamic dimensions}}
func.func @dims_reject_another_count(%x: tensor<?x?xf32, #kiln.dims<"n">>) {
  return
}

// -----

func.func @shape_rejects_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) dims [0, 3) of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<2x3xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @farthest_rejects_c1(%x: tensor<2xi64>) {
  // expected-error @+2 {{(C1) low must be one number, not 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.farthest %x {low = #kiln.exprs<"0", "1">} : (tensor<2xi64>) -> tensor<i64>
  return
}

// -----

// CHECK-LABEL: @relations
func.func @relations(%x: tensor<?xi32, #kiln.dims<"n">>) {
  // CHECK: kiln.farthest %{{.*}} {low = #kiln.exprs<"-n">} : (tensor<?xi32, #kiln.dims<"n">>) -> tensor<i64>
  %0 = kiln.farthest %x {low = #kiln.exprs<"-n">} : (tensor<?xi32, #kiln.dims<"n">>) -> tensor<i64>
  // CHECK: kiln.require <"n", "m"> "text" {relation = "at_most"}
  kiln.require #kiln.exprs<"n", "m"> "text" {relation = "at_most"}
  // CHECK: kiln.require <"n", "m"> "text" {relation = "broadcast"}
  kiln.require #kiln.exprs<"n", "m"> "text" {relation = "broadcast"}
  return
}

// -----

func.func @require_rejects_unknown_relations() {
  // expected-error @+1 {{unknown relation 'less'}}
  kiln.require #kiln.exprs<"n", "m"> "text" {relation = "less"}
  return
}
