// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @roi_align_dynamic
func.func @roi_align_dynamic(%x: tensor<?x3x10x10xf32, #kiln.dims<"n">>, %rois: tensor<?x4xf32, #kiln.dims<"r">>, %batch: tensor<?xi64, #kiln.dims<"r">>) {
  // CHECK: kiln.roi_align {{.*}} -> tensor<?x3x5x6xf32, #kiln.dims<"r">>
  %0 = kiln.roi_align %x, %rois, %batch {height = 5 : i64, width = 6 : i64, sampling_ratio = 0 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<?x3x10x10xf32, #kiln.dims<"n">>, tensor<?x4xf32, #kiln.dims<"r">>, tensor<?xi64, #kiln.dims<"r">>) -> tensor<?x3x5x6xf32, #kiln.dims<"r">>
  return
}

// -----

func.func @roi_align_rejects_c1(%x: tensor<1x3x10x10xf32>, %rois: tensor<2x5xf32>, %batch: tensor<2xi64>) {
  // expected-error @+2 {{(C1) expected x of rank 4, rois [regions, 4] of its element type and batch_indices [regions]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.roi_align %x, %rois, %batch {height = 5 : i64, width = 5 : i64, sampling_ratio = 0 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<1x3x10x10xf32>, tensor<2x5xf32>, tensor<2xi64>) -> tensor<2x3x5x5xf32>
  return
}

// -----

func.func @roi_align_rejects_c2(%x: tensor<1x3x10x10xf32>, %rois: tensor<2x4xf32>, %batch: tensor<2xi64>) {
  // expected-error @+2 {{(C2) height and width must be positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.roi_align %x, %rois, %batch {height = 0 : i64, width = 5 : i64, sampling_ratio = 0 : i64, scale = 1.0 : f64, half_pixel = true, maximum = false} : (tensor<1x3x10x10xf32>, tensor<2x4xf32>, tensor<2xi64>) -> tensor<2x3x0x5xf32>
  return
}
