// RUN: kiln-opt %s --canonicalize --cse | FileCheck %s

// A run needs them although nothing uses their results.
// CHECK-LABEL: @bind_and_require_stay
// CHECK:       kiln.bind
// CHECK:       kiln.require
func.func @bind_and_require_stay(%v: tensor<1xi64>) {
  kiln.bind %v ["%s"] : tensor<1xi64>
  kiln.require #kiln.exprs<"%s", "n"> "they are equal"
  return
}

// CHECK-LABEL: @unused_shapes_go
// CHECK-NEXT:  return
func.func @unused_shapes_go(%x: tensor<2x3xf32>) {
  %0 = kiln.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=FOLD

// FOLD-LABEL: @farthest_of_constants
// FOLD{LITERAL}: dense<2> : tensor<i64>
// FOLD{LITERAL}: dense<-4> : tensor<i64>
// FOLD{LITERAL}: dense<-3> : tensor<i64>
func.func @farthest_of_constants() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %inside = kiln.constant dense<[-3, 2, 0]> : tensor<3xi64>
  %below = kiln.constant dense<[2, -4, 0]> : tensor<3xi64>
  %none = kiln.constant dense<> : tensor<0xi64>
  %0 = kiln.farthest %inside {low = #kiln.exprs<"-3">} : (tensor<3xi64>) -> tensor<i64>
  %1 = kiln.farthest %below {low = #kiln.exprs<"-3">} : (tensor<3xi64>) -> tensor<i64>
  %2 = kiln.farthest %none {low = #kiln.exprs<"-3">} : (tensor<0xi64>) -> tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}
