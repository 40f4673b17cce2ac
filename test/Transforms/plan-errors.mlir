// RUN: kiln-opt %s --kiln-plan -verify-diagnostics

// Every op without a kernel is named, not the first one alone.
func.func @not_fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kiln.relu' op has no kernel on this target}}
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'kiln.sigmoid' op has no kernel on this target}}
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @not_fused_before_a_fusion(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kiln.relu' op has no kernel on this target}}
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = kiln.fusion "loop"(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%arg: tensor<4xf32>):
    %2 = kiln.relu %arg : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %2 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
