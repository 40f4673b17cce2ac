// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fold-constants,canonicalize))' | FileCheck %s

// Powers of two, and what they were on the way.
// CHECK-LABEL: @loop_of_constants
// CHECK-DAG:   %[[LAST:.*]] = kiln.constant dense<[8.000000e+00, 2.400000e+01]>
// CHECK-DAG:   %[[ALL:.*]] = kiln.constant dense<{{\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 6.000000e+00], [4.000000e+00, 1.200000e+01]]>
// CHECK-NEXT:  return %[[LAST]], %[[ALL]]
func.func @loop_of_constants() -> (tensor<2xf32>, tensor<3x2xf32>) {
  %x = kiln.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0:2 = kiln.loop(%x) {trips = #kiln.exprs<"3">, iteration = "i"} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  ^bb0(%now: tensor<2xf32>):
    %1 = kiln.add %now, %now : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    kiln.yield %1, %now : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<3x2xf32>
}

// -----

// The number of the iteration is a size like any other; a branch inside is taken
// when its condition holds, and the loop ends when its own does not.
// CHECK-LABEL: @loop_with_a_branch
// CHECK-NEXT:  %[[C:.*]] = kiln.constant dense<1> : tensor<1xi64>
// CHECK-NEXT:  return %[[C]]
func.func @loop_with_a_branch() -> tensor<1xi64> {
  %zero = kiln.constant dense<0> : tensor<1xi64>
  %two = kiln.constant dense<2> : tensor<i64>
  %0 = kiln.loop(%zero) {conditional, trips = #kiln.exprs<"9">, iteration = "i"} : (tensor<1xi64>) -> tensor<1xi64> {
  ^bb0(%sum: tensor<1xi64>):
    %n = kiln.exprs {values = #kiln.exprs<"i">} : () -> tensor<1xi64>
    %s = kiln.reshape %n {shape = #kiln.exprs<>} : (tensor<1xi64>) -> tensor<i64>
    %go = kiln.less %s, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %next = kiln.if %go : tensor<i1> -> tensor<1xi64> {
      %t = kiln.add %sum, %n : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
      kiln.yield %t : tensor<1xi64>
    } else {
      kiln.yield %sum : tensor<1xi64>
    }
    kiln.yield %go, %next : tensor<i1>, tensor<1xi64>
  }
  return %0 : tensor<1xi64>
}

// -----

// A carried value may grow.
// CHECK-LABEL: @loop_that_grows_inside
// CHECK-NEXT:  %[[C:.*]] = kiln.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT:  return %[[C]]
func.func @loop_that_grows_inside() -> tensor<f32> {
  %one = kiln.constant dense<1.0> : tensor<1xf32>
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %0 = kiln.loop(%zero) {trips = #kiln.exprs<"1">, iteration = "i"} : (tensor<f32>) -> tensor<f32> {
  ^bb0(%now: tensor<f32>):
    %1 = kiln.loop(%one) {trips = #kiln.exprs<"3">, iteration = "j", symbols = ["s"]} : (tensor<1xf32>) -> tensor<?xf32, #kiln.dims<"s">> {
    ^bb0(%list: tensor<?xf32, #kiln.dims<"s">>):
      %2 = kiln.concat %list, %one {axis = 0 : i64} : (tensor<?xf32, #kiln.dims<"s">>, tensor<1xf32>) -> tensor<?xf32, #kiln.dims<"s + 1">>
      kiln.yield %2 : tensor<?xf32, #kiln.dims<"s + 1">>
    }
    %3 = kiln.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<?xf32, #kiln.dims<"s">>) -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: @loop_over_an_argument_stays
// CHECK:       kiln.loop
func.func @loop_over_an_argument_stays(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = kiln.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0 = kiln.loop(%c) {trips = #kiln.exprs<"3">, iteration = "i"} : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%now: tensor<2xf32>):
    %1 = kiln.add %now, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    kiln.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// Evaluating it would take too long.
// CHECK-LABEL: @endless_loop_stays
// CHECK:       kiln.loop
func.func @endless_loop_stays() -> tensor<2xf32> {
  %c = kiln.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0 = kiln.loop(%c) {trips = #kiln.exprs<"1000000000000">, iteration = "i"} : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%now: tensor<2xf32>):
    %1 = kiln.neg %now : (tensor<2xf32>) -> tensor<2xf32>
    kiln.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
