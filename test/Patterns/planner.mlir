// RUN: kiln-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(kiln-apply-rules{explain}))' -o /dev/null 2>&1 | FileCheck %s

// The longer chain wins: cut after the bias, the sum would go to memory.
// CHECK:      matmul_bias (fusion): 1 match, 0 fired
// CHECK-NEXT:   lost kiln.matmul, kiln.add -> matmul
// CHECK-NEXT:     predicted: 48 bytes less traffic, -48 over the generic fuser
// CHECK-NEXT:     because the generic fuser moves 48 bytes less: it takes more ops into the kernel
// CHECK:      matmul_relu (fusion): 1 match, 1 fired
// CHECK-NEXT:   fired kiln.matmul, kiln.add, kiln.relu -> matmul
// CHECK-NEXT:     predicted: 96 bytes less traffic, 0 over the generic fuser
func.func @longest_chain(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = kiln.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// Either product could take the sum: one does, always the same, and says so.
// CHECK:      matmul_residual (fusion): 2 matches, 1 fired
// CHECK-NEXT:   {{fired|lost}} kiln.matmul, kiln.add -> matmul
// CHECK:          {{beat matmul_residual|because overlaps matmul_residual}}
func.func @one_of_two(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %v: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.matmul %x, %v : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = kiln.add %0, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// What no kernel can do is refused with the reason.
// CHECK:      matmul_relu (fusion): 1 match, 0 fired
// CHECK-NEXT:   refused kiln.matmul, kiln.add, kiln.relu -> matmul
// CHECK-NEXT:     because the result of kiln.add is also read by {{func.return|return}}
func.func @second_reader(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = kiln.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = kiln.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = kiln.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}
