// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fuse))' | FileCheck %s
// A second run finds nothing to do.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fuse,kiln-fuse))' | FileCheck %s

// CHECK-LABEL: @chain
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:  %[[F:.*]] = kiln.fusion "loop"(%[[X]])
// CHECK:         kiln.relu
// CHECK-NEXT:    kiln.sigmoid
// CHECK-NEXT:    kiln.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[F]]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The first result has a reader outside, so it must lie in memory.
// CHECK-LABEL: @chain_with_a_second_reader_is_two
// CHECK:       %[[A:.*]] = kiln.fusion "loop"
// CHECK:         kiln.relu
// CHECK-NEXT:    kiln.yield
// CHECK:       %[[B:.*]] = kiln.fusion "loop"(%[[A]])
// CHECK:         kiln.sigmoid
// CHECK-NEXT:    kiln.yield
// CHECK:       return %[[A]], %[[B]]
func.func @chain_with_a_second_reader_is_two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @diamond
// CHECK-COUNT-1: kiln.fusion
// CHECK:         kiln.relu
// CHECK:         kiln.sigmoid
// CHECK:         kiln.neg
// CHECK:         kiln.add
// CHECK-NOT:   kiln.fusion
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = kiln.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = kiln.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: @splats_go_inside
// CHECK:       kiln.fusion "loop"(%{{[^,]*}}) : (tensor<4xf32>) ->
// CHECK:         %[[C:.*]] = kiln.constant dense<2.000000e+00>
// CHECK:         kiln.mul %{{.*}}, %[[C]]
func.func @splats_go_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = kiln.constant dense<2.0> : tensor<4xf32>
  %0 = kiln.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @other_constants_are_operands
// CHECK:       %[[C:.*]] = kiln.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK:       kiln.fusion "loop"(%{{.*}}, %[[C]])
func.func @other_constants_are_operands(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = kiln.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Views are no work.
// CHECK-LABEL: @views_stay_out
// CHECK:       %[[A:.*]] = kiln.fusion "loop"
// CHECK:       %[[V:.*]] = kiln.reshape %[[A]]
// CHECK:       kiln.fusion "loop"(%[[V]])
func.func @views_stay_out(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = kiln.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = kiln.neg %1 : (tensor<6xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// CHECK-LABEL: @bind_and_require_stay_out
// CHECK-NOT:   kiln.fusion
// CHECK:       kiln.bind
// CHECK:       kiln.require
func.func @bind_and_require_stay_out(%v: tensor<1xi64>) {
  kiln.bind %v ["%s"] : tensor<1xi64>
  kiln.require #kiln.exprs<"%s", "n"> "they are equal"
  return
}

// CHECK-LABEL: @matmul_takes_pointwise_ops
// CHECK:       kiln.fusion "matmul"
// CHECK:         kiln.matmul
// CHECK-NEXT:    kiln.add
// CHECK-NEXT:    kiln.relu
// CHECK-NOT:   kiln.fusion
func.func @matmul_takes_pointwise_ops(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = kiln.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = kiln.add %0, %bias : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %2 = kiln.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// A kernel has one anchor.
// CHECK-LABEL: @two_matmuls_are_two
// CHECK:       kiln.fusion "matmul"
// CHECK:         kiln.matmul
// CHECK-NEXT:    kiln.yield
// CHECK:       kiln.fusion "matmul"
// CHECK:         kiln.matmul
// CHECK-NEXT:    kiln.relu
func.func @two_matmuls_are_two(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = kiln.matmul %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = kiln.matmul %0, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = kiln.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// The op after has a larger shape: its elements are not those in registers.
// CHECK-LABEL: @broadcast_after_a_matmul_is_another_kernel
// CHECK:       kiln.fusion "matmul"
// CHECK:         kiln.matmul
// CHECK-NEXT:    kiln.yield
// CHECK:       kiln.fusion "loop"
func.func @broadcast_after_a_matmul_is_another_kernel(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = kiln.matmul %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = kiln.add %0, %c : (tensor<4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// CHECK-LABEL: @names_of_nodes
// CHECK:       {nodes = "first,second"}
func.func @names_of_nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32> loc("second")
  return %1 : tensor<4xf32>
}

// The sigmoid follows the first convolution in its registers rather than being
// pulled by the second.
// CHECK-LABEL: @between_anchors
// CHECK:       kiln.fusion "conv"
// CHECK:         kiln.conv
// CHECK-NEXT:    kiln.sigmoid
// CHECK-NEXT:    kiln.yield
// CHECK:       kiln.fusion "conv"
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:    kiln.conv
// CHECK-NEXT:    kiln.yield
func.func @between_anchors(%x: tensor<1x4x8x8xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = kiln.conv %x, %v {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.sigmoid %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.conv %1, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %2 : tensor<1x4x8x8xf32>
}

// A convolution reads each element several times: it pulls what is cheap, and
// no part of what is not.
// CHECK-LABEL: @cheap_ops_are_pulled
// CHECK:       kiln.fusion "conv"
// CHECK:         kiln.relu
// CHECK-NEXT:    kiln.conv
func.func @cheap_ops_are_pulled(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = kiln.relu %x : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.conv %0, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: @expensive_ops_are_not
// CHECK:       kiln.fusion "loop"
// CHECK:         kiln.sigmoid
// CHECK-NEXT:    kiln.relu
// CHECK-NEXT:    kiln.yield
// CHECK:       kiln.fusion "conv"
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:    kiln.conv
func.func @expensive_ops_are_not(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = kiln.sigmoid %x : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = kiln.relu %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = kiln.conv %1, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"0", "0", "0", "0">, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %2 : tensor<1x4x8x8xf32>
}

// There are 2^40 ways through it, but 40 ops.
// CHECK-LABEL: @many_paths
// CHECK:       kiln.fusion "loop"
// CHECK-COUNT-40: kiln.mul
// CHECK-NEXT:    kiln.yield
// CHECK-NOT:   kiln.fusion
// CHECK:       return
func.func @many_paths(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = kiln.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = kiln.mul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = kiln.mul %2, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = kiln.mul %3, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = kiln.mul %4, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = kiln.mul %5, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = kiln.mul %6, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = kiln.mul %7, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = kiln.mul %8, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = kiln.mul %9, %9 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %11 = kiln.mul %10, %10 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %12 = kiln.mul %11, %11 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = kiln.mul %12, %12 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = kiln.mul %13, %13 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %15 = kiln.mul %14, %14 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %16 = kiln.mul %15, %15 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %17 = kiln.mul %16, %16 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %18 = kiln.mul %17, %17 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %19 = kiln.mul %18, %18 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %20 = kiln.mul %19, %19 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %21 = kiln.mul %20, %20 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %22 = kiln.mul %21, %21 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %23 = kiln.mul %22, %22 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %24 = kiln.mul %23, %23 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %25 = kiln.mul %24, %24 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %26 = kiln.mul %25, %25 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %27 = kiln.mul %26, %26 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %28 = kiln.mul %27, %27 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %29 = kiln.mul %28, %28 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %30 = kiln.mul %29, %29 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %31 = kiln.mul %30, %30 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %32 = kiln.mul %31, %31 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %33 = kiln.mul %32, %32 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %34 = kiln.mul %33, %33 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %35 = kiln.mul %34, %34 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %36 = kiln.mul %35, %35 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %37 = kiln.mul %36, %36 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %38 = kiln.mul %37, %37 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %39 = kiln.mul %38, %38 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %40 = kiln.mul %39, %39 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %40 : tensor<4xf32>
}
