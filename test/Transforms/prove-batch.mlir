// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-prove-batch{dim=batch})' --split-input-file | FileCheck %s

// Rows stay apart through products, softmax, views and broadcast weights.
// CHECK: module @attention attributes {kiln.batch_axes = array<i32: 0, 0>
module @attention attributes {kiln.symbols = ["b", "s"], kiln.symbol_names = ["batch", "seq"]} {
  func.func @main(%x: tensor<?x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x8xf32, #kiln.dims<"b", "s">> {
    %0 = kiln.reshape %x {shape = #kiln.exprs<"b", "s", "2", "4">} : (tensor<?x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x2x4xf32, #kiln.dims<"b", "s">>
    %1 = kiln.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x?x2x4xf32, #kiln.dims<"b", "s">>) -> tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>
    %2 = kiln.matmul %1, %1 {trans_b = true} : (tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>, tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>) -> tensor<?x2x?x?xf32, #kiln.dims<"b", "s", "s">>
    %3 = kiln.softmax %2 {axis = 3 : i64} : (tensor<?x2x?x?xf32, #kiln.dims<"b", "s", "s">>) -> tensor<?x2x?x?xf32, #kiln.dims<"b", "s", "s">>
    %4 = kiln.matmul %3, %1 : (tensor<?x2x?x?xf32, #kiln.dims<"b", "s", "s">>, tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>) -> tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>
    %5 = kiln.transpose %4 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x2x?x4xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x2x4xf32, #kiln.dims<"b", "s">>
    %6 = kiln.reshape %5 {shape = #kiln.exprs<"b", "s", "8">} : (tensor<?x?x2x4xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x8xf32, #kiln.dims<"b", "s">>
    return %6 : tensor<?x?x8xf32, #kiln.dims<"b", "s">>
  }
}

// -----

// Heads of all rows in one axis: the rows' distance in memory is what counts.
// CHECK: module @merged_axes attributes {kiln.batch_axes = array<i32: 1, 1>
module @merged_axes attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<5x?x8xf32, #kiln.dims<"b">>) -> tensor<5x?x8xf32, #kiln.dims<"b">> {
    %0 = kiln.reshape %x {shape = #kiln.exprs<"5", "2*b", "4">} : (tensor<5x?x8xf32, #kiln.dims<"b">>) -> tensor<5x?x4xf32, #kiln.dims<"2*b">>
    %1 = kiln.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<5x?x4xf32, #kiln.dims<"2*b">>) -> tensor<?x5x4xf32, #kiln.dims<"2*b">>
    %2 = kiln.matmul %1, %1 {trans_b = true} : (tensor<?x5x4xf32, #kiln.dims<"2*b">>, tensor<?x5x4xf32, #kiln.dims<"2*b">>) -> tensor<?x5x5xf32, #kiln.dims<"2*b">>
    %3 = kiln.matmul %2, %1 : (tensor<?x5x5xf32, #kiln.dims<"2*b">>, tensor<?x5x4xf32, #kiln.dims<"2*b">>) -> tensor<?x5x4xf32, #kiln.dims<"2*b">>
    %4 = kiln.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<?x5x4xf32, #kiln.dims<"2*b">>) -> tensor<5x?x4xf32, #kiln.dims<"2*b">>
    %5 = kiln.reshape %4 {shape = #kiln.exprs<"5", "b", "8">} : (tensor<5x?x4xf32, #kiln.dims<"2*b">>) -> tensor<5x?x8xf32, #kiln.dims<"b">>
    return %5 : tensor<5x?x8xf32, #kiln.dims<"b">>
  }
}

// -----

// An input and an output without rows are every row's.
// CHECK: module @shared attributes {kiln.batch_axes = array<i32: 0, -1, 0, -1>
module @shared attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>, %w: tensor<4xf32>) -> (tensor<?x4xf32, #kiln.dims<"b">>, tensor<4xf32>) {
    %0 = kiln.add %x, %w : (tensor<?x4xf32, #kiln.dims<"b">>, tensor<4xf32>) -> tensor<?x4xf32, #kiln.dims<"b">>
    %1 = kiln.relu %w : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<?x4xf32, #kiln.dims<"b">>, tensor<4xf32>
  }
}

// -----

// A mask that is repeated for each row.
// CHECK: module @expanded attributes {kiln.batch_axes = array<i32: 0, 0>
module @expanded attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x8xf32, #kiln.dims<"b">> {
    %c = kiln.constant dense<1.0> : tensor<1x4xf32>
    %0 = kiln.broadcast_to %c {shape = #kiln.exprs<"b", "4">} : (tensor<1x4xf32>) -> tensor<?x4xf32, #kiln.dims<"b">>
    %1 = kiln.concat %0, %x {axis = 1 : i64} : (tensor<?x4xf32, #kiln.dims<"b">>, tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x8xf32, #kiln.dims<"b">>
    return %1 : tensor<?x8xf32, #kiln.dims<"b">>
  }
}

// -----

// CHECK: module @sums_rows attributes {kiln.batch_obstacle = "reduce_mean of node 'centre' mixes rows of the batch"
module @sums_rows attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"b">> {
    %0 = kiln.reduce_mean %x {axes = array<i64: 0>, keepdims = true} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<1x4xf32> loc("centre")
    %1 = kiln.sub %x, %0 : (tensor<?x4xf32, #kiln.dims<"b">>, tensor<1x4xf32>) -> tensor<?x4xf32, #kiln.dims<"b">>
    return %1 : tensor<?x4xf32, #kiln.dims<"b">>
  }
}

// -----

// Rows against rows: the product over the batch.
// CHECK: module @gram attributes {kiln.batch_obstacle = "matmul meets rows of the batch in different places"
module @gram attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x?xf32, #kiln.dims<"b", "b">> {
    %0 = kiln.matmul %x, %x {trans_b = true} : (tensor<?x4xf32, #kiln.dims<"b">>, tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x?xf32, #kiln.dims<"b", "b">>
    return %0 : tensor<?x?xf32, #kiln.dims<"b", "b">>
  }
}

// -----

// The result has the batch, but each row takes a piece of every input row.
// CHECK: module @regrouped attributes {kiln.batch_obstacle = "add meets rows of the batch in different places"
module @regrouped attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"b">> {
    %0 = kiln.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<4x?xf32, #kiln.dims<"b">>
    %1 = kiln.reshape %0 {shape = #kiln.exprs<"4*b">} : (tensor<4x?xf32, #kiln.dims<"b">>) -> tensor<?xf32, #kiln.dims<"4*b">>
    %2 = kiln.reshape %x {shape = #kiln.exprs<"4*b">} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?xf32, #kiln.dims<"4*b">>
    %3 = kiln.add %1, %2 : (tensor<?xf32, #kiln.dims<"4*b">>, tensor<?xf32, #kiln.dims<"4*b">>) -> tensor<?xf32, #kiln.dims<"4*b">>
    %4 = kiln.reshape %3 {shape = #kiln.exprs<"b", "4">} : (tensor<?xf32, #kiln.dims<"4*b">>) -> tensor<?x4xf32, #kiln.dims<"b">>
    return %4 : tensor<?x4xf32, #kiln.dims<"b">>
  }
}

// -----

// CHECK: module @reversed attributes {kiln.batch_obstacle = "slice takes some rows of the batch"
module @reversed attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"b">> {
    %0 = kiln.slice %x {starts = #kiln.exprs<"b - 1", "0">, sizes = #kiln.exprs<"b", "4">, steps = #kiln.exprs<"-1", "1">} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"b">>
    return %0 : tensor<?x4xf32, #kiln.dims<"b">>
  }
}

// -----

// A row's number is not the same in a batch and alone.
// CHECK: module @numbered attributes {kiln.batch_obstacle = "range uses the size of the batch as a number"
module @numbered attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?xf32, #kiln.dims<"b">>) -> tensor<?xf32, #kiln.dims<"b">> {
    %c = kiln.constant dense<1.0> : tensor<f32>
    %0 = kiln.range %c, %c {count = #kiln.exprs<"b">} : (tensor<f32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"b">>
    %1 = kiln.add %x, %0 : (tensor<?xf32, #kiln.dims<"b">>, tensor<?xf32, #kiln.dims<"b">>) -> tensor<?xf32, #kiln.dims<"b">>
    return %1 : tensor<?xf32, #kiln.dims<"b">>
  }
}

// -----

// Four shared rows broadcast against the batch would fix its size.
// CHECK: module @fixed_size attributes {kiln.batch_obstacle = "add meets rows of the batch in different places"
module @fixed_size attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = kiln.add %x, %w : (tensor<?x4xf32, #kiln.dims<"b">>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// An op that no rule knows.
// CHECK: module @unknown attributes {kiln.batch_obstacle = "unique may mix rows of the batch"
module @unknown attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?xi64, #kiln.dims<"b">> {
    %0, %1, %2, %3 = kiln.unique %x {sorted = true} : (tensor<?x4xf32, #kiln.dims<"b">>) -> (tensor<?xi64, #kiln.dims<"b">>, tensor<?xi64, #kiln.dims<"b">>, tensor<?xi64, #kiln.dims<"b">>, tensor<i64>)
    return %1 : tensor<?xi64, #kiln.dims<"b">>
  }
}

// -----

// A length that only the run knows to be the same: what lies before a row is
// enough.
// CHECK: module @checked_length attributes {kiln.batch_axes = array<i32: 0, 0>
module @checked_length attributes {kiln.symbols = ["b", "s", "t"], kiln.symbol_names = ["batch", "s", "t"]} {
  func.func @main(%x: tensor<?x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x4xf32, #kiln.dims<"b", "t">> {
    kiln.require <"2*b*s", "b*t"> "Reshape keeps the number of elements"
    %0 = kiln.reshape %x {shape = #kiln.exprs<"b", "t", "4">} : (tensor<?x?x8xf32, #kiln.dims<"b", "s">>) -> tensor<?x?x4xf32, #kiln.dims<"b", "t">>
    return %0 : tensor<?x?x4xf32, #kiln.dims<"b", "t">>
  }
}

// -----

// A clamp above any batch.
// CHECK: module @clamped attributes {kiln.batch_axes = array<i32: 0, 0>
module @clamped attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x2xf32, #kiln.dims<"min(1000000000, b)">> {
    %0 = kiln.slice %x {starts = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"min(1000000000, b)", "2">, steps = #kiln.exprs<"1", "1">} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x2xf32, #kiln.dims<"min(1000000000, b)">>
    return %0 : tensor<?x2xf32, #kiln.dims<"min(1000000000, b)">>
  }
}

// -----

// A clamp within reach.
// CHECK: module @cut attributes {kiln.batch_obstacle = "slice takes some rows of the batch"
module @cut attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"min(100, b)">> {
    %0 = kiln.slice %x {starts = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"min(100, b)", "4">, steps = #kiln.exprs<"1", "1">} : (tensor<?x4xf32, #kiln.dims<"b">>) -> tensor<?x4xf32, #kiln.dims<"min(100, b)">>
    return %0 : tensor<?x4xf32, #kiln.dims<"min(100, b)">>
  }
}

// -----

// Sizes that come from what requests hold.
// CHECK: module @bound attributes {kiln.batch_obstacle = "reduce_max of node 'longest' mixes rows of the batch"
module @bound attributes {kiln.symbols = ["b"], kiln.symbol_names = ["batch"]} {
  func.func @main(%x: tensor<?xi64, #kiln.dims<"b">>) -> tensor<?xi64, #kiln.dims<"b">> {
    %0 = kiln.reduce_max %x {axes = array<i64: 0>, keepdims = true} : (tensor<?xi64, #kiln.dims<"b">>) -> tensor<1xi64> loc("longest")
    kiln.bind %0 ["%s0"] : tensor<1xi64>
    return %x : tensor<?xi64, #kiln.dims<"b">>
  }
}
