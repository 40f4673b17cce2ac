// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=attention},canonicalize))' | FileCheck %s

// Heads lie inside: what is there already is turned round, and back.
// CHECK-LABEL: @plain
// CHECK-DAG:   %[[Q:.*]] = kiln.transpose %arg0 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG:   %[[K:.*]] = kiln.transpose %arg1 {permutation = array<i64: 0, 3, 1, 2>}
// CHECK-DAG:   %[[V:.*]] = kiln.transpose %arg2 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK:       %[[Y:.*]] = kiln.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f64}
// CHECK:       kiln.transpose %[[Y]] {permutation = array<i64: 0, 2, 1, 3>}
func.func @plain(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<0.25> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.mul %s, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %t {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// As BERT has it: a quotient, and a mask of the keys.
// CHECK-LABEL: @quotient_and_mask
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg3 {scale = 1.250000e-01 : f64}
func.func @quotient_and_mask(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<2x1x1x7xf32>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<8.0> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.div %s, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %u = kiln.add %t, %m : (tensor<2x3x5x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// As torch has it: a factor at queries and keys, and no weights that are NaN.
// CHECK-LABEL: @factors_at_operands
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg3 {scale = 2.500000e-01 : f64, undefined = "zero"}
func.func @factors_at_operands(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xf32>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<0.5> : tensor<f32>
  %z = kiln.constant dense<0.0> : tensor<f32>
  %q2 = kiln.mul %q, %c : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5x8xf32>
  %k2 = kiln.mul %k, %c : (tensor<2x3x8x7xf32>, tensor<f32>) -> tensor<2x3x8x7xf32>
  %s = kiln.matmul %q2, %k2 : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %u = kiln.add %m, %s : (tensor<5x7xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %n = kiln.is_nan %p : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xi1>
  %g = kiln.select %n, %z, %p : (tensor<2x3x5x7xi1>, tensor<f32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %g, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// ONNX's own operator looks whether the mask leaves anything.
// CHECK-LABEL: @guard_of_the_operator
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg3 {scale = 1.000000e+00 : f64, undefined = "masked-zero"}
func.func @guard_of_the_operator(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xf32>) -> tensor<2x3x5x4xf32> {
  %l = kiln.constant dense<0xFF800000> : tensor<f32>
  %z = kiln.constant dense<0.0> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %u = kiln.add %s, %m : (tensor<2x3x5x7xf32>, tensor<5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %r = kiln.reduce_max %m {axes = array<i64: 1>, keepdims = true} : (tensor<5x7xf32>) -> tensor<5x1xf32>
  %n = kiln.equal %r, %l : (tensor<5x1xf32>, tensor<f32>) -> tensor<5x1xi1>
  %g = kiln.select %n, %z, %p : (tensor<5x1xi1>, tensor<f32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %g, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// A mask of bool.
// CHECK-LABEL: @chosen
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg3 {fill = -1.000000e+04 : f64, scale = 2.500000e-01 : f64}
func.func @chosen(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<0.25> : tensor<f32>
  %f = kiln.constant dense<-10000.0> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.mul %s, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %u = kiln.select %m, %t, %f : (tensor<5x7xi1>, tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// A bias of positions and a mask.
// CHECK-LABEL: @two_masks
// CHECK:       %[[M:.*]] = kiln.add %arg4, %arg3
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[M]]
func.func @two_masks(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<3x5x7xf32>, %n: tensor<2x1x1x7xf32>) -> tensor<2x3x5x4xf32> {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.add %s, %m : (tensor<2x3x5x7xf32>, tensor<3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %u = kiln.add %t, %n : (tensor<2x3x5x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// Heads cut from the rows of one product are read there, however the exporter moved them.
// CHECK-LABEL: @cut_from_one_product
// CHECK:       %[[ALL:.*]] = kiln.reshape %arg0 {shape = #kiln.exprs<"2", "18", "9", "64">}
// CHECK:       %[[Q:.*]] = kiln.slice %[[ALL]] {{.*}}starts = #kiln.exprs<"0", "0", "0", "0">
// CHECK:       kiln.attention %[[Q]]
// CHECK-NOT:   kiln.transpose
func.func @cut_from_one_product(%x: tensor<2x18x576xf32>) -> tensor<2x18x192xf32> {
  %c = kiln.constant dense<0.5> : tensor<f32>
  %0 = kiln.reshape %x {shape = #kiln.exprs<"2", "18", "3", "3", "64">} : (tensor<2x18x576xf32>) -> tensor<2x18x3x3x64xf32>
  %1 = kiln.transpose %0 {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x18x3x3x64xf32>) -> tensor<3x2x3x18x64xf32>
  %2 = kiln.slice %1 {sizes = #kiln.exprs<"1", "2", "3", "18", "64">, starts = #kiln.exprs<"0", "0", "0", "0", "0">, steps = #kiln.exprs<"1", "1", "1", "1", "1">} : (tensor<3x2x3x18x64xf32>) -> tensor<1x2x3x18x64xf32>
  %3 = kiln.slice %1 {sizes = #kiln.exprs<"1", "2", "3", "18", "64">, starts = #kiln.exprs<"1", "0", "0", "0", "0">, steps = #kiln.exprs<"1", "1", "1", "1", "1">} : (tensor<3x2x3x18x64xf32>) -> tensor<1x2x3x18x64xf32>
  %4 = kiln.slice %1 {sizes = #kiln.exprs<"1", "2", "3", "18", "64">, starts = #kiln.exprs<"2", "0", "0", "0", "0">, steps = #kiln.exprs<"1", "1", "1", "1", "1">} : (tensor<3x2x3x18x64xf32>) -> tensor<1x2x3x18x64xf32>
  %q = kiln.reshape %2 {shape = #kiln.exprs<"2", "3", "18", "64">} : (tensor<1x2x3x18x64xf32>) -> tensor<2x3x18x64xf32>
  %k = kiln.reshape %3 {shape = #kiln.exprs<"2", "3", "18", "64">} : (tensor<1x2x3x18x64xf32>) -> tensor<2x3x18x64xf32>
  %v = kiln.reshape %4 {shape = #kiln.exprs<"2", "3", "18", "64">} : (tensor<1x2x3x18x64xf32>) -> tensor<2x3x18x64xf32>
  %kt = kiln.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x3x18x64xf32>) -> tensor<2x3x64x18xf32>
  %s = kiln.matmul %q, %kt : (tensor<2x3x18x64xf32>, tensor<2x3x64x18xf32>) -> tensor<2x3x18x18xf32>
  %ss = kiln.mul %s, %c : (tensor<2x3x18x18xf32>, tensor<f32>) -> tensor<2x3x18x18xf32>
  %p = kiln.softmax %ss {axis = 3 : i64} : (tensor<2x3x18x18xf32>) -> tensor<2x3x18x18xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x18x18xf32>, tensor<2x3x18x64xf32>) -> tensor<2x3x18x64xf32>
  %yt = kiln.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x18x64xf32>) -> tensor<2x18x3x64xf32>
  %z = kiln.reshape %yt {shape = #kiln.exprs<"2", "18", "192">} : (tensor<2x18x3x64xf32>) -> tensor<2x18x192xf32>
  return %z : tensor<2x18x192xf32>
}

// Keys that were repeated for the heads of a group are not.
// CHECK-LABEL: @groups
// CHECK-NOT:   kiln.broadcast_to
// CHECK:       kiln.attention %{{.*}} {scale = 1.000000e+00 : f64} : (tensor<2x5x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x4xf32>)
func.func @groups(%q: tensor<2x6x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x4xf32>) -> tensor<2x6x5x4xf32> {
  %0 = kiln.reshape %k {shape = #kiln.exprs<"2", "2", "1", "7", "8">} : (tensor<2x2x7x8xf32>) -> tensor<2x2x1x7x8xf32>
  %1 = kiln.broadcast_to %0 {shape = #kiln.exprs<"2", "2", "3", "7", "8">} : (tensor<2x2x1x7x8xf32>) -> tensor<2x2x3x7x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "6", "7", "8">} : (tensor<2x2x3x7x8xf32>) -> tensor<2x6x7x8xf32>
  %3 = kiln.reshape %v {shape = #kiln.exprs<"2", "2", "1", "7", "4">} : (tensor<2x2x7x4xf32>) -> tensor<2x2x1x7x4xf32>
  %4 = kiln.broadcast_to %3 {shape = #kiln.exprs<"2", "2", "3", "7", "4">} : (tensor<2x2x1x7x4xf32>) -> tensor<2x2x3x7x4xf32>
  %5 = kiln.reshape %4 {shape = #kiln.exprs<"2", "6", "7", "4">} : (tensor<2x2x3x7x4xf32>) -> tensor<2x6x7x4xf32>
  %s = kiln.matmul %q, %2 {trans_b = true} : (tensor<2x6x5x8xf32>, tensor<2x6x7x8xf32>) -> tensor<2x6x5x7xf32>
  %p = kiln.softmax %s {axis = 3 : i64} : (tensor<2x6x5x7xf32>) -> tensor<2x6x5x7xf32>
  %y = kiln.matmul %p, %5 : (tensor<2x6x5x7xf32>, tensor<2x6x7x4xf32>) -> tensor<2x6x5x4xf32>
  return %y : tensor<2x6x5x4xf32>
}

// The weights are an output too.
// CHECK-LABEL: @weights_are_read
// CHECK-NOT:   kiln.attention
func.func @weights_are_read(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>) -> (tensor<2x3x5x4xf32>, tensor<2x3x5x7xf32>) {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %s {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y, %p : tensor<2x3x5x4xf32>, tensor<2x3x5x7xf32>
}

// The softmax is over the queries.
// CHECK-LABEL: @other_axis
// CHECK-NOT:   kiln.attention
func.func @other_axis(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %s {axis = 2 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// The factor would scale the mask.
// CHECK-LABEL: @factor_after_the_mask
// CHECK-NOT:   kiln.attention
func.func @factor_after_the_mask(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xf32>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<0.25> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %u = kiln.add %s, %m : (tensor<2x3x5x7xf32>, tensor<5x7xf32>) -> tensor<2x3x5x7xf32>
  %w = kiln.mul %u, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %w {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}
