// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @matmul_static
func.func @matmul_static(%a: tensor<5x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: kiln.matmul %{{.*}}, %{{.*}} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %0 = kiln.matmul %a, %b : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// CHECK-LABEL: @matmul_of_swapped_operands
func.func @matmul_of_swapped_operands(%a: tensor<3x5xi32>, %b: tensor<4x3xi32>) {
  // CHECK: kiln.matmul %{{.*}}, %{{.*}} {trans_a = true, trans_b = true} : (tensor<3x5xi32>, tensor<4x3xi32>) -> tensor<5x4xi32>
  %0 = kiln.matmul %a, %b {trans_a = true, trans_b = true} : (tensor<3x5xi32>, tensor<4x3xi32>) -> tensor<5x4xi32>
  return
}

// -----

// CHECK-LABEL: @matmul_dynamic
func.func @matmul_dynamic(%a: tensor<?x1x?x3xf16, #kiln.dims<"n", "m">>, %b: tensor<8x3x?xf16, #kiln.dims<"k">>) {
  // CHECK: kiln.matmul %{{.*}}, %{{.*}} : (tensor<?x1x?x3xf16, #kiln.dims<"n", "m">>, tensor<8x3x?xf16, #kiln.dims<"k">>) -> tensor<?x8x?x?xf16, #kiln.dims<"n", "m", "k">>
  %0 = kiln.matmul %a, %b : (tensor<?x1x?x3xf16, #kiln.dims<"n", "m">>, tensor<8x3x?xf16, #kiln.dims<"k">>) -> tensor<?x8x?x?xf16, #kiln.dims<"n", "m", "k">>
  return
}

// -----

func.func @matmul_rejects_c1_rank(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{(C1) a matrix product needs two dims or more, not 'tensor<3xf32>' and 'tensor<3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %a, %b : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_rejects_c1_element_types(%a: tensor<5x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error @+2 {{(C1) element types differ: 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %a, %b : (tensor<5x3xf32>, tensor<3x4xf64>) -> tensor<5x4xf32>
  return
}

// -----

func.func @matmul_rejects_c2(%a: tensor<5x3xf32>, %b: tensor<4x3xf32>) {
  // expected-error @+2 {{(C2) 'tensor<5x3xf32>' and 'tensor<4x3xf32>' disagree about the summed dim: 3 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %a, %b : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @matmul_rejects_c2_swapped(%a: tensor<5x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{disagree about the summed dim: 3 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %a, %b {trans_b = true} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @matmul_rejects_c3(%a: tensor<2x5x3xf32>, %b: tensor<3x3x4xf32>) {
  // expected-error @+2 {{(C3) outer dims of 'tensor<2x5x3xf32>' and 'tensor<3x3x4xf32>' do not broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %a, %b : (tensor<2x5x3xf32>, tensor<3x3x4xf32>) -> tensor<2x5x4xf32>
  return
}
