// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fuse),kiln-plan)' | FileCheck %s

// CHECK:       plan.kernel @[[K:kiln_f32_relu_0]] attributes {family = "loop", layouts = [""], symbols = []} {
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT:    %[[Y:.*]] = kiln.relu %[[X]]
// CHECK-NEXT:    kiln.yield %[[Y]]
// CHECK:       plan.program @one_launch attributes {input_names = ["x"], {{.*}}output_names = ["y"], output_types = [tensor<4xf32>]
// CHECK-NEXT:  ^bb0(%[[IN:.*]]: tensor<4xf32>):
// CHECK-NEXT:    %[[OUT:.*]] = plan.output 0 : tensor<4xf32>
// CHECK-NEXT:    plan.launch @[[K]] ins(%[[IN]] : tensor<4xf32>) outs(%[[OUT]] : tensor<4xf32>) symbols <> nodes "node"
// CHECK-NEXT:  }
// CHECK-NOT:   func.func
func.func @one_launch(%x: tensor<4xf32> {kiln.name = "x"}) -> (tensor<4xf32> {kiln.name = "y"}) {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("node")
  return %0 : tensor<4xf32>
}

// -----

// What their sizes are called does not matter.
// CHECK:       plan.kernel @[[K:kiln_f32_transpose_0]] {{.*}}symbols = ["s0", "s1"]
// CHECK-NOT:   plan.kernel
// CHECK:       plan.program @equal_fusions_share_a_kernel
// CHECK:       plan.launch @[[K]] {{.*}} symbols <"n", "m">
// CHECK:       plan.launch @[[K]] {{.*}} symbols <"a", "b">
func.func @equal_fusions_share_a_kernel(%x: tensor<?x?xf32, #kiln.dims<"n", "m">>, %y: tensor<?x?xf32, #kiln.dims<"a", "b">>)
    -> (tensor<?x?xf32, #kiln.dims<"m", "n">>, tensor<?x?xf32, #kiln.dims<"b", "a">>) {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x?xf32, #kiln.dims<"n", "m">>) -> tensor<?x?xf32, #kiln.dims<"m", "n">>
  %1 = kiln.transpose %y {permutation = array<i64: 1, 0>} : (tensor<?x?xf32, #kiln.dims<"a", "b">>) -> tensor<?x?xf32, #kiln.dims<"b", "a">>
  return %0, %1 : tensor<?x?xf32, #kiln.dims<"m", "n">>, tensor<?x?xf32, #kiln.dims<"b", "a">>
}

// -----

// CHECK:       plan.kernel @kiln_f32_transpose_0
// CHECK:       plan.kernel @kiln_f64_transpose_1
// CHECK:       plan.program @other_elements_are_other_kernels
func.func @other_elements_are_other_kernels(%x: tensor<2x3xf32>, %y: tensor<2x3xf64>) -> (tensor<3x2xf32>, tensor<3x2xf64>) {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = kiln.transpose %y {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf64>
}

// -----

// Pointwise ops see one row of elements.
// CHECK:       plan.kernel @kiln_f32_relu_0
// CHECK-NEXT:  ^bb0(%{{.*}}: tensor<6xf32>):
// CHECK-NOT:   plan.kernel
// CHECK:       plan.program @axes_of_pointwise_ops_merge
func.func @axes_of_pointwise_ops_merge(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %z: tensor<6xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>) {
  %0 = kiln.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.relu %y : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = kiln.relu %z : (tensor<6xf32>) -> tensor<6xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<6xf32>
}

// -----

// The row is repeated along one axis.
// CHECK:       plan.kernel @kiln_f32_add_0
// CHECK-NEXT:  ^bb0(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<1x3xf32>):
func.func @axes_that_broadcast_do_not_merge(%x: tensor<2x3xf32>, %row: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Between two launches a buffer of the arena; the last one writes the output.
// CHECK:       plan.program @intermediate_results
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<2x3xf32>):
// CHECK-NEXT:    %[[A:.*]] = plan.alloc : tensor<2x3xf32>
// CHECK-NEXT:    plan.launch @{{.*}} ins(%[[X]] : {{.*}}) outs(%[[A]] :
// CHECK-NEXT:    %[[V:.*]] = plan.view %[[A]] : tensor<2x3xf32> to tensor<6xf32>
// CHECK-NEXT:    %[[OUT:.*]] = plan.output 0 : tensor<6xf32>
// CHECK-NEXT:    plan.launch @{{.*}} ins(%[[V]] : {{.*}}) outs(%[[OUT]] :
func.func @intermediate_results(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = kiln.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = kiln.neg %1 : (tensor<6xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// -----

// The view of a result is written by the launch that makes the result.
// CHECK:       plan.program @view_of_an_output
// CHECK:         %[[OUT:.*]] = plan.output 0 : tensor<2x3xf32>
// CHECK-NEXT:    plan.launch @kiln_f32_relu_0 {{.*}} outs(%[[OUT]] :
// CHECK-NOT:     plan.launch
func.func @view_of_an_output(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = kiln.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.reshape %0 {shape = #kiln.exprs<"6">} : (tensor<2x3xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// Whoever comes second gets a copy.
// CHECK:       plan.program @output_that_is_returned_twice
// CHECK:         %[[OUT:.*]] = plan.output 0 : tensor<4xf32>
// CHECK-NEXT:    plan.launch @kiln_f32_relu_0 {{.*}} outs(%[[OUT]] :
// CHECK-NEXT:    %[[COPY:.*]] = plan.output 1 : tensor<4xf32>
// CHECK-NEXT:    plan.launch @kiln_f32_copy_1 ins(%[[OUT]] : {{.*}}) outs(%[[COPY]] :
func.func @output_that_is_returned_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK:       plan.program @inputs_and_constants_are_copied
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<2xf32>):
// CHECK-NEXT:    %[[C:.*]] = plan.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK:         plan.launch @[[K:kiln_f32_copy_0]] ins(%[[X]]
// CHECK:         plan.launch @[[K]] ins(%[[C]]
func.func @inputs_and_constants_are_copied(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %x, %c : tensor<2xf32>, tensor<2xf32>
}

// -----

// One copy in the weights, whoever reads it.
// CHECK:       plan.program @constants_are_kept_once
// CHECK-COUNT-1: plan.constant
// CHECK-NOT:   plan.constant
func.func @constants_are_kept_once(%x: tensor<2xf32>, %y: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>) {
  %c = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = kiln.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = kiln.mul %y, %d : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2x2xf32>
}

// -----

// CHECK:       plan.program @what_the_run_reads_and_checks
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    plan.bind %{{.*}} ["%s"] : tensor<1xi64>
// CHECK-NEXT:    plan.require <"%s", "n"> "they are equal"
func.func @what_the_run_reads_and_checks(%v: tensor<1xi64>, %x: tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"n">> {
  kiln.bind %v ["%s"] : tensor<1xi64>
  kiln.require #kiln.exprs<"%s", "n"> "they are equal"
  %0 = kiln.relu %x : (tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"n">>
  return %0 : tensor<?xf32, #kiln.dims<"n">>
}

// -----

// A check stands behind the op that it is about, and is made in front of the launch.
// CHECK:       plan.program @checks_come_first
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    plan.require <"n", "m"> "of inputs"
// CHECK:         plan.launch @kiln_i64_neg
// CHECK-NEXT:    plan.bind %{{.*}} ["%s"]
// CHECK-NEXT:    plan.require <"%s", "n"> "of a value that is computed"
// CHECK:         plan.launch @kiln_f32_add
func.func @checks_come_first(%x: tensor<?xf32, #kiln.dims<"n">>, %y: tensor<?xf32, #kiln.dims<"m">>, %v: tensor<1xi64>) -> tensor<?xf32, #kiln.dims<"bcast(m, n)">> {
  %0 = kiln.neg %v : (tensor<1xi64>) -> tensor<1xi64>
  kiln.bind %0 ["%s"] : tensor<1xi64>
  %1 = kiln.add %x, %y : (tensor<?xf32, #kiln.dims<"n">>, tensor<?xf32, #kiln.dims<"m">>) -> tensor<?xf32, #kiln.dims<"bcast(m, n)">>
  kiln.require #kiln.exprs<"n", "m"> "of inputs"
  kiln.require #kiln.exprs<"%s", "n"> "of a value that is computed"
  return %1 : tensor<?xf32, #kiln.dims<"bcast(m, n)">>
}

// -----

// What pointwise ops compute does not depend on how a size came about.
// CHECK:       plan.kernel @[[K:kiln_f32_relu_0]] {{.*}}symbols = ["s0"]
// CHECK-NEXT:  ^bb0(%{{.*}}: tensor<?xf32, #kiln.dims<"s0">>):
// CHECK-NOT:   plan.kernel
// CHECK:       plan.program @sizes_of_pointwise_ops_are_one_symbol
// CHECK:       plan.launch @[[K]] {{.*}} symbols <"3*n">
// CHECK:       plan.launch @[[K]] {{.*}} symbols <"floordiv(m, 2)*n">
func.func @sizes_of_pointwise_ops_are_one_symbol(%x: tensor<?x3xf32, #kiln.dims<"n">>, %y: tensor<?x?xf32, #kiln.dims<"n", "floordiv(m, 2)">>)
    -> (tensor<?x3xf32, #kiln.dims<"n">>, tensor<?x?xf32, #kiln.dims<"n", "floordiv(m, 2)">>) {
  %0 = kiln.relu %x : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<?x3xf32, #kiln.dims<"n">>
  %1 = kiln.relu %y : (tensor<?x?xf32, #kiln.dims<"n", "floordiv(m, 2)">>) -> tensor<?x?xf32, #kiln.dims<"n", "floordiv(m, 2)">>
  return %0, %1 : tensor<?x3xf32, #kiln.dims<"n">>, tensor<?x?xf32, #kiln.dims<"n", "floordiv(m, 2)">>
}

// -----

// What is moved about depends on it.
// CHECK:       plan.kernel @kiln_f32_transpose_0 {{.*}}symbols = ["s0"]
// CHECK:       plan.kernel @kiln_f32_transpose_1 {{.*}}symbols = ["s0"]
// CHECK:       plan.program @sizes_of_other_ops_stay_expressions
func.func @sizes_of_other_ops_stay_expressions(%x: tensor<?x3xf32, #kiln.dims<"n">>, %y: tensor<?x3xf32, #kiln.dims<"2*n">>)
    -> (tensor<3x?xf32, #kiln.dims<"n">>, tensor<3x?xf32, #kiln.dims<"2*n">>) {
  %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<3x?xf32, #kiln.dims<"n">>
  %1 = kiln.transpose %y {permutation = array<i64: 1, 0>} : (tensor<?x3xf32, #kiln.dims<"2*n">>) -> tensor<3x?xf32, #kiln.dims<"2*n">>
  return %0, %1 : tensor<3x?xf32, #kiln.dims<"n">>, tensor<3x?xf32, #kiln.dims<"2*n">>
}

// -----

// Symbols, their names in the model and their ranges go along.
// CHECK: plan.program @ranges attributes {{.*}}kiln.symbol_names = ["n of x"], lower = array<i64: 1>, {{.*}}symbols = ["n"], upper = array<i64: 8>
module attributes {kiln.symbols = ["n"], kiln.symbol_names = ["n of x"], kiln.lower = array<i64: 1>, kiln.upper = array<i64: 8>} {
  func.func @ranges(%x: tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"n">> {
    %0 = kiln.relu %x : (tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"n">>
    return %0 : tensor<?xf32, #kiln.dims<"n">>
  }
}

// -----

// Large enough for minimal filtering: the weights are transformed.
// CHECK:       plan.kernel @{{.*}} {family = "conv", layouts = ["", "winograd:4:{{[0-9:]*}}:1:n"]
// CHECK:       plan.constant dense<1.000000e+00> {{.*}}layout = "kiln.conv:winograd:4:
func.func @minimal_filtering(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
  %w = kiln.constant dense<1.0> : tensor<16x16x3x3xf32>
  %0 = kiln.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1", "1", "1">, strides = array<i64: 1, 1>} : (tensor<1x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  return %0 : tensor<1x16x32x32xf32>
}

// -----

// The phases of a transposed convolution take its place, unless most of their
// taps would be missing.
// CHECK:       plan.kernel @{{.*}} {family = "conv_transpose", layouts = ["", "subpixel:
// CHECK:       plan.kernel @{{.*}} {family = "conv_transpose", layouts = ["", "rows:
func.func @phases(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x16x16xf32>, tensor<1x4x512x512xf32>) {
  %w = kiln.constant dense<1.0> : tensor<4x4x2x2xf32>
  %0 = kiln.conv_transpose %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, output_padding = array<i64: 0, 0>, group = 1 : i64}
    : (tensor<1x4x8x8xf32>, tensor<4x4x2x2xf32>) -> tensor<1x4x16x16xf32>
  %1 = kiln.conv_transpose %x, %w {strides = array<i64: 64, 64>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, output_padding = array<i64: 62, 62>, group = 1 : i64}
    : (tensor<1x4x8x8xf32>, tensor<4x4x2x2xf32>) -> tensor<1x4x512x512xf32>
  return %0, %1 : tensor<1x4x16x16xf32>, tensor<1x4x512x512xf32>
}

// -----

// The sizes of the output are known after its elements: they are computed
// elsewhere and copied.
// CHECK:       plan.program @output_of_later_sizes
// CHECK:       %[[A:.*]] = plan.alloc : tensor<4xf32>
// CHECK:       plan.launch @{{.*}} outs(%[[A]] :
// CHECK:       plan.bind
// CHECK:       plan.output 0 : tensor<?x?xf32, #kiln.dims<"a", "b">>
func.func @output_of_later_sizes(%x: tensor<4xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32, #kiln.dims<"a", "b">> {
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.add %s, %s : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  kiln.bind %1 ["a", "b"] : tensor<2xi64>
  %2 = kiln.reshape %0 {shape = #kiln.exprs<"a", "b">} : (tensor<4xf32>) -> tensor<?x?xf32, #kiln.dims<"a", "b">>
  return %2 : tensor<?x?xf32, #kiln.dims<"a", "b">>
}

// -----

// A scalar fits where another operand has the result's shape; where all are constants one must.
// CHECK:       plan.kernel @kiln_f32_add_mul_0
// CHECK-DAG:     %[[A:.*]] = kiln.constant dense<1.000000e+00> : tensor<16777216xf32>
// CHECK-DAG:     %[[C:.*]] = kiln.constant dense<3.000000e+00> : tensor<f32>
// CHECK:         %[[S:.*]] = kiln.add %[[A]], %[[A]]
// CHECK:         kiln.mul %[[S]], %[[C]]
// CHECK:       plan.program @nothing_but_constants
func.func @nothing_but_constants() -> tensor<4096x4096xf32> {
  %0 = kiln.constant dense<1.0> : tensor<4096x4096xf32>
  %1 = kiln.add %0, %0 : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %2 = kiln.constant dense<3.0> : tensor<4096x4096xf32>
  %3 = kiln.mul %1, %2 : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %3 : tensor<4096x4096xf32>
}
