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

// Rotary queries and keys, keys and values of the past, groups of heads, what is not to be seen chosen by a constant:
// a decoder's layer, of which one attention is left behind the concatenations.
// CHECK-LABEL: @decoder
// CHECK-NOT:   kiln.broadcast_to
// CHECK-DAG:   %[[KEYS:.*]] = kiln.concat %arg3, %{{.*}} {axis = 2 : i64}
// CHECK-DAG:   %[[VALUES:.*]] = kiln.concat %arg4, %arg2 {axis = 2 : i64}
// CHECK-DAG:   %[[K:.*]] = kiln.transpose %[[KEYS]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG:   %[[V:.*]] = kiln.transpose %[[VALUES]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK:       kiln.attention %{{.*}}, %[[K]], %[[V]], %arg7 {fill = {{.*}}, scale = 2.500000e-01 : f64} : (tensor<2x5x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<1x1x5x8xi1>)
// CHECK-NOT:   kiln.softmax
// CHECK:       return %{{.*}}, %[[KEYS]], %[[VALUES]]
func.func @decoder(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>, %pk: tensor<2x2x3x8xf32>, %pv: tensor<2x2x3x8xf32>, %cos: tensor<1x1x5x8xf32>, %sin: tensor<1x1x5x8xf32>, %causal: tensor<1x1x5x8xi1>) -> (tensor<2x4x5x8xf32>, tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>) {
  %c = kiln.constant dense<0.25> : tensor<f32>
  %f = kiln.constant dense<-3.40282347E+38> : tensor<f32>
  %q0 = kiln.slice %q {sizes = #kiln.exprs<"2", "4", "5", "4">, starts = #kiln.exprs<"0", "0", "0", "0">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x4xf32>
  %q1 = kiln.slice %q {sizes = #kiln.exprs<"2", "4", "5", "4">, starts = #kiln.exprs<"0", "0", "0", "4">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x4xf32>
  %q2 = kiln.neg %q1 : (tensor<2x4x5x4xf32>) -> tensor<2x4x5x4xf32>
  %q3 = kiln.concat %q2, %q0 {axis = 3 : i64} : (tensor<2x4x5x4xf32>, tensor<2x4x5x4xf32>) -> tensor<2x4x5x8xf32>
  %q4 = kiln.mul %q, %cos : (tensor<2x4x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x4x5x8xf32>
  %q5 = kiln.mul %q3, %sin : (tensor<2x4x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x4x5x8xf32>
  %q6 = kiln.add %q4, %q5 : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %k0 = kiln.slice %k {sizes = #kiln.exprs<"2", "2", "5", "4">, starts = #kiln.exprs<"0", "0", "0", "0">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x2x5x8xf32>) -> tensor<2x2x5x4xf32>
  %k1 = kiln.slice %k {sizes = #kiln.exprs<"2", "2", "5", "4">, starts = #kiln.exprs<"0", "0", "0", "4">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x2x5x8xf32>) -> tensor<2x2x5x4xf32>
  %k2 = kiln.neg %k1 : (tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  %k3 = kiln.concat %k2, %k0 {axis = 3 : i64} : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x8xf32>
  %k4 = kiln.mul %k, %cos : (tensor<2x2x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x2x5x8xf32>
  %k5 = kiln.mul %k3, %sin : (tensor<2x2x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x2x5x8xf32>
  %k6 = kiln.add %k4, %k5 : (tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x2x5x8xf32>
  %keys = kiln.concat %pk, %k6 {axis = 2 : i64} : (tensor<2x2x3x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x2x8x8xf32>
  %values = kiln.concat %pv, %v {axis = 2 : i64} : (tensor<2x2x3x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x2x8x8xf32>
  %0 = kiln.reshape %keys {shape = #kiln.exprs<"2", "2", "1", "8", "8">} : (tensor<2x2x8x8xf32>) -> tensor<2x2x1x8x8xf32>
  %1 = kiln.broadcast_to %0 {shape = #kiln.exprs<"2", "2", "2", "8", "8">} : (tensor<2x2x1x8x8xf32>) -> tensor<2x2x2x8x8xf32>
  %2 = kiln.reshape %1 {shape = #kiln.exprs<"2", "4", "8", "8">} : (tensor<2x2x2x8x8xf32>) -> tensor<2x4x8x8xf32>
  %3 = kiln.reshape %values {shape = #kiln.exprs<"2", "2", "1", "8", "8">} : (tensor<2x2x8x8xf32>) -> tensor<2x2x1x8x8xf32>
  %4 = kiln.broadcast_to %3 {shape = #kiln.exprs<"2", "2", "2", "8", "8">} : (tensor<2x2x1x8x8xf32>) -> tensor<2x2x2x8x8xf32>
  %5 = kiln.reshape %4 {shape = #kiln.exprs<"2", "4", "8", "8">} : (tensor<2x2x2x8x8xf32>) -> tensor<2x4x8x8xf32>
  %s = kiln.matmul %q6, %2 {trans_b = true} : (tensor<2x4x5x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x5x8xf32>
  %t = kiln.mul %s, %c : (tensor<2x4x5x8xf32>, tensor<f32>) -> tensor<2x4x5x8xf32>
  %u = kiln.select %causal, %t, %f : (tensor<1x1x5x8xi1>, tensor<2x4x5x8xf32>, tensor<f32>) -> tensor<2x4x5x8xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %y = kiln.matmul %p, %5 : (tensor<2x4x5x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x5x8xf32>
  return %y, %keys, %values : tensor<2x4x5x8xf32>, tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>
}

// A quotient, as torch's tril and where have it.
// CHECK-LABEL: @chosen_quotient
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg3 {fill = -1.000000e+04 : f64, scale = 2.000000e-01 : f64}
func.func @chosen_quotient(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<5.0> : tensor<f32>
  %f = kiln.constant dense<-10000.0> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.div %s, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %u = kiln.select %m, %t, %f : (tensor<5x7xi1>, tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// torch's masked_fill: true is what is not to be seen.
// CHECK-LABEL: @filled
// CHECK:       %[[SEEN:.*]] = kiln.not %arg3 : (tensor<5x7xi1>)
// CHECK:       kiln.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[SEEN]] {fill = 0xFFF0000000000000 : f64, scale = 2.000000e-01 : f64}
func.func @filled(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x3x5x4xf32> {
  %c = kiln.constant dense<5.0> : tensor<f32>
  %f = kiln.constant dense<0xFF800000> : tensor<f32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %t = kiln.div %s, %c : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %u = kiln.select %m, %f, %t : (tensor<5x7xi1>, tensor<f32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// Keys and values of one head for all, repeated by the products.
// CHECK-LABEL: @one_head_for_all
// CHECK:       kiln.attention %{{.*}} : (tensor<2x5x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x4xf32>)
func.func @one_head_for_all(%q: tensor<2x3x5x8xf32>, %k: tensor<2x1x8x7xf32>, %v: tensor<2x1x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x1x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %s {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x1x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// One head of values, many of keys.
// CHECK-LABEL: @one_head_of_values
// CHECK-NOT:   kiln.attention
func.func @one_head_of_values(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x7xf32>, %v: tensor<2x1x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %s {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x1x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// What fills differs.
// CHECK-LABEL: @filled_by_many
// CHECK-NOT:   kiln.attention
func.func @filled_by_many(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x2xf32>, %v: tensor<2x3x2x4xf32>, %m: tensor<5x2xi1>) -> tensor<2x3x5x4xf32> {
  %f = kiln.constant dense<[-1.0, -2.0]> : tensor<2xf32>
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x2xf32>) -> tensor<2x3x5x2xf32>
  %u = kiln.select %m, %f, %s : (tensor<5x2xi1>, tensor<2xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x5x2xf32>
  %p = kiln.softmax %u {axis = 3 : i64} : (tensor<2x3x5x2xf32>) -> tensor<2x3x5x2xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x2xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// Keys and values for all of the batch.
// CHECK-LABEL: @keys_of_no_batch
// CHECK-NOT:   kiln.attention
func.func @keys_of_no_batch(%q: tensor<2x3x5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<2x3x5x4xf32> {
  %s = kiln.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = kiln.softmax %s {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = kiln.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}
