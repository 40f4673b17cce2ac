// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @attention_of_groups
func.func @attention_of_groups(%q: tensor<?x9x6x8xf32, #kiln.dims<"b">>, %k: tensor<?x?x2x8xf32, #kiln.dims<"b", "m">>, %v: tensor<?x?x2x5xf32, #kiln.dims<"b", "m">>, %m: tensor<?xf32, #kiln.dims<"m">>) {
  // CHECK: kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f64}
  // CHECK-SAME: -> tensor<?x9x6x5xf32, #kiln.dims<"b">>
  %0 = kiln.attention %q, %k, %v, %m {scale = 0.5 : f64} : (tensor<?x9x6x8xf32, #kiln.dims<"b">>, tensor<?x?x2x8xf32, #kiln.dims<"b", "m">>, tensor<?x?x2x5xf32, #kiln.dims<"b", "m">>, tensor<?xf32, #kiln.dims<"m">>) -> tensor<?x9x6x5xf32, #kiln.dims<"b">>
  return
}

// -----

func.func @attention_rejects_c1(%q: tensor<2x9x8xf32>, %k: tensor<2x7x1x8xf32>) {
  // expected-error @+2 {{(C1) q, k and v must have 4 dims and one element type, not 'tensor<2x9x8xf32>', 'tensor<2x7x1x8xf32>' and 'tensor<2x7x1x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x9x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>) -> tensor<2x9x1x8xf32>
  return
}

// -----

func.func @attention_rejects_c2(%q: tensor<2x9x1x8xf32>, %k: tensor<3x7x1x8xf32>) {
  // expected-error @+2 {{(C2) batches differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x9x1x8xf32>, tensor<3x7x1x8xf32>, tensor<3x7x1x8xf32>) -> tensor<2x9x1x8xf32>
  return
}

// -----

func.func @attention_rejects_c3(%q: tensor<2x9x1x4xf32>, %k: tensor<2x7x1x8xf32>) {
  // expected-error @+2 {{(C3) queries, keys and values do not fit together}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x9x1x4xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>) -> tensor<2x9x1x8xf32>
  return
}

// -----

func.func @attention_rejects_c4(%q: tensor<2x9x3x8xf32>, %k: tensor<2x7x2x8xf32>) {
  // expected-error @+2 {{(C4) 3 heads for 2 groups of keys}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x9x3x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>) -> tensor<2x9x3x8xf32>
  return
}

// -----

func.func @attention_rejects_c5(%q: tensor<2x9x3x8xf32>, %m: tensor<4x9xf32>) {
  // expected-error @+2 {{(C5) a mask of type 'tensor<4x9xf32>' for scores of 'tensor<2x3x9x9xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<4x9xf32>) -> tensor<2x9x3x8xf32>
  return
}

// -----

func.func @attention_rejects_c6(%q: tensor<2x9x3x8xf32>, %m: tensor<9x9xf32>) {
  // expected-error @+2 {{(C6) fill without a mask of bool}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %q, %q, %m {scale = 0.5 : f64, fill = -1.0 : f64} : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<9x9xf32>) -> tensor<2x9x3x8xf32>
  return
}

// -----

func.func @attention_rejects_c7(%q: tensor<2x9x3x8xf32>) {
  // expected-error @+2 {{(C7) undefined weights may become nan, zero or masked-zero, not one}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.attention %q, %q, %q {scale = 0.5 : f64, undefined = "one"} : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>) -> tensor<2x9x3x8xf32>
  return
}
