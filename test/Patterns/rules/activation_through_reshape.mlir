// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=activation_through_reshape}))' | FileCheck %s

// CHECK-LABEL: @relu
// CHECK:       %[[S:.*]] = kiln.add
// CHECK-NEXT:  %[[R:.*]] = kiln.relu %[[S]]
// CHECK-NEXT:  %[[Y:.*]] = kiln.reshape %[[R]]
// CHECK-NEXT:  return %[[Y]]
func.func @relu(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x8x1x1xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = kiln.add %0, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "8", "1", "1">} : (tensor<2x8xf32>) -> tensor<2x8x1x1xf32>
  %3 = kiln.relu %2 : (tensor<2x8x1x1xf32>) -> tensor<2x8x1x1xf32>
  return %3 : tensor<2x8x1x1xf32>
}

// SiLU is a product: both factors have the reshape.
// CHECK-LABEL: @silu
// CHECK:       %[[S:.*]] = kiln.add
// CHECK-NEXT:  %[[G:.*]] = kiln.sigmoid %[[S]]
// CHECK-NEXT:  %[[P:.*]] = kiln.mul %[[S]], %[[G]]
// CHECK-NEXT:  %[[Y:.*]] = kiln.reshape %[[P]]
// CHECK-NEXT:  return %[[Y]]
func.func @silu(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x8x1x1xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = kiln.add %0, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "8", "1", "1">} : (tensor<2x8xf32>) -> tensor<2x8x1x1xf32>
  %3 = kiln.sigmoid %2 : (tensor<2x8x1x1xf32>) -> tensor<2x8x1x1xf32>
  %4 = kiln.mul %2, %3 : (tensor<2x8x1x1xf32>, tensor<2x8x1x1xf32>) -> tensor<2x8x1x1xf32>
  return %4 : tensor<2x8x1x1xf32>
}

// The gate of a squeeze-excite multiplies something else.
// CHECK-LABEL: @gate
// CHECK:       kiln.reshape
// CHECK-NEXT:  kiln.sigmoid
// CHECK-NEXT:  kiln.mul
func.func @gate(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %y: tensor<2x8x3x3xf32>) -> tensor<2x8x3x3xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = kiln.add %0, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "8", "1", "1">} : (tensor<2x8xf32>) -> tensor<2x8x1x1xf32>
  %3 = kiln.sigmoid %2 : (tensor<2x8x1x1xf32>) -> tensor<2x8x1x1xf32>
  %4 = kiln.mul %y, %3 : (tensor<2x8x3x3xf32>, tensor<2x8x1x1xf32>) -> tensor<2x8x3x3xf32>
  return %4 : tensor<2x8x3x3xf32>
}

// A softmax is no activation of elements.
// CHECK-LABEL: @softmax
// CHECK:       kiln.reshape
// CHECK-NEXT:  kiln.softmax
func.func @softmax(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x8x1xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = kiln.add %0, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "8", "1">} : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %3 = kiln.softmax %2 {axis = 1 : i64} : (tensor<2x8x1xf32>) -> tensor<2x8x1xf32>
  return %3 : tensor<2x8x1xf32>
}
