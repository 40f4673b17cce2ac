// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @fusion_of_two_ops
func.func @fusion_of_two_ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      kiln.fusion "loop"(%{{.*}}) {nodes = "a,b"} : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   %[[Y:.*]] = kiln.relu %[[X]]
  // CHECK-NEXT:   kiln.yield %[[Y]] : tensor<4xf32>
  %0 = kiln.fusion "loop"(%x) {nodes = "a,b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%arg: tensor<4xf32>):
    %1 = kiln.relu %arg : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @fusion_rejects_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) block arguments must have the types of the inputs}}
  %0 = kiln.fusion "loop"(%x) : (tensor<4xf32>) -> tensor<3xf32> {
  ^bb0(%arg: tensor<3xf32>):
    kiln.yield %arg : tensor<3xf32>
  }
  return
}

// -----

func.func @fusion_rejects_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C2) yielded values must have the types of the outputs}}
  %0 = kiln.fusion "loop"(%x) : (tensor<4xf32>) -> tensor<3xf32> {
  ^bb0(%arg: tensor<4xf32>):
    kiln.yield %arg : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_rejects_values_from_outside(%x: tensor<4xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = kiln.fusion "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%arg: tensor<4xf32>):
    // expected-error @+1 {{using value defined outside the region}}
    %1 = kiln.add %arg, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return
}
