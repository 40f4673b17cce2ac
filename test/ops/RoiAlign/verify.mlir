// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @roi_align_means
func.func @roi_align_means(%x: tensor<1x2x10x10xf32>, %rois: tensor<3x4xf32>, %batch: tensor<3xi64>) -> tensor<3x2x5x4xf32> {
  // CHECK: kiln.roi_align
  %0 = kiln.roi_align %x, %rois, %batch {height = 5 : i64, width = 4 : i64, sampling_ratio = 2 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<1x2x10x10xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x2x5x4xf32>
  return %0 : tensor<3x2x5x4xf32>
}

// -----

func.func @roi_align_rejects_c1(%x: tensor<1x2x10x10xf32>, %rois: tensor<3x5xf32>, %batch: tensor<3xi64>) -> tensor<3x2x5x4xf32> {
  // expected-error @+2 {{(C1) expected x of rank 4}}
  // expected-error @+1 {{failed to infer}}
  %0 = kiln.roi_align %x, %rois, %batch {height = 5 : i64, width = 4 : i64, sampling_ratio = 2 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<1x2x10x10xf32>, tensor<3x5xf32>, tensor<3xi64>) -> tensor<3x2x5x4xf32>
  return %0 : tensor<3x2x5x4xf32>
}

// -----

func.func @roi_align_rejects_c2(%x: tensor<1x2x10x10xf32>, %rois: tensor<3x4xf32>, %batch: tensor<3xi64>) -> tensor<3x2x0x4xf32> {
  // expected-error @+2 {{(C2) height and width must be positive}}
  // expected-error @+1 {{failed to infer}}
  %0 = kiln.roi_align %x, %rois, %batch {height = 0 : i64, width = 4 : i64, sampling_ratio = 2 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<1x2x10x10xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x2x0x4xf32>
  return %0 : tensor<3x2x0x4xf32>
}
