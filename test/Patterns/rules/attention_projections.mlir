// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=attention_projections}))' | FileCheck %s

// Keys have no bias, as in Whisper.
// CHECK-LABEL: @self
// CHECK:       %[[W:.*]] = kiln.constant dense{{.*}} : tensor<4x12xf32>
// CHECK:       %[[P:.*]] = kiln.matmul %arg0, %[[W]] : {{.*}} -> tensor<2x5x12xf32>
// CHECK:       %[[B:.*]] = kiln.constant dense<[{{.*}}, 0.000000e+00, 0.000000e+00, {{.*}}]> : tensor<12xf32>
// CHECK:       %[[S:.*]] = kiln.add %[[P]], %[[B]]
// CHECK:       %[[ALL:.*]] = kiln.reshape %[[S]] {shape = #kiln.exprs<"2", "5", "6", "2">}
// CHECK:       %[[Q:.*]] = kiln.slice %[[ALL]] {sizes = #kiln.exprs<"2", "5", "2", "2">, starts = #kiln.exprs<"0", "0", "0", "0">
// CHECK:       %[[K:.*]] = kiln.slice %[[ALL]] {{.*}}starts = #kiln.exprs<"0", "0", "2", "0">
// CHECK:       %[[V:.*]] = kiln.slice %[[ALL]] {{.*}}starts = #kiln.exprs<"0", "0", "4", "0">
// CHECK:       kiln.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f64}
func.func @self(%x: tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32> {
  %wq = kiln.constant dense<1.0> : tensor<4x4xf32>
  %wk = kiln.constant dense<2.0> : tensor<4x4xf32>
  %wv = kiln.constant dense<3.0> : tensor<4x4xf32>
  %bq = kiln.constant dense<4.0> : tensor<4xf32>
  %bv = kiln.constant dense<5.0> : tensor<4xf32>
  %0 = kiln.matmul %x, %wq : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %1 = kiln.add %0, %bq : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  %q = kiln.reshape %1 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %2 = kiln.matmul %x, %wk : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %k = kiln.reshape %2 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %3 = kiln.matmul %x, %wv : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %4 = kiln.add %3, %bv : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  %v = kiln.reshape %4 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %y = kiln.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>) -> tensor<2x5x2x2xf32>
  return %y : tensor<2x5x2x2xf32>
}

// Queries of another tensor stay.
// CHECK-LABEL: @keys_and_values
// CHECK:       kiln.matmul %arg1, %{{.*}} -> tensor<2x5x8xf32>
// CHECK:       kiln.attention %arg0, %{{.*}}, %{{.*}}, %arg2
func.func @keys_and_values(%q: tensor<2x3x2x2xf32>, %x: tensor<2x5x4xf32>, %m: tensor<3x5xf32>) -> tensor<2x3x2x2xf32> {
  %wk = kiln.constant dense<2.0> : tensor<4x4xf32>
  %wv = kiln.constant dense<3.0> : tensor<4x4xf32>
  %2 = kiln.matmul %x, %wk {trans_b = true} : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %k = kiln.reshape %2 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %3 = kiln.matmul %x, %wv {trans_b = true} : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %v = kiln.reshape %3 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %y = kiln.attention %q, %k, %v, %m {scale = 0.5 : f64} : (tensor<2x3x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>, tensor<3x5xf32>) -> tensor<2x3x2x2xf32>
  return %y : tensor<2x3x2x2xf32>
}

// The keys' product is read by somebody else, too.
// CHECK-LABEL: @product_is_read
// CHECK-COUNT-2: kiln.matmul
func.func @product_is_read(%q: tensor<2x3x2x2xf32>, %x: tensor<2x5x4xf32>) -> (tensor<2x3x2x2xf32>, tensor<2x5x4xf32>) {
  %wk = kiln.constant dense<2.0> : tensor<4x4xf32>
  %wv = kiln.constant dense<3.0> : tensor<4x4xf32>
  %2 = kiln.matmul %x, %wk : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %k = kiln.reshape %2 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %3 = kiln.matmul %x, %wv : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32>
  %v = kiln.reshape %3 {shape = #kiln.exprs<"2", "5", "2", "2">} : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %y = kiln.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x3x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>) -> tensor<2x3x2x2xf32>
  return %y, %2 : tensor<2x3x2x2xf32>, tensor<2x5x4xf32>
}
