// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @col2im_static
func.func @col2im_static(%x: tensor<1x5x5xf32>) {
  // CHECK: kiln.col2im %{{.*}} {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %0 = kiln.col2im %x {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return
}

// -----

// CHECK-LABEL: @col2im_dynamic
func.func @col2im_dynamic(%x: tensor<?x12x?xf32, #kiln.dims<"n", "h">>) {
  // CHECK: kiln.col2im %{{.*}} {block = #kiln.exprs<"4">, counts = #kiln.exprs<"h">, dilations = array<i64: 2>, image = #kiln.exprs<"h">, pads = array<i64: 3>, strides = array<i64: 1>} : (tensor<?x12x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x3x?xf32, #kiln.dims<"n", "h">>
  %0 = kiln.col2im %x {block = #kiln.exprs<"4">, counts = #kiln.exprs<"h">, dilations = array<i64: 2>, image = #kiln.exprs<"h">, pads = array<i64: 3>, strides = array<i64: 1>} : (tensor<?x12x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x3x?xf32, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @col2im_rejects_c1(%x: tensor<5x5xf32>) {
  // expected-error @+2 {{(C1) needs rank 3, not 'tensor<5x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<5x5xf32>) -> tensor<5x1x5x5xf32>
  return
}

// -----

func.func @col2im_rejects_c2_lengths(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C2) lists must be of one length, strides and dilations positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<"5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return
}

// -----

func.func @col2im_rejects_c2_without_dims(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C2) lists must be of one length, strides and dilations positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<>, counts = #kiln.exprs<>, dilations = array<i64>, image = #kiln.exprs<>, pads = array<i64>, strides = array<i64>} : (tensor<1x5x5xf32>) -> tensor<1x5xf32>
  return
}

// -----

func.func @col2im_rejects_c2_strides(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C2) lists must be of one length, strides and dilations positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 0>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return
}

// -----

func.func @col2im_rejects_c2_dilations(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C2) lists must be of one length, strides and dilations positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5", "1">, dilations = array<i64: -1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return
}

// -----

func.func @col2im_rejects_c3_too_few_counts(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C2) lists must be of one length, strides and dilations positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {block = #kiln.exprs<"1", "5">, counts = #kiln.exprs<"5">, dilations = array<i64: 1, 1>, image = #kiln.exprs<"5", "5">, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return
}

// -----

func.func @col2im_rejects_c3(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C3) sizes of the block must be positive, of image and counts not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {image = #kiln.exprs<"-5">, block = #kiln.exprs<"5">, counts = #kiln.exprs<"5">, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0>} : (tensor<1x5x5xf32>) -> tensor<1x1x5xf32>
  return
}

// -----

func.func @col2im_rejects_c3_empty_blocks(%x: tensor<1x5x5xf32>) {
  // expected-error @+2 {{(C3) sizes of the block must be positive, of image and counts not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.col2im %x {image = #kiln.exprs<"5">, block = #kiln.exprs<"0">, counts = #kiln.exprs<"5">, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0>} : (tensor<1x5x5xf32>) -> tensor<1x1x5xf32>
  return
}
