// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @broadcast_to_static
func.func @broadcast_to_static(%x: tensor<3x1xf32>) {
  // CHECK: kiln.broadcast_to %{{.*}} {shape = #kiln.exprs<"2", "3", "4">} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"2", "3", "4">} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

// CHECK-LABEL: @broadcast_to_dynamic
func.func @broadcast_to_dynamic(%x: tensor<3xf32>) {
  // CHECK: kiln.broadcast_to %{{.*}} {shape = #kiln.exprs<"n", "3">} : (tensor<3xf32>) -> tensor<?x3xf32, #kiln.dims<"n">>
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"n", "3">} : (tensor<3xf32>) -> tensor<?x3xf32, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @broadcast_to_from_a_scalar
func.func @broadcast_to_from_a_scalar(%x: tensor<i1>) {
  // CHECK: kiln.broadcast_to %{{.*}} {shape = #kiln.exprs<"n + 1">} : (tensor<i1>) -> tensor<?xi1, #kiln.dims<"n + 1">>
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"n + 1">} : (tensor<i1>) -> tensor<?xi1, #kiln.dims<"n + 1">>
  return
}

// -----

func.func @broadcast_to_rejects_c1(%x: tensor<1x3xf32>) {
  // expected-error @+2 {{(C1) cannot broadcast rank 2 to rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"3">} : (tensor<1x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @broadcast_to_rejects_c2(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{(C2) cannot broadcast a dimension of 3 to 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"2", "4">} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @tile_static
func.func @tile_static(%x: tensor<3x2xf32>) {
  // CHECK: kiln.tile %{{.*}} {repeats = #kiln.exprs<"2", "1">} : (tensor<3x2xf32>) -> tensor<6x2xf32>
  %0 = kiln.tile %x {repeats = #kiln.exprs<"2", "1">} : (tensor<3x2xf32>) -> tensor<6x2xf32>
  return
}

// -----

// CHECK-LABEL: @tile_dynamic
func.func @tile_dynamic(%x: tensor<3x2xf32>) {
  // CHECK: kiln.tile %{{.*}} {repeats = #kiln.exprs<"2", "k">} : (tensor<3x2xf32>) -> tensor<6x?xf32, #kiln.dims<"2*k">>
  %0 = kiln.tile %x {repeats = #kiln.exprs<"2", "k">} : (tensor<3x2xf32>) -> tensor<6x?xf32, #kiln.dims<"2*k">>
  return
}

// -----

func.func @tile_rejects_c1_too_few(%x: tensor<3x2xf32>) {
  // expected-error @+2 {{(C1) needs repeats for each of 2 axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tile %x {repeats = #kiln.exprs<"2">} : (tensor<3x2xf32>) -> tensor<6x2xf32>
  return
}

// -----

func.func @tile_rejects_c1_negative(%x: tensor<3x2xf32>) {
  // expected-error @+2 {{(C1) cannot repeat -1 times}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.tile %x {repeats = #kiln.exprs<"2", "-1">} : (tensor<3x2xf32>) -> tensor<6x2xf32>
  return
}

// -----

func.func @broadcast_to_rejects_c3(%x: tensor<1xf32>) {
  // expected-error @+2 {{(C3) a size of the shape is negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.broadcast_to %x {shape = #kiln.exprs<"-4">} : (tensor<1xf32>) -> tensor<1xf32>
  return
}
