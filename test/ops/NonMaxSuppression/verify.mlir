// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @suppress_boxes_static
func.func @suppress_boxes_static(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %t: tensor<f32>) {
  // CHECK: kiln.suppress_boxes %{{.*}} {center = false, count = #kiln.exprs<"3">} : ({{.*}}) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
  %0:2 = kiln.suppress_boxes %b, %s, %t, %t {center = false, count = #kiln.exprs<"3">}
      : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
  return
}

// -----

func.func @suppress_boxes_rejects_c1(%b: tensor<1x6x4xf32>, %s: tensor<1x2x5xf32>, %t: tensor<f32>) {
  // expected-error @+2 {{(C1) boxes are 'tensor<1x6x4xf32>', scores 'tensor<1x2x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.suppress_boxes %b, %s, %t, %t {center = false, count = #kiln.exprs<"3">}
      : (tensor<1x6x4xf32>, tensor<1x2x5xf32>, tensor<f32>, tensor<f32>) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
  return
}

// -----

func.func @suppress_boxes_rejects_c2(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %t: tensor<f32>) {
  // expected-error @+2 {{(C2) count must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = kiln.suppress_boxes %b, %s, %t, %t {center = false, count = #kiln.exprs<"-1">}
      : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
  return
}
