// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=softmax_spelled}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.reduce_max %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = kiln.sub %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = kiln.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.reduce_sum %2 {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = kiln.div %2, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// The sum is along another axis than the maximum.
// CHECK-LABEL: @other_axis
// CHECK-NOT:   kiln.softmax
func.func @other_axis(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = kiln.reduce_max %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = kiln.sub %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = kiln.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = kiln.reduce_sum %2 {axes = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %4 = kiln.div %2, %3 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}
