// RUN: kiln-opt %s --cse --canonicalize | FileCheck %s

// CHECK-LABEL: @equal_constants_are_one
// CHECK:       %[[C:.*]] = kiln.constant dense<1>
// CHECK-NEXT:  return %[[C]], %[[C]]
func.func @equal_constants_are_one() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = kiln.constant dense<1> : tensor<2xi64>
  %1 = kiln.constant dense<1> : tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: @constants_of_other_types_stay_two
// CHECK-COUNT-2: kiln.constant
func.func @constants_of_other_types_stay_two() -> (tensor<2xi64>, tensor<2xi32>) {
  %0 = kiln.constant dense<1> : tensor<2xi64>
  %1 = kiln.constant dense<1> : tensor<2xi32>
  return %0, %1 : tensor<2xi64>, tensor<2xi32>
}

// CHECK-LABEL: @unused_constants_go
// CHECK-NEXT:  return
func.func @unused_constants_go() {
  %0 = kiln.constant dense<1> : tensor<2xi64>
  return
}
