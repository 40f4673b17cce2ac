// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{only=matmul_gelu}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "matmul"
// CHECK-SAME:  rule = "matmul_gelu"
// CHECK:         kiln.matmul
// CHECK:         kiln.add
// CHECK:         kiln.yield
// CHECK:       return
func.func @match(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %p = kiln.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %s = kiln.add %p, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %a = kiln.gelu %s : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %a : tensor<2x3x5xf32>
}

// A value inside is read outside, so it must lie in memory.
// CHECK-LABEL: @second_reader
// CHECK-NOT:   kiln.fusion
func.func @second_reader(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %p = kiln.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %s = kiln.add %p, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %a = kiln.gelu %s : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %a, %s : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}
