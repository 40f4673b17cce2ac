// RUN: kiln-opt %s -split-input-file -canonicalize | FileCheck %s

// CHECK-LABEL: @certain_branch_takes_the_place
// CHECK-NOT:   kiln.if
// CHECK:       %[[Y:.*]] = kiln.relu
// CHECK-NEXT:  return %[[Y]]
func.func @certain_branch_takes_the_place(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = kiln.constant dense<true> : tensor<i1>
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @open_condition_stays
// CHECK:       kiln.if
func.func @open_condition_stays(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @unused_branches_go
// CHECK-NEXT:  return
func.func @unused_branches_go(%c: tensor<i1>, %x: tensor<4xf32>) {
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

// A type or an attribute elsewhere may use the symbol.
// CHECK-LABEL: @branches_that_give_a_symbol_stay
// CHECK:       kiln.if
func.func @branches_that_give_a_symbol_stay(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  %0 = kiln.if %c {symbols = ["s"]} : tensor<i1> -> tensor<?xf32, #kiln.dims<"s">> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<5xf32>
  }
  return
}
