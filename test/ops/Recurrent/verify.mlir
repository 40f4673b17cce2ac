// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @rnn_static
func.func @rnn_static(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // CHECK: kiln.rnn %{{.*}}, %{{.*}} {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @rnn_both_ways
func.func @rnn_both_ways(%a: tensor<?x?x16xf64, #kiln.dims<"n", "b">>, %b: tensor<2x2x8x4xf64>, %c: tensor<?xi32, #kiln.dims<"b">>, %d: tensor<2x?x8xf64, #kiln.dims<"b">>) {
  // CHECK: kiln.rnn %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {activations = ["tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<?x?x16xf64, #kiln.dims<"n", "b">>, tensor<2x2x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  %0:2 = kiln.rnn %a, %b, %c, %d {activations = ["tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<?x?x16xf64, #kiln.dims<"n", "b">>, tensor<2x2x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  return
}

// -----

func.func @rnn_rejects_c1_rank(%a: tensor<7x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c1_element_types(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf64>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf64>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c1_columns(%a: tensor<7x2x12xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x12xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c1_lengths(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>, %c: tensor<3xi32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b, %c {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>, tensor<3xi32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c1_initial_h(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>, %c: tensor<1x2x8xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b, %c {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>, tensor<1x2x8xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c1_directions(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c2_direction(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 1 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "sideways", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c2_activation(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 1 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["gelu"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c2_alpha(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 1 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c3(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x12xf32>) {
  // expected-error @+2 {{(C3) panels of 12 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x12xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @rnn_rejects_c3_without_columns(%a: tensor<7x2x16xf32>, %b: tensor<1x1x16x0xf32>) {
  // expected-error @+2 {{(C3) panels of 0 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.rnn %a, %b {activations = ["tanh"], alpha = array<f64: 0.000000e+00>, beta = array<f64: 0.000000e+00>, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<7x2x16xf32>, tensor<1x1x16x0xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @gru_static
func.func @gru_static(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // CHECK: kiln.gru %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @gru_both_ways
func.func @gru_both_ways(%a: tensor<?x?x48xf64, #kiln.dims<"n", "b">>, %b: tensor<2x6x8x4xf64>, %c: tensor<?xi32, #kiln.dims<"b">>, %d: tensor<2x?x8xf64, #kiln.dims<"b">>) {
  // CHECK: kiln.gru %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh", "sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (tensor<?x?x48xf64, #kiln.dims<"n", "b">>, tensor<2x6x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  %0:2 = kiln.gru %a, %b, %c, %d {activations = ["sigmoid", "tanh", "sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (tensor<?x?x48xf64, #kiln.dims<"n", "b">>, tensor<2x6x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  return
}

// -----

func.func @gru_rejects_c1_rank(%a: tensor<7x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_element_types(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf64>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf64>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_columns(%a: tensor<7x2x12xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x12xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_lengths(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>, %c: tensor<3xi32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b, %c {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>, tensor<3xi32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_initial_h(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>, %c: tensor<1x2x8xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b, %c {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>, tensor<1x2x8xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_directions(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "bidirectional", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c2_direction(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 2 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "sideways", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c2_activation(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 2 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "gelu"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c2_alpha(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 2 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c3(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x12xf32>) {
  // expected-error @+2 {{(C3) panels of 12 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x12xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c3_without_columns(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x0xf32>) {
  // expected-error @+2 {{(C3) panels of 0 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<7x2x48xf32>, tensor<1x3x16x0xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @gru_with_a_hidden_bias
func.func @gru_with_a_hidden_bias(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>, %c: tensor<1x16xf32>) {
  // CHECK: kiln.gru %{{.*}}, %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>, tensor<1x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  %0:2 = kiln.gru %a, %b, %c {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>, tensor<1x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @gru_rejects_c1_hidden_bias(%a: tensor<7x2x48xf32>, %b: tensor<1x3x16x16xf32>, %c: tensor<1x48xf32>) {
  // expected-error @+2 {{(C1) hidden_bias does not have one number a hidden unit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.gru %a, %b, %c {activations = ["sigmoid", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00>, direction = "forward", linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>} : (tensor<7x2x48xf32>, tensor<1x3x16x16xf32>, tensor<1x48xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @lstm_static
func.func @lstm_static(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // CHECK: kiln.lstm %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @lstm_both_ways
func.func @lstm_both_ways(%a: tensor<?x?x64xf64, #kiln.dims<"n", "b">>, %b: tensor<2x8x8x4xf64>, %c: tensor<?xi32, #kiln.dims<"b">>, %d: tensor<2x?x8xf64, #kiln.dims<"b">>) {
  // CHECK: kiln.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh", "tanh", "sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<?x?x64xf64, #kiln.dims<"n", "b">>, tensor<2x8x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  %0:3 = kiln.lstm %a, %b, %c, %d {activations = ["sigmoid", "tanh", "tanh", "sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, clip = 3.000000e+00 : f64, direction = "bidirectional", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<?x?x64xf64, #kiln.dims<"n", "b">>, tensor<2x8x8x4xf64>, tensor<?xi32, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>) -> (tensor<?x2x?x8xf64, #kiln.dims<"n", "b">>, tensor<2x?x8xf64, #kiln.dims<"b">>, tensor<2x?x8xf64, #kiln.dims<"b">>)
  return
}

// -----

func.func @lstm_rejects_c1_rank(%a: tensor<7x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_element_types(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf64>) {
  // expected-error @+2 {{(C1) x must have rank 3, and r rank 4, a static shape and x's element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf64>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_columns(%a: tensor<7x2x12xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x12xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_lengths(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>, %c: tensor<3xi32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b, %c {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<3xi32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_initial_h(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>, %c: tensor<1x2x8xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b, %c {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<1x2x8xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_directions(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "bidirectional", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c2_direction(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 3 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "sideways", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c2_activation(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 3 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "gelu", "gelu"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c2_alpha(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{(C2) unknown direction or activation, or not 3 activations a direction}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c3(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x12xf32>) {
  // expected-error @+2 {{(C3) panels of 12 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x12xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c3_without_columns(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x0xf32>) {
  // expected-error @+2 {{(C3) panels of 0 columns cross gates of 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<7x2x64xf32>, tensor<1x4x16x0xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

// CHECK-LABEL: @lstm_with_a_cell_and_peepholes
func.func @lstm_with_a_cell_and_peepholes(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>, %c: tensor<1x2x16xf32>, %d: tensor<1x48xf32>) {
  // CHECK: kiln.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<1x2x16xf32>, tensor<1x48xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  %0:3 = kiln.lstm %a, %b, %c, %d {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<1x2x16xf32>, tensor<1x48xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_initial_c(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>, %c: tensor<1x2x8xf32>, %d: tensor<1x48xf32>) {
  // expected-error @+2 {{(C1) sizes of the operands do not fit each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b, %c, %d {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<1x2x8xf32>, tensor<1x48xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}

// -----

func.func @lstm_rejects_c1_peephole(%a: tensor<7x2x64xf32>, %b: tensor<1x4x16x16xf32>, %c: tensor<1x2x16xf32>, %d: tensor<1x16xf32>) {
  // expected-error @+2 {{(C1) peephole does not have three numbers a hidden unit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = kiln.lstm %a, %b, %c, %d {activations = ["sigmoid", "tanh", "tanh"], alpha = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, beta = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00>, direction = "forward", input_forget = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1>} : (tensor<7x2x64xf32>, tensor<1x4x16x16xf32>, tensor<1x2x16xf32>, tensor<1x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return
}
