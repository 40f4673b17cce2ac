// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @resize_static
func.func @resize_static(%x: tensor<1x3x3x4xf32>) {
  // CHECK: kiln.resize %{{.*}} {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

// CHECK-LABEL: @resize_dynamic
func.func @resize_dynamic(%x: tensor<1x3x?x?xui8, #kiln.dims<"h", "w">>) {
  // CHECK: kiln.resize %{{.*}} {axes = array<i64: 2, 3>, coordinates = "half_pixel", mode = "linear", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"2*h", "2*w">} : (tensor<1x3x?x?xui8, #kiln.dims<"h", "w">>) -> tensor<1x3x?x?xui8, #kiln.dims<"2*h", "2*w">>
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "half_pixel", mode = "linear", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"2*h", "2*w">} : (tensor<1x3x?x?xui8, #kiln.dims<"h", "w">>) -> tensor<1x3x?x?xui8, #kiln.dims<"2*h", "2*w">>
  return
}

// -----

// CHECK-LABEL: @resize_with_every_attribute
func.func @resize_with_every_attribute(%x: tensor<1x3x3x4xf32>) {
  // CHECK: kiln.resize %{{.*}} {antialias = true, axes = array<i64: 3>, coordinates = "align_corners", cubic = -5.000000e-01 : f64, exclude_outside = true, extrapolation = 1.000000e+00 : f64, mode = "cubic", policy = "not_larger", ratios = #kiln.exprs<"8", "4">, rounding = "ceil", scales = array<f64: 0.000000e+00>, sizes = #kiln.exprs<"8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x3x8xf32>
  %0 = kiln.resize %x {antialias = true, axes = array<i64: 3>, coordinates = "align_corners", cubic = -5.000000e-01 : f64, exclude_outside = true, extrapolation = 1.000000e+00 : f64, mode = "cubic", policy = "not_larger", ratios = #kiln.exprs<"8", "4">, rounding = "ceil", scales = array<f64: 0.000000e+00>, sizes = #kiln.exprs<"8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x3x8xf32>
  return
}

// -----

// CHECK-LABEL: @resize_of_a_region
func.func @resize_of_a_region(%a: tensor<4x4xf32>, %b: tensor<4xf64>) {
  // CHECK: kiln.resize %{{.*}}, %{{.*}} {axes = array<i64: 0, 1>, coordinates = "tf_crop_and_resize", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"2", "2">} : (tensor<4x4xf32>, tensor<4xf64>) -> tensor<2x2xf32>
  %0 = kiln.resize %a, %b {axes = array<i64: 0, 1>, coordinates = "tf_crop_and_resize", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"2", "2">} : (tensor<4x4xf32>, tensor<4xf64>) -> tensor<2x2xf32>
  return
}

// -----

// CHECK-LABEL: @resize_by_scales_of_the_run
func.func @resize_by_scales_of_the_run(%a: tensor<4x4xf32>, %b: tensor<2xf64>, %c: tensor<4xf64>) {
  // CHECK: kiln.resize %{{.*}}, %{{.*}}, %{{.*}} {axes = array<i64: 0, 1>, coordinates = "tf_crop_and_resize", mode = "nearest", scales = array<f64: 0.000000e+00, 0.000000e+00>, sizes = #kiln.exprs<"n", "m">} : (tensor<4x4xf32>, tensor<2xf64>, tensor<4xf64>) -> tensor<?x?xf32, #kiln.dims<"n", "m">>
  %0 = kiln.resize %a, %b, %c {axes = array<i64: 0, 1>, coordinates = "tf_crop_and_resize", mode = "nearest", scales = array<f64: 0.000000e+00, 0.000000e+00>, sizes = #kiln.exprs<"n", "m">} : (tensor<4x4xf32>, tensor<2xf64>, tensor<4xf64>) -> tensor<?x?xf32, #kiln.dims<"n", "m">>
  return
}

// -----

func.func @resize_rejects_c1_sizes(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C1) needs a size and a scale for each of 2 axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x4xf32>
  return
}

// -----

func.func @resize_rejects_c1_scales(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C1) needs a size and a scale for each of 2 axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.0>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c1_range(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C1) axis 4 is out of range or given twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 4>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c1_twice(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C1) axis 2 is out of range or given twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 2>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x8x4xf32>
  return
}

// -----

func.func @resize_rejects_c1_negative_size(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C1) the size -8 is negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "-8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x0xf32>
  return
}

// -----

func.func @resize_rejects_c2_mode(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C2) unknown mode 'area', 'asymmetric', 'floor' or 'stretch'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "area", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c2_coordinates(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C2) unknown mode 'nearest', 'center', 'floor' or 'stretch'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "center", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c2_rounding(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C2) unknown mode 'nearest', 'asymmetric', 'up' or 'stretch'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", rounding = "up", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c2_policy(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C2) unknown mode 'nearest', 'asymmetric', 'floor' or 'fit'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", policy = "fit", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c3_without_a_region(%x: tensor<1x3x3x4xf32>) {
  // expected-error @+2 {{(C3) geometry of 0 operands for coordinates tf_crop_and_resize}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %x {axes = array<i64: 2, 3>, coordinates = "tf_crop_and_resize", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c3_too_many(%a: tensor<1x3x3x4xf32>, %b: tensor<2xf64>, %c: tensor<4xf64>) {
  // expected-error @+2 {{(C3) geometry of 2 operands for coordinates asymmetric}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.resize %a, %b, %c {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>, tensor<2xf64>, tensor<4xf64>) -> tensor<1x3x6x8xf32>
  return
}

// -----

func.func @resize_rejects_c3_element_type(%a: tensor<1x3x3x4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand #1 must be variadic of 1D tensor of 64-bit float values}}
  %0 = kiln.resize %a, %b {axes = array<i64: 2, 3>, coordinates = "asymmetric", mode = "nearest", scales = array<f64: 2.000000e+00, 2.000000e+00>, sizes = #kiln.exprs<"6", "8">} : (tensor<1x3x3x4xf32>, tensor<2xf32>) -> tensor<1x3x6x8xf32>
  return
}
