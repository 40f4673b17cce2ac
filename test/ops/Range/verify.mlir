// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @range_static
func.func @range_static(%a: tensor<i64>, %b: tensor<i64>) {
  // CHECK: kiln.range %{{.*}}, %{{.*}} {count = #kiln.exprs<"5">} : (tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %0 = kiln.range %a, %b {count = #kiln.exprs<"5">} : (tensor<i64>, tensor<i64>) -> tensor<5xi64>
  return
}

// -----

// CHECK-LABEL: @range_dynamic
func.func @range_dynamic(%a: tensor<f32>, %b: tensor<f32>) {
  // CHECK: kiln.range %{{.*}}, %{{.*}} {count = #kiln.exprs<"n">} : (tensor<f32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"n">>
  %0 = kiln.range %a, %b {count = #kiln.exprs<"n">} : (tensor<f32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"n">>
  return
}

// -----

func.func @range_rejects_c1_rank(%a: tensor<1xf32>, %b: tensor<1xf32>) {
  // expected-error @+2 {{(C1) needs scalars of one type, not 'tensor<1xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range %a, %b {count = #kiln.exprs<"5">} : (tensor<1xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @range_rejects_c1_types(%a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+2 {{(C1) needs scalars of one type, not 'tensor<f64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range %a, %b {count = #kiln.exprs<"5">} : (tensor<f32>, tensor<f64>) -> tensor<5xf32>
  return
}

// -----

func.func @range_rejects_c2_two(%a: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+2 {{(C2) count must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range %a, %b {count = #kiln.exprs<"5", "5">} : (tensor<f32>, tensor<f32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @range_rejects_c2_negative(%a: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+2 {{(C2) count must be one number that is not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range %a, %b {count = #kiln.exprs<"-5">} : (tensor<f32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

// CHECK-LABEL: @range_count_of_floats
func.func @range_count_of_floats(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) {
  // CHECK: kiln.range_count %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<i64>
  %0 = kiln.range_count %a, %b, %c : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<i64>
  return
}

// -----

// CHECK-LABEL: @range_count_of_integers
func.func @range_count_of_integers(%a: tensor<i16>, %b: tensor<i16>, %c: tensor<i16>) {
  // CHECK: kiln.range_count %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i16>, tensor<i16>, tensor<i16>) -> tensor<i64>
  %0 = kiln.range_count %a, %b, %c : (tensor<i16>, tensor<i16>, tensor<i16>) -> tensor<i64>
  return
}

// -----

func.func @range_count_rejects_c1(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>) {
  // expected-error @+2 {{(C1) needs scalars of one type, not 'tensor<i32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range_count %a, %b, %c : (tensor<f32>, tensor<f32>, tensor<i32>) -> tensor<i64>
  return
}

// -----

func.func @range_count_rejects_c1_rank(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{(C1) needs scalars of one type, not 'tensor<2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.range_count %a, %b, %c : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<i64>
  return
}
