// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @grid_sample_images
func.func @grid_sample_images(%x: tensor<1x3x4x4xf32>, %grid: tensor<1x6x5x2xf32>) -> tensor<1x3x6x5xf32> {
  // CHECK: kiln.grid_sample %{{.*}}, %{{.*}} {align_corners = false, mode = "linear", padding = "zeros"}
  %0 = kiln.grid_sample %x, %grid {mode = "linear", padding = "zeros", align_corners = false} : (tensor<1x3x4x4xf32>, tensor<1x6x5x2xf32>) -> tensor<1x3x6x5xf32>
  return %0 : tensor<1x3x6x5xf32>
}

// -----

// CHECK-LABEL: @grid_sample_dynamic
func.func @grid_sample_dynamic(%x: tensor<?x3x4x4xf32, #kiln.dims<"n">>, %grid: tensor<?x6x5x2xf32, #kiln.dims<"n">>) -> tensor<?x3x6x5xf32, #kiln.dims<"n">> {
  // CHECK: kiln.grid_sample
  %0 = kiln.grid_sample %x, %grid {mode = "nearest", padding = "border", align_corners = true} : (tensor<?x3x4x4xf32, #kiln.dims<"n">>, tensor<?x6x5x2xf32, #kiln.dims<"n">>) -> tensor<?x3x6x5xf32, #kiln.dims<"n">>
  return %0 : tensor<?x3x6x5xf32, #kiln.dims<"n">>
}

// -----

func.func @grid_sample_rejects_c2(%x: tensor<1x3x4x4xf32>, %grid: tensor<1x6x5x3xf32>) -> tensor<1x3x6x5xf32> {
  // expected-error @+2 {{(C2) the grid has 3 coordinates}}
  // expected-error @+1 {{failed to infer}}
  %0 = kiln.grid_sample %x, %grid {mode = "linear", padding = "zeros", align_corners = false} : (tensor<1x3x4x4xf32>, tensor<1x6x5x3xf32>) -> tensor<1x3x6x5xf32>
  return %0 : tensor<1x3x6x5xf32>
}

// -----

func.func @grid_sample_rejects_c3(%x: tensor<1x3x4x4xf32>, %grid: tensor<1x6x5x2xf32>) -> tensor<1x3x6x5xf32> {
  // expected-error @+2 {{(C3) unknown mode 'sinc'}}
  // expected-error @+1 {{failed to infer}}
  %0 = kiln.grid_sample %x, %grid {mode = "sinc", padding = "zeros", align_corners = false} : (tensor<1x3x4x4xf32>, tensor<1x6x5x2xf32>) -> tensor<1x3x6x5xf32>
  return %0 : tensor<1x3x6x5xf32>
}
