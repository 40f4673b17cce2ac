// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=matmul_layer_norm}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "matmul_layer_norm"
// CHECK:       kiln.matmul
// CHECK:       kiln.add
// CHECK:       kiln.add
// CHECK:       kiln.standardize
// CHECK:       kiln.mul
// CHECK:       kiln.yield
func.func @match(%x: tensor<?x128x8xf32, #kiln.dims<"b">>, %b: tensor<16xf32>, %r: tensor<?x128x16xf32, #kiln.dims<"b">>, %g: tensor<16xf32>, %h: tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<?x128x8xf32, #kiln.dims<"b">>, tensor<8x16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %1 = kiln.add %0, %b : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %2 = kiln.add %1, %r : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<?x128x16xf32, #kiln.dims<"b">>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %3 = kiln.standardize %2 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x128x16xf32, #kiln.dims<"b">>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %4 = kiln.mul %3, %g : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %5 = kiln.add %4, %h : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  return %5 : tensor<?x128x16xf32, #kiln.dims<"b">>
}

// How many rows there are is not known: they may be too few to share out.
// CHECK-LABEL: @few_rows
// CHECK-NOT:   rule = "matmul_layer_norm"
func.func @few_rows(%x: tensor<?x8xf32, #kiln.dims<"s">>, %g: tensor<16xf32>, %h: tensor<16xf32>) -> tensor<?x16xf32, #kiln.dims<"s">> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<?x8xf32, #kiln.dims<"s">>, tensor<8x16xf32>) -> tensor<?x16xf32, #kiln.dims<"s">>
  %3 = kiln.standardize %0 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x16xf32, #kiln.dims<"s">>) -> tensor<?x16xf32, #kiln.dims<"s">>
  %4 = kiln.mul %3, %g : (tensor<?x16xf32, #kiln.dims<"s">>, tensor<16xf32>) -> tensor<?x16xf32, #kiln.dims<"s">>
  %5 = kiln.add %4, %h : (tensor<?x16xf32, #kiln.dims<"s">>, tensor<16xf32>) -> tensor<?x16xf32, #kiln.dims<"s">>
  return %5 : tensor<?x16xf32, #kiln.dims<"s">>
}

// The sum is read by somebody else, too.
// CHECK-LABEL: @sum_is_read
// CHECK-NOT:   rule = "matmul_layer_norm"
func.func @sum_is_read(%x: tensor<?x128x8xf32, #kiln.dims<"b">>, %g: tensor<16xf32>, %h: tensor<16xf32>) -> (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<?x128x16xf32, #kiln.dims<"b">>) {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<?x128x8xf32, #kiln.dims<"b">>, tensor<8x16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %3 = kiln.standardize %0 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x128x16xf32, #kiln.dims<"b">>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %4 = kiln.mul %3, %g : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %5 = kiln.add %4, %h : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  return %5, %0 : tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<?x128x16xf32, #kiln.dims<"b">>
}

// The normalisation is over more than rows.
// CHECK-LABEL: @more_than_rows
// CHECK-NOT:   rule = "matmul_layer_norm"
func.func @more_than_rows(%x: tensor<?x128x8xf32, #kiln.dims<"b">>, %g: tensor<16xf32>, %h: tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.matmul %x, %w : (tensor<?x128x8xf32, #kiln.dims<"b">>, tensor<8x16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %3 = kiln.standardize %0 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x128x16xf32, #kiln.dims<"b">>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %4 = kiln.mul %3, %g : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  %5 = kiln.add %4, %h : (tensor<?x128x16xf32, #kiln.dims<"b">>, tensor<16xf32>) -> tensor<?x128x16xf32, #kiln.dims<"b">>
  return %5 : tensor<?x128x16xf32, #kiln.dims<"b">>
}
