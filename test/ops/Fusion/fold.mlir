// RUN: kiln-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @unused_fusions_go
// CHECK-NEXT:  return
func.func @unused_fusions_go(%x: tensor<4xf32>) {
  %0 = kiln.fusion "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%arg: tensor<4xf32>):
    %1 = kiln.relu %arg : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return
}

// Constants stay inside: the region is a kernel's whole definition.
// CHECK-LABEL: @constants_stay_inside
// CHECK-NOT:   kiln.constant
// CHECK:       kiln.fusion
// CHECK:       kiln.constant
func.func @constants_stay_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.fusion "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%arg: tensor<4xf32>):
    %c = kiln.constant dense<2.0> : tensor<f32>
    %1 = kiln.mul %arg, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
