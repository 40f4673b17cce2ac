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
