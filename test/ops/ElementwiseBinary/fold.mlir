// RUN: kiln-opt %s --canonicalize | FileCheck %s
// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants))' | FileCheck %s --check-prefix=VALUE

// CHECK-LABEL: @mul_by_one_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @mul_by_one_is_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = kiln.constant dense<1.0> : tensor<f32>
  %0 = kiln.mul %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @mul_by_one_that_broadcasts_is_kept
// CHECK: kiln.mul
func.func @mul_by_one_that_broadcasts_is_kept(%x: tensor<1xf32>) -> tensor<4xf32> {
  %one = kiln.constant dense<1.0> : tensor<4xf32>
  %0 = kiln.mul %x, %one : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// x + 0 would make 0 of -0; x + (-0) is x for every x.
// CHECK-LABEL: @add_of_zero_is_kept
// CHECK: kiln.add
func.func @add_of_zero_is_kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = kiln.constant dense<0.0> : tensor<f32>
  %0 = kiln.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @add_of_minus_zero_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @add_of_minus_zero_is_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = kiln.constant dense<-0.0> : tensor<f32>
  %0 = kiln.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @add_of_integer_zero_is_nothing
// CHECK-SAME:  (%[[X:.*]]: tensor
// CHECK-NEXT:  return %[[X]]
func.func @add_of_integer_zero_is_nothing(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = kiln.constant dense<0> : tensor<i32>
  %0 = kiln.add %x, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: @sub_from_zero_is_kept
// CHECK: kiln.sub
func.func @sub_from_zero_is_kept(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = kiln.constant dense<0> : tensor<i32>
  %0 = kiln.sub %zero, %x : (tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: @div_by_a_power_of_two_multiplies
// CHECK: %[[C:.*]] = kiln.constant dense<2.500000e-01>
// CHECK: kiln.mul %{{.*}}, %[[C]]
func.func @div_by_a_power_of_two_multiplies(%x: tensor<4xf32>) -> tensor<4xf32> {
  %four = kiln.constant dense<4.0> : tensor<f32>
  %0 = kiln.div %x, %four : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @div_by_three_is_kept
// CHECK: kiln.div
func.func @div_by_three_is_kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = kiln.constant dense<3.0> : tensor<f32>
  %0 = kiln.div %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// VALUE-LABEL: @integers_wrap
// VALUE: dense<-128> : tensor<1xi8>
func.func @integers_wrap() -> tensor<1xi8> {
  %a = kiln.constant dense<127> : tensor<1xi8>
  %b = kiln.constant dense<1> : tensor<1xi8>
  %0 = kiln.add %a, %b : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}

// VALUE-LABEL: @integer_division_truncates
// VALUE: dense<[3, -3, -3, 0]> : tensor<4xi32>
func.func @integer_division_truncates() -> tensor<4xi32> {
  %a = kiln.constant dense<[7, -7, 7, 7]> : tensor<4xi32>
  %b = kiln.constant dense<[2, 2, -2, 0]> : tensor<4xi32>
  %0 = kiln.div %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// The least integer over -1 traps on the machine.
// VALUE-LABEL: @least_integer_over_minus_one
// VALUE: dense<-2147483648> : tensor<1xi32>
func.func @least_integer_over_minus_one() -> tensor<1xi32> {
  %a = kiln.constant dense<-2147483648> : tensor<1xi32>
  %b = kiln.constant dense<-1> : tensor<1xi32>
  %0 = kiln.div %a, %b : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// VALUE-LABEL: @broadcast_of_constants
// VALUE{LITERAL}: dense<[[11, 12], [21, 22]]> : tensor<2x2xi64>
func.func @broadcast_of_constants() -> tensor<2x2xi64> {
  %a = kiln.constant dense<[[10], [20]]> : tensor<2x1xi64>
  %b = kiln.constant dense<[1, 2]> : tensor<2xi64>
  %0 = kiln.add %a, %b : (tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// VALUE-LABEL: @unsigned_compare
// VALUE: dense<[false, true]> : tensor<2xi1>
func.func @unsigned_compare() -> tensor<2xi1> {
  %a = kiln.constant dense<[255, 1]> : tensor<2xui8>
  %b = kiln.constant dense<[1, 255]> : tensor<2xui8>
  %0 = kiln.less %a, %b : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}
