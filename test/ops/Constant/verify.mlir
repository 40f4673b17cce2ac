// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @constant_of_every_kind
func.func @constant_of_every_kind() -> (tensor<2xi64>, tensor<3x2xf32>, tensor<f16>, tensor<2xi1>, tensor<0xui8>) {
  // CHECK: kiln.constant dense<[1, -2]> : tensor<2xi64>
  %0 = kiln.constant dense<[1, -2]> : tensor<2xi64>
  // CHECK: kiln.constant dense<1.000000e+00> : tensor<3x2xf32>
  %1 = kiln.constant dense<1.0> : tensor<3x2xf32>
  // CHECK: kiln.constant dense<5.000000e-01> : tensor<f16>
  %2 = kiln.constant dense<0.5> : tensor<f16>
  // CHECK: kiln.constant dense<[true, false]> : tensor<2xi1>
  %3 = kiln.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: kiln.constant dense<> : tensor<0xui8>
  %4 = kiln.constant dense<> : tensor<0xui8>
  return %0, %1, %2, %3, %4 : tensor<2xi64>, tensor<3x2xf32>, tensor<f16>, tensor<2xi1>, tensor<0xui8>
}

// -----

// CHECK-LABEL: @constant_in_a_resource
func.func @constant_in_a_resource() -> tensor<4xi8> {
  // CHECK: kiln.constant dense_resource<w> : tensor<4xi8>
  %0 = kiln.constant dense_resource<w> : tensor<4xi8>
  return %0 : tensor<4xi8>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x0100000001020304"
    }
  }
#-}

// -----

func.func @constant_rejects_vectors() {
  // expected-error @+1 {{must be ranked tensor of element}}
  %0 = kiln.constant dense<1> : vector<2xi64>
  return
}

// -----

func.func @constant_rejects_complex() {
  // expected-error @+1 {{must be ranked tensor of element}}
  %0 = kiln.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
  return
}

// -----

func.func @sparse() -> tensor<4xf32> {
  // expected-error @+1 {{has elements that are not dense}}
  %0 = kiln.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
