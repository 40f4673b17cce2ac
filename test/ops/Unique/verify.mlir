// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @unique_rows
func.func @unique_rows(%x: tensor<5x1xf32>) -> tensor<5xi64> {
  // CHECK: kiln.unique %{{.*}} {sorted = true}
  %firsts, %inverse, %counts, %count = kiln.unique %x {sorted = true} : (tensor<5x1xf32>) -> (tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<i64>)
  return %inverse : tensor<5xi64>
}

// -----

// CHECK-LABEL: @unique_dynamic
func.func @unique_dynamic(%x: tensor<?x2xi64, #kiln.dims<"n">>) -> tensor<i64> {
  // CHECK: kiln.unique %{{.*}} {sorted = false}
  %firsts, %inverse, %counts, %count = kiln.unique %x {sorted = false} : (tensor<?x2xi64, #kiln.dims<"n">>) -> (tensor<?xi64, #kiln.dims<"n">>, tensor<?xi64, #kiln.dims<"n">>, tensor<?xi64, #kiln.dims<"n">>, tensor<i64>)
  return %count : tensor<i64>
}

// -----

func.func @unique_rejects_c1(%x: tensor<5xf32>) -> tensor<i64> {
  // expected-error @+2 {{(C1) needs a matrix}}
  // expected-error @+1 {{failed to infer}}
  %firsts, %inverse, %counts, %count = kiln.unique %x {sorted = true} : (tensor<5xf32>) -> (tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<i64>)
  return %count : tensor<i64>
}
