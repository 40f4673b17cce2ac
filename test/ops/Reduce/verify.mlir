// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @reduce_sum_static
func.func @reduce_sum_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.reduce_sum %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %0 = kiln.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_sum_dynamic
func.func @reduce_sum_dynamic(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.reduce_sum %{{.*}} {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  %0 = kiln.reduce_sum %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  return
}

// -----

func.func @reduce_sum_rejects_bools(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @reduce_sum_rejects_c1_range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_sum %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_sum_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_sum %x {axes = array<i64: -1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_sum_rejects_c1_order(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_sum %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_sum_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_sum %x {axes = array<i64: 1, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_prod_static
func.func @reduce_prod_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.reduce_prod %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %0 = kiln.reduce_prod %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_prod_dynamic
func.func @reduce_prod_dynamic(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.reduce_prod %{{.*}} {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  %0 = kiln.reduce_prod %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  return
}

// -----

func.func @reduce_prod_rejects_bools(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.reduce_prod %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @reduce_prod_rejects_c1_range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_prod %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_prod_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_prod %x {axes = array<i64: -1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_prod_rejects_c1_order(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_prod %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_prod_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_prod %x {axes = array<i64: 1, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_max_static
func.func @reduce_max_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.reduce_max %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %0 = kiln.reduce_max %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_max_dynamic
func.func @reduce_max_dynamic(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.reduce_max %{{.*}} {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  %0 = kiln.reduce_max %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @reduce_max_of_bools
func.func @reduce_max_of_bools(%x: tensor<2x3xi1>) {
  // CHECK: kiln.reduce_max %{{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<i1>
  %0 = kiln.reduce_max %x {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<i1>
  return
}

// -----

func.func @reduce_max_rejects_c1_range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_max %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_max_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_max %x {axes = array<i64: -1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_max_rejects_c1_order(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_max %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_max_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_max %x {axes = array<i64: 1, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_min_static
func.func @reduce_min_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.reduce_min %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %0 = kiln.reduce_min %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_min_dynamic
func.func @reduce_min_dynamic(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.reduce_min %{{.*}} {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  %0 = kiln.reduce_min %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @reduce_min_of_bools
func.func @reduce_min_of_bools(%x: tensor<2x3xi1>) {
  // CHECK: kiln.reduce_min %{{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<i1>
  %0 = kiln.reduce_min %x {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<i1>
  return
}

// -----

func.func @reduce_min_rejects_c1_range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_min %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_min_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_min %x {axes = array<i64: -1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_min_rejects_c1_order(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_min %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_min_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_min %x {axes = array<i64: 1, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_mean_static
func.func @reduce_mean_static(%x: tensor<2x3xf32>) {
  // CHECK: kiln.reduce_mean %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %0 = kiln.reduce_mean %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @reduce_mean_dynamic
func.func @reduce_mean_dynamic(%x: tensor<?x3x?xi32, #kiln.dims<"n", "m">>) {
  // CHECK: kiln.reduce_mean %{{.*}} {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  %0 = kiln.reduce_mean %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<?x3x?xi32, #kiln.dims<"n", "m">>) -> tensor<?x1x1xi32, #kiln.dims<"n">>
  return
}

// -----

func.func @reduce_mean_rejects_bools(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = kiln.reduce_mean %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @reduce_mean_rejects_c1_range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_mean %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_mean_rejects_c1_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_mean %x {axes = array<i64: -1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_mean_rejects_c1_order(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_mean %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_mean_rejects_c1_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C1) axes must be increasing and in [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.reduce_mean %x {axes = array<i64: 1, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
