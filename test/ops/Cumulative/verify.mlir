// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @cum_sum_static
func.func @cum_sum_static(%x: tensor<5xf32>) {
  // CHECK: kiln.cum_sum %{{.*}} {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  %0 = kiln.cum_sum %x {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK-LABEL: @cum_sum_dynamic
func.func @cum_sum_dynamic(%x: tensor<?x3xi64, #kiln.dims<"n">>) {
  // CHECK: kiln.cum_sum %{{.*}} {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x3xi64, #kiln.dims<"n">>) -> tensor<?x3xi64, #kiln.dims<"n">>
  %0 = kiln.cum_sum %x {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x3xi64, #kiln.dims<"n">>) -> tensor<?x3xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @cum_sum_rejects_c1(%x: tensor<5xf32>) {
  // expected-error @+2 {{(C1) axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cum_sum %x {axis = 1 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @cum_sum_rejects_c1_negative(%x: tensor<5xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cum_sum %x {axis = -1 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK-LABEL: @cum_prod_static
func.func @cum_prod_static(%x: tensor<5xf32>) {
  // CHECK: kiln.cum_prod %{{.*}} {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  %0 = kiln.cum_prod %x {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK-LABEL: @cum_prod_dynamic
func.func @cum_prod_dynamic(%x: tensor<?x3xi64, #kiln.dims<"n">>) {
  // CHECK: kiln.cum_prod %{{.*}} {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x3xi64, #kiln.dims<"n">>) -> tensor<?x3xi64, #kiln.dims<"n">>
  %0 = kiln.cum_prod %x {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x3xi64, #kiln.dims<"n">>) -> tensor<?x3xi64, #kiln.dims<"n">>
  return
}

// -----

func.func @cum_prod_rejects_c1(%x: tensor<5xf32>) {
  // expected-error @+2 {{(C1) axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cum_prod %x {axis = 1 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @cum_prod_rejects_c1_negative(%x: tensor<5xf32>) {
  // expected-error @+2 {{(C1) axis -1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cum_prod %x {axis = -1 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  return
}
