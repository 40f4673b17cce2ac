// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fuse),kiln-plan,kiln-share-buffers)' | FileCheck %s

// The second convolution adds what the first wrote, for the last time: it
// writes over it.
// CHECK:       plan.program @residual
// CHECK:       %[[A:.*]] = plan.alloc
// CHECK:       plan.launch @{{.*}} outs(%[[A]] :
// CHECK:       %[[B:.*]] = plan.alloc
// CHECK:       plan.launch @{{.*}} ins(%[[A]], %{{.*}}) outs(%[[B]] :
// CHECK-NOT:   plan.alloc
// CHECK:       plan.launch @{{.*}} ins(%[[B]], %{{[^,]*}}, %[[A]] : {{.*}}) outs(%[[A]] :
// CHECK:       plan.output 0
func.func @residual(%x: tensor<1x4x8x8xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %0 = kiln.conv %x, %v {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.conv %0, %v {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.conv %1, %v {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = kiln.add %2, %0 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = kiln.conv %3, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1", "1", "1">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %4 : tensor<1x4x8x8xf32>
}

// -----

// A softmax reads its row more than once, and a kernel with a transpose reads
// elsewhere.
// CHECK:         plan.program @others
// CHECK-COUNT-2: plan.alloc
func.func @others(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = kiln.softmax %x {axis = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = kiln.softmax %0 {axis = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = kiln.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = kiln.softmax %2 {axis = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = kiln.add %3, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
