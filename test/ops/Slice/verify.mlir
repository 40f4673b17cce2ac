// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @slice_static
func.func @slice_static(%x: tensor<4x10xf32>) {
  // CHECK: kiln.slice %{{.*}} {sizes = #kiln.exprs<"2", "5">, starts = #kiln.exprs<"1", "9">, steps = #kiln.exprs<"1", "-2">} : (tensor<4x10xf32>) -> tensor<2x5xf32>
  %0 = kiln.slice %x {sizes = #kiln.exprs<"2", "5">, starts = #kiln.exprs<"1", "9">, steps = #kiln.exprs<"1", "-2">} : (tensor<4x10xf32>) -> tensor<2x5xf32>
  return
}

// -----

// CHECK-LABEL: @slice_dynamic
func.func @slice_dynamic(%x: tensor<?x10xf32, #kiln.dims<"n">>) {
  // CHECK: kiln.slice %{{.*}} {sizes = #kiln.exprs<"n", "5">, starts = #kiln.exprs<"0", "9">, steps = #kiln.exprs<"1", "-2">} : (tensor<?x10xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n">>
  %0 = kiln.slice %x {sizes = #kiln.exprs<"n", "5">, starts = #kiln.exprs<"0", "9">, steps = #kiln.exprs<"1", "-2">} : (tensor<?x10xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @slice_of_nothing_may_start_anywhere
func.func @slice_of_nothing_may_start_anywhere(%x: tensor<4xf32>) {
  // CHECK: kiln.slice %{{.*}} {sizes = #kiln.exprs<"0">, starts = #kiln.exprs<"9">, steps = #kiln.exprs<"1">} : (tensor<4xf32>) -> tensor<0xf32>
  %0 = kiln.slice %x {sizes = #kiln.exprs<"0">, starts = #kiln.exprs<"9">, steps = #kiln.exprs<"1">} : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @slice_rejects_c1(%x: tensor<4x10xf32>) {
  // expected-error @+2 {{(C1) needs a start, a size and a step for each of 2 axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"2", "5">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"1", "1">} : (tensor<4x10xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @slice_rejects_c2(%x: tensor<4xf32>) {
  // expected-error @+2 {{(C2) the step of axis 0 is 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"2">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"0">} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_rejects_c3_size(%x: tensor<4xf32>) {
  // expected-error @+2 {{(C3) the size of axis 0 is negative: -2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"-2">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"1">} : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @slice_rejects_c3_above(%x: tensor<4xf32>) {
  // expected-error @+2 {{(C3) the slice of axis 0 reads 4 elements from 1 in steps of 1 of 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"4">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_rejects_c3_below(%x: tensor<4xf32>) {
  // expected-error @+2 {{(C3) the slice of axis 0 reads 3 elements from 1 in steps of -1 of 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"3">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"-1">} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_rejects_c3_beyond_integers(%x: tensor<4xf32>) {
  // expected-error @+2 {{(C3) the slice of axis 0 reads 3 elements from 1 in steps of 9223372036854775807 of 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.slice %x {sizes = #kiln.exprs<"3">, starts = #kiln.exprs<"1">, steps = #kiln.exprs<"9223372036854775807">} : (tensor<4xf32>) -> tensor<3xf32>
  return
}
