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

// -----

// There are 2^40 ways from the operand to the result.
// CHECK:       plan.program @many_ways
// CHECK:       %[[A:.*]] = plan.alloc
// CHECK:       plan.launch @{{.*}} ins({{.*}}, %[[A]] : {{.*}}) outs(%[[A]] :
// CHECK:       plan.output 0
func.func @many_ways(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = kiln.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.conv %0, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.conv %1, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = kiln.add %2, %0 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = kiln.mul %3, %3 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = kiln.mul %4, %4 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %6 = kiln.mul %5, %5 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %7 = kiln.mul %6, %6 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %8 = kiln.mul %7, %7 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %9 = kiln.mul %8, %8 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %10 = kiln.mul %9, %9 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %11 = kiln.mul %10, %10 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %12 = kiln.mul %11, %11 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %13 = kiln.mul %12, %12 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %14 = kiln.mul %13, %13 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %15 = kiln.mul %14, %14 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %16 = kiln.mul %15, %15 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %17 = kiln.mul %16, %16 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %18 = kiln.mul %17, %17 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %19 = kiln.mul %18, %18 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %20 = kiln.mul %19, %19 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %21 = kiln.mul %20, %20 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %22 = kiln.mul %21, %21 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %23 = kiln.mul %22, %22 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %24 = kiln.mul %23, %23 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %25 = kiln.mul %24, %24 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %26 = kiln.mul %25, %25 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %27 = kiln.mul %26, %26 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %28 = kiln.mul %27, %27 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %29 = kiln.mul %28, %28 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %30 = kiln.mul %29, %29 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %31 = kiln.mul %30, %30 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %32 = kiln.mul %31, %31 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %33 = kiln.mul %32, %32 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %34 = kiln.mul %33, %33 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %35 = kiln.mul %34, %34 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %36 = kiln.mul %35, %35 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %37 = kiln.mul %36, %36 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %38 = kiln.mul %37, %37 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %39 = kiln.mul %38, %38 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %40 = kiln.mul %39, %39 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %41 = kiln.mul %40, %40 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %42 = kiln.mul %41, %41 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %43 = kiln.mul %42, %42 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %44 = kiln.conv %43, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %44 : tensor<1x4x8x8xf32>
}
