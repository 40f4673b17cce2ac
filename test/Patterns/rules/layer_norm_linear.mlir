// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=layer_norm_linear}))' | FileCheck %s

// LayerNorm, GELU and Linear, in that order.
// CHECK-LABEL: @gelu_between
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "layer_norm_linear"
// CHECK:       kiln.standardize
// CHECK:       kiln.gelu
// CHECK:       kiln.matmul
// CHECK:       kiln.add
// CHECK-NEXT:  kiln.yield
// CHECK-NOT:   kiln.fusion
func.func @gelu_between(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.gelu %2 : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %4 = kiln.matmul %3, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %5 = kiln.add %4, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  return %5 : tensor<128x16xf32>
}

// LayerNorm, Linear and GELU, as transformers have it.
// CHECK-LABEL: @gelu_behind
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "layer_norm_linear"
// CHECK:       kiln.standardize
// CHECK:       kiln.matmul
// CHECK:       kiln.gelu
// CHECK-NEXT:  kiln.yield
func.func @gelu_behind(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %4 = kiln.add %3, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  %5 = kiln.gelu %4 : (tensor<128x16xf32>) -> tensor<128x16xf32>
  return %5 : tensor<128x16xf32>
}

// A product without bias.
// CHECK-LABEL: @no_bias
// CHECK:       rule = "layer_norm_linear"
func.func @no_bias(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  return %3 : tensor<128x16xf32>
}

// Behind the norm something else reads its rows: they must lie in memory.
// CHECK-LABEL: @rows_are_read
// CHECK-NOT:   rule = "layer_norm_linear"
func.func @rows_are_read(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>) -> (tensor<128x16xf32>, tensor<128x8xf32>) {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %4 = kiln.add %3, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  return %4, %2 : tensor<128x16xf32>, tensor<128x8xf32>
}

// The normalisation is over columns of A, not rows.
// CHECK-LABEL: @more_than_rows
// CHECK-NOT:   rule = "layer_norm_linear"
func.func @more_than_rows(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 0 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %4 = kiln.add %3, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  return %4 : tensor<128x16xf32>
}

// Its matrix is not known: each row of A would need another one.
// CHECK-LABEL: @matrix_of_the_run
// CHECK-NOT:   rule = "layer_norm_linear"
func.func @matrix_of_the_run(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>, %b: tensor<16xf32>, %w: tensor<8x16xf32>) -> tensor<128x16xf32> {
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.add %1, %h : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %4 = kiln.add %3, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  return %4 : tensor<128x16xf32>
}

// Rows that may be too few to share out.
// CHECK-LABEL: @few_rows
// CHECK-NOT:   rule = "layer_norm_linear"
func.func @few_rows(%x: tensor<33x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>) -> tensor<33x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.standardize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<33x8xf32>) -> tensor<33x8xf32>
  %1 = kiln.mul %0, %g : (tensor<33x8xf32>, tensor<8xf32>) -> tensor<33x8xf32>
  %2 = kiln.add %1, %h : (tensor<33x8xf32>, tensor<8xf32>) -> tensor<33x8xf32>
  %3 = kiln.matmul %2, %w : (tensor<33x8xf32>, tensor<8x16xf32>) -> tensor<33x16xf32>
  return %3 : tensor<33x16xf32>
}
