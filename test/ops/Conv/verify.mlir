// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @conv_static
func.func @conv_static(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3xf32>) {
  // CHECK: kiln.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @conv_dynamic
func.func @conv_dynamic(%a: tensor<?x4x?x9xf16, #kiln.dims<"n", "h">>, %b: tensor<6x2x3x3xf16>) {
  // CHECK: kiln.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1, 2>, group = 2 : i64, pads = #kiln.exprs<"1", "0", "1", "0">, strides = array<i64: 1, 1>} : (tensor<?x4x?x9xf16, #kiln.dims<"n", "h">>, tensor<6x2x3x3xf16>) -> tensor<?x6x?x5xf16, #kiln.dims<"n", "h">>
  %0 = kiln.conv %a, %b {dilations = array<i64: 1, 2>, group = 2 : i64, pads = #kiln.exprs<"1", "0", "1", "0">, strides = array<i64: 1, 1>} : (tensor<?x4x?x9xf16, #kiln.dims<"n", "h">>, tensor<6x2x3x3xf16>) -> tensor<?x6x?x5xf16, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @conv_rejects_c1_rank(%a: tensor<3x8xf32>, %b: tensor<4x3xf32>) {
  // expected-error @+2 {{(C1) a convolution takes an input and weights of one rank, 3 or more, not 'tensor<3x8xf32>' and 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<3x8xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @conv_rejects_c1_ranks(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{(C1) a convolution takes an input and weights of one rank}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c1_element_types(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3xf16>) {
  // expected-error @+2 {{(C1) element types differ: 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3xf16>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c2_pads(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error @+2 {{(C2) strides, dilations and pads must fit 1 spatial dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c2_strides(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error @+2 {{(C2) strides, dilations and group must be positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 0>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c2_group(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error @+2 {{(C2) strides, dilations and group must be positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 0 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c3(%a: tensor<1x3x8xf32>, %b: tensor<4x3x?xf32, #kiln.dims<"k">>) {
  // expected-error @+2 {{(C3) the kernel's size must be known}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x3x?xf32, #kiln.dims<"k">>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c4_channels(%a: tensor<1x3x8xf32>, %b: tensor<4x2x3xf32>) {
  // expected-error @+2 {{(C4) 3 channels and 4 outputs do not fit weights of 2 channels in 1 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c4_outputs(%a: tensor<1x6x8xf32>, %b: tensor<4x2x3xf32>) {
  // expected-error @+2 {{(C4) 6 channels and 4 outputs do not fit weights of 2 channels in 3 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 3 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x6x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @conv_rejects_c5(%a: tensor<1x3x2xf32>, %b: tensor<4x3x5xf32>) {
  // expected-error @+2 {{(C5) the kernel is larger than the padded input in spatial dim 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %a, %b {dilations = array<i64: 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1">, strides = array<i64: 2>} : (tensor<1x3x2xf32>, tensor<4x3x5xf32>) -> tensor<1x4x0xf32>
  return
}

// -----

// CHECK-LABEL: @conv_transpose_static
func.func @conv_transpose_static(%a: tensor<1x3x4xf32>, %b: tensor<3x5x2xf32>) {
  // CHECK: kiln.conv_transpose %{{.*}}, %{{.*}} {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x8xf32>
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x8xf32>
  return
}

// -----

// CHECK-LABEL: @conv_transpose_dynamic
func.func @conv_transpose_dynamic(%a: tensor<?x4x?xf64, #kiln.dims<"n", "h">>, %b: tensor<4x3x2xf64>) {
  // CHECK: kiln.conv_transpose %{{.*}}, %{{.*}} {dilations = array<i64: 1>, group = 2 : i64, output_padding = array<i64: 1>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<?x4x?xf64, #kiln.dims<"n", "h">>, tensor<4x3x2xf64>) -> tensor<?x6x?xf64, #kiln.dims<"n", "2*h + 1">>
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 2 : i64, output_padding = array<i64: 1>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<?x4x?xf64, #kiln.dims<"n", "h">>, tensor<4x3x2xf64>) -> tensor<?x6x?xf64, #kiln.dims<"n", "2*h + 1">>
  return
}

// -----

func.func @conv_transpose_rejects_c1(%a: tensor<1x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+2 {{(C1) a convolution takes an input and weights of one rank, 3 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3xf32>, tensor<3x5xf32>) -> tensor<1x5xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c2(%a: tensor<1x3x4xf32>, %b: tensor<3x5x2xf32>) {
  // expected-error @+2 {{(C2) strides, dilations and pads must fit 1 spatial dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1, 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c2_output_padding(%a: tensor<1x3x4xf32>, %b: tensor<3x5x2xf32>) {
  // expected-error @+2 {{(C2) output_padding must fit 1 spatial dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c3(%a: tensor<1x3x4xf32>, %b: tensor<3x5x?xf32, #kiln.dims<"k">>) {
  // expected-error @+2 {{(C3) the kernel's size must be known}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x?xf32, #kiln.dims<"k">>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c4(%a: tensor<1x3x4xf32>, %b: tensor<4x5x2xf32>) {
  // expected-error @+2 {{(C4) 3 channels do not fit weights of 4 channels in 1 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<4x5x2xf32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c4_group(%a: tensor<1x3x4xf32>, %b: tensor<3x5x2xf32>) {
  // expected-error @+2 {{(C4) 3 channels do not fit weights of 3 channels in 2 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 2 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"0", "0">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x10x8xf32>
  return
}

// -----

func.func @conv_transpose_rejects_c5(%a: tensor<1x3x4xf32>, %b: tensor<3x5x2xf32>) {
  // expected-error @+2 {{(C5) the pads cut off more than there is in spatial dim 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv_transpose %a, %b {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = #kiln.exprs<"5", "5">, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x0xf32>
  return
}
