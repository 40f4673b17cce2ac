// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @max_pool_static
func.func @max_pool_static(%x: tensor<1x6x8x8xf32>) {
  // CHECK: kiln.max_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  %0 = kiln.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @max_pool_dynamic
func.func @max_pool_dynamic(%x: tensor<?x6x?xf32, #kiln.dims<"n", "h">>) {
  // CHECK: kiln.max_pool %{{.*}} {dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  %0 = kiln.max_pool %x {dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @max_pool_rejects_c1_rank(%x: tensor<6x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 0 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool %x {dilations = array<i64>, kernel = array<i64>, pads = #kiln.exprs<>, sizes = #kiln.exprs<>, strides = array<i64>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @max_pool_rejects_c1_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 2 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @max_pool_rejects_c2_kernel(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 0>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @max_pool_rejects_c2_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "-1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @max_pool_indices_static
func.func @max_pool_indices_static(%x: tensor<1x6x8x8xf32>) {
  // CHECK: kiln.max_pool_indices %{{.*}} {column_major = false, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xi64>
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xi64>
  return
}

// -----

// CHECK-LABEL: @max_pool_indices_dynamic
func.func @max_pool_indices_dynamic(%x: tensor<?x6x?xf32, #kiln.dims<"n", "h">>) {
  // CHECK: kiln.max_pool_indices %{{.*}} {column_major = false, dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xi64, #kiln.dims<"n", "h">>
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xi64, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @max_pool_indices_rejects_c1_rank(%x: tensor<6x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 0 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64>, kernel = array<i64>, pads = #kiln.exprs<>, sizes = #kiln.exprs<>, strides = array<i64>} : (tensor<6x8xf32>) -> tensor<6x8xi64>
  return
}

// -----

func.func @max_pool_indices_rejects_c1_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 2 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xi64>
  return
}

// -----

func.func @max_pool_indices_rejects_c2_kernel(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 0>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xi64>
  return
}

// -----

func.func @max_pool_indices_rejects_c2_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_pool_indices %x {column_major = false, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "-1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xi64>
  return
}

// -----

// CHECK-LABEL: @avg_pool_static
func.func @avg_pool_static(%x: tensor<1x6x8x8xf32>) {
  // CHECK: kiln.avg_pool %{{.*}} {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @avg_pool_dynamic
func.func @avg_pool_dynamic(%x: tensor<?x6x?xf32, #kiln.dims<"n", "h">>) {
  // CHECK: kiln.avg_pool %{{.*}} {count_include_pad = true, dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @avg_pool_rejects_c1_rank(%x: tensor<6x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 0 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64>, kernel = array<i64>, pads = #kiln.exprs<>, sizes = #kiln.exprs<>, strides = array<i64>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @avg_pool_rejects_c1_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 2 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @avg_pool_rejects_c2_kernel(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 0>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @avg_pool_rejects_c2_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.avg_pool %x {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "-1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @sum_pool_static
func.func @sum_pool_static(%x: tensor<1x6x8x8xf32>) {
  // CHECK: kiln.sum_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  %0 = kiln.sum_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @sum_pool_dynamic
func.func @sum_pool_dynamic(%x: tensor<?x6x?xf32, #kiln.dims<"n", "h">>) {
  // CHECK: kiln.sum_pool %{{.*}} {dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  %0 = kiln.sum_pool %x {dilations = array<i64: 2>, kernel = array<i64: 1>, pads = #kiln.exprs<"0", "0">, sizes = #kiln.exprs<"h">, strides = array<i64: 1>} : (tensor<?x6x?xf32, #kiln.dims<"n", "h">>) -> tensor<?x6x?xf32, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @sum_pool_rejects_c1_rank(%x: tensor<6x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 0 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.sum_pool %x {dilations = array<i64>, kernel = array<i64>, pads = #kiln.exprs<>, sizes = #kiln.exprs<>, strides = array<i64>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @sum_pool_rejects_c1_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C1) each list needs one entry (pads two) for each of the 2 spatial axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.sum_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @sum_pool_rejects_c2_kernel(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.sum_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 0>, pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @sum_pool_rejects_c2_pads(%x: tensor<1x6x8x8xf32>) {
  // expected-error @+2 {{(C2) kernel, strides and dilations must be positive, and pads and sizes not negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.sum_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = #kiln.exprs<"1", "1", "-1", "1">, sizes = #kiln.exprs<"4", "4">, strides = array<i64: 2, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

// CHECK-LABEL: @max_unpool_static
func.func @max_unpool_static(%a: tensor<1x1x2x2xf32>, %b: tensor<1x1x2x2xi64>) {
  // CHECK: kiln.max_unpool %{{.*}}, %{{.*}} {indexed = #kiln.exprs<"1", "1", "4", "4">, shape = #kiln.exprs<"1", "1", "5", "5">} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>) -> tensor<1x1x5x5xf32>
  %0 = kiln.max_unpool %a, %b {indexed = #kiln.exprs<"1", "1", "4", "4">, shape = #kiln.exprs<"1", "1", "5", "5">} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>) -> tensor<1x1x5x5xf32>
  return
}

// -----

// CHECK-LABEL: @max_unpool_dynamic
func.func @max_unpool_dynamic(%a: tensor<?x1x2xf32, #kiln.dims<"n">>, %b: tensor<?x1x2xi64, #kiln.dims<"n">>) {
  // CHECK: kiln.max_unpool %{{.*}}, %{{.*}} {indexed = #kiln.exprs<"n", "1", "h">, shape = #kiln.exprs<"n", "1", "h">} : (tensor<?x1x2xf32, #kiln.dims<"n">>, tensor<?x1x2xi64, #kiln.dims<"n">>) -> tensor<?x1x?xf32, #kiln.dims<"n", "h">>
  %0 = kiln.max_unpool %a, %b {indexed = #kiln.exprs<"n", "1", "h">, shape = #kiln.exprs<"n", "1", "h">} : (tensor<?x1x2xf32, #kiln.dims<"n">>, tensor<?x1x2xi64, #kiln.dims<"n">>) -> tensor<?x1x?xf32, #kiln.dims<"n", "h">>
  return
}

// -----

func.func @max_unpool_rejects_c1(%a: tensor<1x1x2x2xf32>, %b: tensor<1x1x4xi64>) {
  // expected-error @+2 {{(C1) shapes of 'tensor<1x1x2x2xf32>' and 'tensor<1x1x4xi64>' differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_unpool %a, %b {indexed = #kiln.exprs<"1", "1", "4", "4">, shape = #kiln.exprs<"1", "1", "4", "4">} : (tensor<1x1x2x2xf32>, tensor<1x1x4xi64>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @max_unpool_rejects_c2_indexed(%a: tensor<1x1x2xf32>, %b: tensor<1x1x2xi64>) {
  // expected-error @+2 {{(C2) indexed and shape must have 3 sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_unpool %a, %b {indexed = #kiln.exprs<"4">, shape = #kiln.exprs<"1", "1", "4">} : (tensor<1x1x2xf32>, tensor<1x1x2xi64>) -> tensor<1x1x4xf32>
  return
}

// -----

func.func @max_unpool_rejects_c2_shape(%a: tensor<1x1x2xf32>, %b: tensor<1x1x2xi64>) {
  // expected-error @+2 {{(C2) indexed and shape must have 3 sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_unpool %a, %b {indexed = #kiln.exprs<"1", "1", "4">, shape = #kiln.exprs<"4">} : (tensor<1x1x2xf32>, tensor<1x1x2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @max_unpool_rejects_c3(%x: tensor<1x1x2xf32>, %i: tensor<1x1x2xi64>) {
  // expected-error @+2 {{(C3) a size of indexed or shape is negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.max_unpool %x, %i {indexed = #kiln.exprs<"1", "1", "4">, shape = #kiln.exprs<"1", "1", "-4">} : (tensor<1x1x2xf32>, tensor<1x1x2xi64>) -> tensor<1x1x4xf32>
  return
}
