// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=embedding_norm}))' | FileCheck %s

// Words, positions and segments.
// CHECK-LABEL: @match
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "embedding_norm"
// CHECK:       kiln.gather
// CHECK:       kiln.add
// CHECK:       kiln.add
// CHECK:       kiln.standardize
// CHECK:       kiln.yield
func.func @match(%words: tensor<9x4xf32>, %at: tensor<2xi64>, %p: tensor<2x4xf32>, %s: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %w = kiln.gather %words, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %a = kiln.add %w, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = kiln.add %s, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = kiln.standardize %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// Each from a table of its own, as torch exports BERT.
// CHECK-LABEL: @three_tables
// CHECK:       kiln.fusion "row-norm"
// CHECK-SAME:  rule = "embedding_norm"
// CHECK-COUNT-3: kiln.gather
// CHECK:       kiln.standardize
// CHECK:       kiln.yield
func.func @three_tables(%t: tensor<9x4xf32>, %at: tensor<2xi64>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %w = kiln.gather %t, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %p = kiln.gather %t, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %s = kiln.gather %t, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %a = kiln.add %w, %s : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = kiln.add %p, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = kiln.standardize %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// Words and positions.
// CHECK-LABEL: @one_sum
// CHECK:       rule = "embedding_norm"
func.func @one_sum(%words: tensor<9x4xf32>, %at: tensor<2xi64>, %p: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  %w = kiln.gather %words, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %a = kiln.add %p, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = kiln.standardize %a {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// The sum goes on beside the norm, as in GPT-2: it must lie in memory.
// CHECK-LABEL: @sum_is_read
// CHECK-NOT:   kiln.fusion
func.func @sum_is_read(%words: tensor<9x4xf32>, %at: tensor<2xi64>, %p: tensor<2x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = kiln.gather %words, %at {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %a = kiln.add %p, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = kiln.standardize %a {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = kiln.mul %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = kiln.add %1, %h : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %2, %a : tensor<2x4xf32>, tensor<2x4xf32>
}
