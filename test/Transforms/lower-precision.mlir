// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-lower-precision{type=f16}))' | FileCheck %s
// RUN: not kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-lower-precision{type=f8}))' 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: type must be f16 or bf16

// Operands are rounded, the sum goes on in f32.
// CHECK-LABEL: @product
// CHECK-DAG:   [[A:%.+]] = kiln.cast %arg0 {to = f16}
// CHECK-DAG:   [[B:%.+]] = kiln.cast %arg1 {to = f16}
// CHECK:       [[Y:%.+]] = kiln.matmul [[A]], [[B]] {{.*}}-> tensor<2x4xf16>
// CHECK-NEXT:  [[S:%.+]] = kiln.cast [[Y]] {to = f32}
// CHECK-NEXT:  kiln.softmax [[S]]
func.func @product(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.softmax %0 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// What moves elements moves rounded ones; what was just made in f16 is not rounded again.
// CHECK-LABEL: @moved
// CHECK:       [[Y:%.+]] = kiln.matmul {{.*}}-> tensor<4x4xf16>
// CHECK:       [[T:%.+]] = kiln.reshape [[Y]] {{.*}} -> tensor<2x8xf16>
// CHECK:       kiln.matmul [[T]]
func.func @moved(%a: tensor<4x4xf32>, %b: tensor<8x2xf32>) -> tensor<2x2xf32> {
  %0 = kiln.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "8">} : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %2 = kiln.matmul %1, %b : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// Single channels, and other types, stay as they are.
// CHECK-LABEL: @left_alone
// CHECK-NOT:   kiln.cast
func.func @left_alone(%x: tensor<1x4x8xf32>, %w: tensor<4x1x3xf32>, %i: tensor<2x2xi32>) -> (tensor<1x4x6xf32>, tensor<2x2xi32>) {
  %0 = kiln.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #kiln.exprs<"0", "0">, group = 4} : (tensor<1x4x8xf32>, tensor<4x1x3xf32>) -> tensor<1x4x6xf32>
  %1 = kiln.matmul %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %0, %1 : tensor<1x4x6xf32>, tensor<2x2xi32>
}

// A mask's lowest number is no minus infinity in f16: a row of which all is masked stays an average.
// What is minus infinity stays that.
// CHECK-LABEL: @masked
// CHECK-DAG:   [[I:%.+]] = kiln.constant dense<0xFF800000>
// CHECK-DAG:   [[E:%.+]] = kiln.equal %arg1, [[I]]
// CHECK-DAG:   [[L:%.+]] = kiln.constant dense<-6.550400e+04>
// CHECK-DAG:   [[F:%.+]] = kiln.max %arg1, [[L]]
// CHECK:       [[M:%.+]] = kiln.select [[E]], %arg1, [[F]]
// CHECK:       kiln.cast [[M]] {to = f16}
// CHECK:       kiln.attention
func.func @masked(%q: tensor<1x2x1x4xf32>, %m: tensor<2x2xf32>) -> tensor<1x2x1x4xf32> {
  %0 = kiln.attention %q, %q, %q, %m {scale = 5.0e-1 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<2x2xf32>) -> tensor<1x2x1x4xf32>
  return %0 : tensor<1x2x1x4xf32>
}
