// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @cast_keeps_dims
func.func @cast_keeps_dims(%x: tensor<?x4xi64, #kiln.dims<"n">>) -> tensor<?x4xf16, #kiln.dims<"n">> {
  // CHECK: kiln.cast %{{.*}} {to = f16} : (tensor<?x4xi64, #kiln.dims<"n">>) -> tensor<?x4xf16, #kiln.dims<"n">>
  %0 = kiln.cast %x {to = f16} : (tensor<?x4xi64, #kiln.dims<"n">>) -> tensor<?x4xf16, #kiln.dims<"n">>
  return %0 : tensor<?x4xf16, #kiln.dims<"n">>
}

// -----

func.func @cast_rejects_another_shape(%x: tensor<4xi64>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cast %x {to = f32} : (tensor<4xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @cast_rejects_another_type(%x: tensor<4xi64>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4xf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.cast %x {to = f32} : (tensor<4xi64>) -> tensor<4xf16>
  return
}

// -----

func.func @cast_rejects_strange_elements(%x: tensor<4xi24>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of element}}
  %0 = kiln.cast %x {to = f32} : (tensor<4xi24>) -> tensor<4xf32>
  return
}
