// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{only=group_norm_spelled}))' | FileCheck %s

// As torch exports GroupNorm: a factor and an offset of each channel behind the norm of the groups.
// CHECK-LABEL: @match
// CHECK:       %[[X:.*]] = kiln.reshape %arg0 {shape = #kiln.exprs<"2", "3", "4", "2", "4">}
// CHECK-DAG:   %[[G:.*]] = kiln.reshape %arg1 {shape = #kiln.exprs<"3", "4", "1", "1">}
// CHECK-DAG:   %[[H:.*]] = kiln.reshape %arg2 {shape = #kiln.exprs<"3", "4", "1", "1">}
// CHECK:       %[[N:.*]] = kiln.standardize %[[X]] {axis = 2 : i64
// CHECK:       %[[S:.*]] = kiln.mul %[[N]], %[[G]]
// CHECK:       %[[A:.*]] = kiln.add %[[S]], %[[H]]
// CHECK:       %[[Y:.*]] = kiln.reshape %[[A]] {shape = #kiln.exprs<"2", "12", "2", "4">}
// CHECK-NEXT:  return %[[Y]]
func.func @match(%x: tensor<2x3x32xf32>, %g: tensor<12x1x1xf32>, %h: tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32> {
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "12", "2", "4">} : (tensor<2x3x32xf32>) -> tensor<2x12x2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  %3 = kiln.add %2, %h : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  return %3 : tensor<2x12x2x4xf32>
}

// Channels that groups do not share evenly.
// CHECK-LABEL: @uneven
// CHECK:       kiln.standardize %arg0
func.func @uneven(%x: tensor<2x3x32xf32>, %g: tensor<8x1x1xf32>, %h: tensor<8x1x1xf32>) -> tensor<2x8x3x4xf32> {
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "8", "3", "4">} : (tensor<2x3x32xf32>) -> tensor<2x8x3x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x8x3x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x3x4xf32>
  %3 = kiln.add %2, %h : (tensor<2x8x3x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x3x4xf32>
  return %3 : tensor<2x8x3x4xf32>
}

// A factor a column.
// CHECK-LABEL: @columns
// CHECK:       kiln.standardize %arg0
func.func @columns(%x: tensor<2x3x32xf32>, %g: tensor<4xf32>, %h: tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32> {
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "12", "2", "4">} : (tensor<2x3x32xf32>) -> tensor<2x12x2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x12x2x4xf32>, tensor<4xf32>) -> tensor<2x12x2x4xf32>
  %3 = kiln.add %2, %h : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  return %3 : tensor<2x12x2x4xf32>
}

// The InstanceNorm's own offset, which torch exports as zeros.
// CHECK-LABEL: @offset_of_zeros
// CHECK-NOT:   kiln.standardize %arg0
// CHECK:       kiln.standardize
// CHECK-NEXT:  kiln.mul
func.func @offset_of_zeros(%x: tensor<2x3x32xf32>, %g: tensor<12x1x1xf32>, %h: tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32> {
  %z = kiln.constant dense<0.0> : tensor<3x1xf32>
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %s = kiln.add %0, %z : (tensor<2x3x32xf32>, tensor<3x1xf32>) -> tensor<2x3x32xf32>
  %1 = kiln.reshape %s {shape = #kiln.exprs<"2", "12", "2", "4">} : (tensor<2x3x32xf32>) -> tensor<2x12x2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  %3 = kiln.add %2, %h : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  return %3 : tensor<2x12x2x4xf32>
}

// CHECK-LABEL: @offset_of_ones
// CHECK:       kiln.standardize %arg0
func.func @offset_of_ones(%x: tensor<2x3x32xf32>, %g: tensor<12x1x1xf32>, %h: tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32> {
  %z = kiln.constant dense<1.0> : tensor<3x1xf32>
  %0 = kiln.standardize %x {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %s = kiln.add %0, %z : (tensor<2x3x32xf32>, tensor<3x1xf32>) -> tensor<2x3x32xf32>
  %1 = kiln.reshape %s {shape = #kiln.exprs<"2", "12", "2", "4">} : (tensor<2x3x32xf32>) -> tensor<2x12x2x4xf32>
  %2 = kiln.mul %1, %g : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  %3 = kiln.add %2, %h : (tensor<2x12x2x4xf32>, tensor<12x1x1xf32>) -> tensor<2x12x2x4xf32>
  return %3 : tensor<2x12x2x4xf32>
}
