// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=rms_norm_linear}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "rms_norm_linear"
// CHECK:       kiln.rms_normalize
// CHECK:       kiln.matmul
// CHECK-NEXT:  kiln.yield
func.func @match(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.rms_normalize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  return %2 : tensor<128x16xf32>
}

// CHECK-LABEL: @bias
// CHECK:       rule = "rms_norm_linear"
// CHECK:       kiln.add
// CHECK-NEXT:  kiln.yield
func.func @bias(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %b: tensor<16xf32>) -> tensor<128x16xf32> {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.rms_normalize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %3 = kiln.add %2, %b : (tensor<128x16xf32>, tensor<16xf32>) -> tensor<128x16xf32>
  return %3 : tensor<128x16xf32>
}

// Two products read the rows, as gate and value of SwiGLU do.
// CHECK-LABEL: @two_products
// CHECK-NOT:   rule = "rms_norm_linear"
func.func @two_products(%x: tensor<128x8xf32>, %g: tensor<8xf32>, %b: tensor<16xf32>) -> (tensor<128x16xf32>, tensor<128x16xf32>) {
  %w = kiln.constant dense<1.0> : tensor<8x16xf32>
  %0 = kiln.rms_normalize %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<128x8xf32>) -> tensor<128x8xf32>
  %1 = kiln.mul %0, %g : (tensor<128x8xf32>, tensor<8xf32>) -> tensor<128x8xf32>
  %2 = kiln.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %v = kiln.constant dense<2.0> : tensor<8x16xf32>
  %3 = kiln.matmul %1, %v : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  return %2, %3 : tensor<128x16xf32>, tensor<128x16xf32>
}
