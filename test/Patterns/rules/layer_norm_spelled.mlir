// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=layer_norm_spelled}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK-SAME:  (%[[X:.*]]: tensor<2x3x8xf32>)
// CHECK-NEXT:  kiln.standardize %[[X]] {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64}
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %eps = kiln.constant dense<1.0e-5> : tensor<f32>
  %m = kiln.reduce_mean %x {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = kiln.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = kiln.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = kiln.reduce_mean %s {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = kiln.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = kiln.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = kiln.div %d, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %n : tensor<2x3x8xf32>
}

// Not along the last axes; variance of another value.
// CHECK-LABEL: @near_misses
// CHECK-NOT:   kiln.standardize
func.func @near_misses(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %eps = kiln.constant dense<1.0e-5> : tensor<f32>
  %m = kiln.reduce_mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %d = kiln.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %s = kiln.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = kiln.reduce_mean %s {axes = array<i64: 1>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %e = kiln.add %v, %eps : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x1x8xf32>
  %r = kiln.sqrt %e : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  %n = kiln.div %d, %r : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %m2 = kiln.reduce_mean %x {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d2 = kiln.sub %x, %m2 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %d3 = kiln.sub %y, %m2 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s2 = kiln.mul %d2, %d3 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v2 = kiln.reduce_mean %s2 {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e2 = kiln.add %v2, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r2 = kiln.sqrt %e2 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n2 = kiln.div %d2, %r2 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %n, %n2 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// What a pattern names twice must be one value: here only half of a product is
// what TensorFlow's form has, and the other half is read outside.
// CHECK-LABEL: @used_twice
// CHECK:       %[[SHIFT:.*]] = kiln.mul %{{.*}}, %{{.*}} : (tensor<5x1x1xf32>, tensor<5x1x1xf32>)
// CHECK:       kiln.standardize
// CHECK:       return %{{.*}}, %[[SHIFT]]
func.func @used_twice(%x: tensor<5x2x5xf32>, %gamma: tensor<1x1xf32>, %beta: tensor<5x1x1xf32>) -> (tensor<5x2x5xf32>, tensor<5x1x1xf32>) {
  %0 = kiln.reduce_mean %x {axes = array<i64: 1, 2>, keepdims = true} : (tensor<5x2x5xf32>) -> tensor<5x1x1xf32>
  %1 = kiln.sub %x, %0 : (tensor<5x2x5xf32>, tensor<5x1x1xf32>) -> tensor<5x2x5xf32>
  %2 = kiln.mul %1, %1 : (tensor<5x2x5xf32>, tensor<5x2x5xf32>) -> tensor<5x2x5xf32>
  %3 = kiln.reduce_mean %2 {axes = array<i64: 1, 2>, keepdims = true} : (tensor<5x2x5xf32>) -> tensor<5x1x1xf32>
  %4 = kiln.constant dense<0.4> : tensor<f32>
  %5 = kiln.add %3, %4 : (tensor<5x1x1xf32>, tensor<f32>) -> tensor<5x1x1xf32>
  %6 = kiln.sqrt %5 : (tensor<5x1x1xf32>) -> tensor<5x1x1xf32>
  %7 = kiln.constant dense<1.0> : tensor<1xf32>
  %8 = kiln.div %7, %6 : (tensor<1xf32>, tensor<5x1x1xf32>) -> tensor<5x1x1xf32>
  %9 = kiln.mul %8, %gamma : (tensor<5x1x1xf32>, tensor<1x1xf32>) -> tensor<5x1x1xf32>
  %10 = kiln.mul %9, %x : (tensor<5x1x1xf32>, tensor<5x2x5xf32>) -> tensor<5x2x5xf32>
  %11 = kiln.mul %9, %0 : (tensor<5x1x1xf32>, tensor<5x1x1xf32>) -> tensor<5x1x1xf32>
  %12 = kiln.sub %beta, %11 : (tensor<5x1x1xf32>, tensor<5x1x1xf32>) -> tensor<5x1x1xf32>
  %13 = kiln.add %12, %10 : (tensor<5x1x1xf32>, tensor<5x2x5xf32>) -> tensor<5x2x5xf32>
  return %13, %11 : tensor<5x2x5xf32>, tensor<5x1x1xf32>
}

// Instance normalisation spelled out: rows are the pixels of a channel.
// CHECK-LABEL: @instance_norm
// CHECK:       %[[S:.*]] = kiln.standardize %arg0 {axis = 2 : i64
// CHECK-NOT:   kiln.reduce_mean
func.func @instance_norm(%x: tensor<2x3x4x5xf32>, %g: tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32> {
  %e = kiln.constant dense<1.0e-5> : tensor<f32>
  %0 = kiln.reduce_mean %x {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %1 = kiln.sub %x, %0 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %2 = kiln.mul %1, %1 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %3 = kiln.reduce_mean %2 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %4 = kiln.add %3, %e : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %5 = kiln.sqrt %4 : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %6 = kiln.div %1, %5 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %7 = kiln.mul %6, %g : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  return %7 : tensor<2x3x4x5xf32>
}

// Group normalisation: channels are split into groups, and rows are what a group has.
// CHECK-LABEL: @group_norm
// CHECK:       %[[G:.*]] = kiln.reshape %arg0
// CHECK:       kiln.standardize %[[G]] {axis = 2 : i64
// CHECK-NOT:   kiln.reduce_mean
func.func @group_norm(%x: tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32> {
  %e = kiln.constant dense<1.0e-5> : tensor<f32>
  %g = kiln.reshape %x {shape = #kiln.exprs<"2", "3", "2", "4", "5">} : (tensor<2x6x4x5xf32>) -> tensor<2x3x2x4x5xf32>
  %0 = kiln.reduce_mean %g {axes = array<i64: 2, 3, 4>, keepdims = true} : (tensor<2x3x2x4x5xf32>) -> tensor<2x3x1x1x1xf32>
  %1 = kiln.sub %g, %0 : (tensor<2x3x2x4x5xf32>, tensor<2x3x1x1x1xf32>) -> tensor<2x3x2x4x5xf32>
  %2 = kiln.mul %1, %1 : (tensor<2x3x2x4x5xf32>, tensor<2x3x2x4x5xf32>) -> tensor<2x3x2x4x5xf32>
  %3 = kiln.reduce_mean %2 {axes = array<i64: 2, 3, 4>, keepdims = true} : (tensor<2x3x2x4x5xf32>) -> tensor<2x3x1x1x1xf32>
  %4 = kiln.add %3, %e : (tensor<2x3x1x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1x1xf32>
  %5 = kiln.sqrt %4 : (tensor<2x3x1x1x1xf32>) -> tensor<2x3x1x1x1xf32>
  %6 = kiln.div %1, %5 : (tensor<2x3x2x4x5xf32>, tensor<2x3x1x1x1xf32>) -> tensor<2x3x2x4x5xf32>
  %7 = kiln.reshape %6 {shape = #kiln.exprs<"2", "6", "4", "5">} : (tensor<2x3x2x4x5xf32>) -> tensor<2x6x4x5xf32>
  return %7 : tensor<2x6x4x5xf32>
}

// Roots written as powers; another power is none.
// CHECK-LABEL: @powers
// CHECK:       %[[A:.*]] = kiln.standardize %arg0 {axis = 2 : i64
// CHECK:       %[[B:.*]] = kiln.standardize %[[A]] {axis = 2 : i64
// CHECK:       kiln.pow
// CHECK:       kiln.mul
// CHECK:       return
func.func @powers(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %e = kiln.constant dense<1.0e-5> : tensor<f32>
  %half = kiln.constant dense<0.5> : tensor<f32>
  %less = kiln.constant dense<-0.5> : tensor<f32>
  %quarter = kiln.constant dense<-0.25> : tensor<f32>
  %0 = kiln.reduce_mean %x {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %1 = kiln.sub %x, %0 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %2 = kiln.mul %1, %1 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %3 = kiln.reduce_mean %2 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %4 = kiln.add %3, %e : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %5 = kiln.pow %4, %half : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %6 = kiln.div %1, %5 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %7 = kiln.reduce_mean %6 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %8 = kiln.sub %6, %7 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %9 = kiln.mul %8, %8 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %10 = kiln.reduce_mean %9 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %11 = kiln.add %10, %e : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %12 = kiln.pow %11, %less : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %13 = kiln.mul %8, %12 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %14 = kiln.reduce_mean %13 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %15 = kiln.sub %13, %14 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %16 = kiln.mul %15, %15 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %17 = kiln.reduce_mean %16 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %18 = kiln.add %17, %e : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %19 = kiln.pow %18, %quarter : (tensor<2x3x1x1xf32>, tensor<f32>) -> tensor<2x3x1x1xf32>
  %20 = kiln.mul %15, %19 : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  return %20 : tensor<2x3x4x5xf32>
}

// The factor before the quotient.
// CHECK-LABEL: @scaled_quotient
// CHECK-SAME:  (%[[X:.*]]: tensor<2x3x8xf32>, %[[G:.*]]: tensor<8xf32>)
// CHECK-NEXT:  %[[N:.*]] = kiln.standardize %[[X]] {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64}
// CHECK-NEXT:  kiln.mul %[[N]], %[[G]]
// CHECK-NEXT:  return
func.func @scaled_quotient(%x: tensor<2x3x8xf32>, %g: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = kiln.constant dense<1.0e-5> : tensor<f32>
  %m = kiln.reduce_mean %x {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = kiln.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = kiln.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = kiln.reduce_mean %s {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = kiln.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = kiln.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = kiln.mul %g, %d : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = kiln.div %n, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// What is scaled is not what the variance is of.
// CHECK-LABEL: @scaled_other
// CHECK-NOT:   kiln.standardize
func.func @scaled_other(%x: tensor<2x3x8xf32>, %g: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eps = kiln.constant dense<1.0e-5> : tensor<f32>
  %m = kiln.reduce_mean %x {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %d = kiln.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = kiln.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = kiln.reduce_mean %s {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %e = kiln.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = kiln.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = kiln.mul %x, %g : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %y = kiln.div %n, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}
