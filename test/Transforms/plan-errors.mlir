// RUN: kiln-opt %s --kiln-plan -verify-diagnostics

// Every op without a kernel is named, not the first one alone.
func.func @not_fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kiln.relu' op has no kernel on this target}}
  %0 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'kiln.sigmoid' op has no kernel on this target}}
  %1 = kiln.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
