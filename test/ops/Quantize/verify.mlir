// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @quantize_static
func.func @quantize_static(%a: tensor<4x3xf32>, %b: tensor<4x1xf32>, %c: tensor<4x1xi8>) {
  // CHECK: kiln.quantize %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xi8>) -> tensor<4x3xi8>
  %0 = kiln.quantize %a, %b, %c : (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xi8>) -> tensor<4x3xi8>
  return
}

// -----

// CHECK-LABEL: @quantize_dynamic
func.func @quantize_dynamic(%a: tensor<?x3xf16, #kiln.dims<"n">>, %b: tensor<f16>, %c: tensor<ui16>) {
  // CHECK: kiln.quantize %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x3xf16, #kiln.dims<"n">>, tensor<f16>, tensor<ui16>) -> tensor<?x3xui16, #kiln.dims<"n">>
  %0 = kiln.quantize %a, %b, %c : (tensor<?x3xf16, #kiln.dims<"n">>, tensor<f16>, tensor<ui16>) -> tensor<?x3xui16, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @quantize_in_blocks
func.func @quantize_in_blocks(%a: tensor<2x5xf32>, %b: tensor<2x3xf32>, %c: tensor<2x3xui8>) {
  // CHECK: kiln.quantize %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, block_size = 2 : i64} : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<2x3xui8>) -> tensor<2x5xui8>
  %0 = kiln.quantize %a, %b, %c {axis = 1 : i64, block_size = 2 : i64} : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<2x3xui8>) -> tensor<2x5xui8>
  return
}

// -----

func.func @quantize_rejects_c1(%a: tensor<4x3xf32>, %b: tensor<f16>, %c: tensor<i8>) {
  // expected-error @+2 {{(C1) x has elements 'f32', scale 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c : (tensor<4x3xf32>, tensor<f16>, tensor<i8>) -> tensor<4x3xi8>
  return
}

// -----

func.func @quantize_rejects_c2_bits(%a: tensor<4x3xf32>, %b: tensor<f32>, %c: tensor<i32>) {
  // expected-error @+2 {{(C2) cannot quantize to 'i32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c : (tensor<4x3xf32>, tensor<f32>, tensor<i32>) -> tensor<4x3xi32>
  return
}

// -----

func.func @quantize_rejects_c2_shape(%a: tensor<4x3xf32>, %b: tensor<4x1xf32>, %c: tensor<3x1xi8>) {
  // expected-error @+2 {{(C2) zero_point of 'tensor<3x1xi8>' has not the shape of scale, 'tensor<4x1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c : (tensor<4x3xf32>, tensor<4x1xf32>, tensor<3x1xi8>) -> tensor<4x3xi8>
  return
}

// -----

func.func @quantize_rejects_c3(%a: tensor<4x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x1xi8>) {
  // expected-error @+2 {{(C3) scale of 'tensor<2x1xf32>' does not broadcast to 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c : (tensor<4x3xf32>, tensor<2x1xf32>, tensor<2x1xi8>) -> tensor<4x3xi8>
  return
}

// -----

func.func @quantize_rejects_c3_rank_of_blocks(%a: tensor<2x4xf32>, %b: tensor<2xf32>, %c: tensor<2xi8>) {
  // expected-error @+2 {{(C3) blocks along axis 1 need a scale of the rank of 'tensor<2x4xf32>', not of 'tensor<2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c {axis = 1 : i64, block_size = 2 : i64} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x4xi8>
  return
}

// -----

func.func @quantize_rejects_c3_number_of_blocks(%a: tensor<2x4xf32>, %b: tensor<2x1xf32>, %c: tensor<2x1xi8>) {
  // expected-error @+2 {{(C3) scale has 1 blocks, not 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c {axis = 1 : i64, block_size = 2 : i64} : (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xi8>) -> tensor<2x4xi8>
  return
}

// -----

func.func @quantize_rejects_negative_blocks(%a: tensor<2x4xf32>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+2 {{block_size is -2, must not be negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.quantize %a, %b, %c {axis = 1 : i64, block_size = -2 : i64} : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
  return
}

// -----

// CHECK-LABEL: @dequantize_static
func.func @dequantize_static(%a: tensor<4x3xi32>, %b: tensor<4x1xf32>, %c: tensor<i32>) {
  // CHECK: kiln.dequantize %{{.*}}, %{{.*}}, %{{.*}} {to = f32} : (tensor<4x3xi32>, tensor<4x1xf32>, tensor<i32>) -> tensor<4x3xf32>
  %0 = kiln.dequantize %a, %b, %c {to = f32} : (tensor<4x3xi32>, tensor<4x1xf32>, tensor<i32>) -> tensor<4x3xf32>
  return
}

// -----

// CHECK-LABEL: @dequantize_dynamic
func.func @dequantize_dynamic(%a: tensor<?x3xi16, #kiln.dims<"n">>, %b: tensor<3xf32>, %c: tensor<3xi16>) {
  // CHECK: kiln.dequantize %{{.*}}, %{{.*}}, %{{.*}} {to = f64} : (tensor<?x3xi16, #kiln.dims<"n">>, tensor<3xf32>, tensor<3xi16>) -> tensor<?x3xf64, #kiln.dims<"n">>
  %0 = kiln.dequantize %a, %b, %c {to = f64} : (tensor<?x3xi16, #kiln.dims<"n">>, tensor<3xf32>, tensor<3xi16>) -> tensor<?x3xf64, #kiln.dims<"n">>
  return
}

// -----

// CHECK-LABEL: @dequantize_in_blocks
func.func @dequantize_in_blocks(%a: tensor<1x4xui8>, %b: tensor<1x2xf32>, %c: tensor<1x2xui8>) {
  // CHECK: kiln.dequantize %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, block_size = 2 : i64, to = f16} : (tensor<1x4xui8>, tensor<1x2xf32>, tensor<1x2xui8>) -> tensor<1x4xf16>
  %0 = kiln.dequantize %a, %b, %c {axis = 1 : i64, block_size = 2 : i64, to = f16} : (tensor<1x4xui8>, tensor<1x2xf32>, tensor<1x2xui8>) -> tensor<1x4xf16>
  return
}

// -----

func.func @dequantize_rejects_c1(%a: tensor<4x3xi8>, %b: tensor<f32>, %c: tensor<ui8>) {
  // expected-error @+2 {{(C1) x has elements 'i8', zero_point 'ui8'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantize %a, %b, %c {to = f32} : (tensor<4x3xi8>, tensor<f32>, tensor<ui8>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dequantize_rejects_c2(%a: tensor<4x3xi8>, %b: tensor<4x1xf32>, %c: tensor<4xi8>) {
  // expected-error @+2 {{(C2) zero_point of 'tensor<4xi8>' has not the shape of scale, 'tensor<4x1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantize %a, %b, %c {to = f32} : (tensor<4x3xi8>, tensor<4x1xf32>, tensor<4xi8>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dequantize_rejects_c3(%a: tensor<4x3xi8>, %b: tensor<1x4x3xf32>, %c: tensor<i8>) {
  // expected-error @+2 {{(C3) scale of 'tensor<1x4x3xf32>' does not broadcast to 'tensor<4x3xi8>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantize %a, %b, %c {to = f32} : (tensor<4x3xi8>, tensor<1x4x3xf32>, tensor<i8>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dequantize_rejects_c3_number_of_blocks(%a: tensor<1x5xui8>, %b: tensor<1x2xf32>, %c: tensor<1x2xui8>) {
  // expected-error @+2 {{(C3) scale has 2 blocks, not 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantize %a, %b, %c {axis = 1 : i64, block_size = 2 : i64, to = f32} : (tensor<1x5xui8>, tensor<1x2xf32>, tensor<1x2xui8>) -> tensor<1x5xf32>
  return
}

// -----

func.func @dequantize_rejects_integers(%a: tensor<4x3xi8>, %b: tensor<f32>, %c: tensor<i8>) {
  // expected-error @+1 {{result #0 must be ranked tensor of}}
  %0 = kiln.dequantize %a, %b, %c {to = i32} : (tensor<4x3xi8>, tensor<f32>, tensor<i8>) -> tensor<4x3xi32>
  return
}
