// RUN: kiln-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: kiln-opt %s -split-input-file -verify-diagnostics | kiln-opt -split-input-file | FileCheck %s

// CHECK-LABEL: @if_of_one_size
func.func @if_of_one_size(%c: tensor<i1>, %x: tensor<?xf32, #kiln.dims<"n">>) {
  // CHECK:      kiln.if %{{.*}} : tensor<i1> -> tensor<?xf32, #kiln.dims<"n">> {
  // CHECK-NEXT:   %[[Y:.*]] = kiln.relu
  // CHECK-NEXT:   kiln.yield %[[Y]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   kiln.yield %{{.*}}
  // CHECK-NEXT: }
  %0 = kiln.if %c : tensor<i1> -> tensor<?xf32, #kiln.dims<"n">> {
    %1 = kiln.relu %x : (tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"n">>
    kiln.yield %1 : tensor<?xf32, #kiln.dims<"n">>
  } else {
    kiln.yield %x : tensor<?xf32, #kiln.dims<"n">>
  }
  return
}

// -----

// CHECK-LABEL: @if_of_two_sizes
func.func @if_of_two_sizes(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  // CHECK: kiln.if %{{.*}} {symbols = ["s"]} : tensor<i1> -> tensor<?xf32, #kiln.dims<"s">>
  %0 = kiln.if %c {symbols = ["s"]} : tensor<i1> -> tensor<?xf32, #kiln.dims<"s">> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<5xf32>
  }
  return
}

// -----

func.func @if_rejects_c1_count(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) a branch yields 2 values for 1 results}}
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @if_rejects_c1_element_type(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{(C1) a branch yields 'tensor<4xf64>' for a result of 'tensor<4xf32>'}}
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<4xf64>
  }
  return
}

// -----

func.func @if_rejects_c1_rank(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<1x4xf32>) {
  // expected-error @+1 {{(C1) a branch yields 'tensor<1x4xf32>' for a result of 'tensor<4xf32>'}}
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<1x4xf32>
  }
  return
}

// -----

func.func @if_rejects_c2(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{(C2) 'tensor<4xf32>' is not a branch's 'tensor<5xf32>'}}
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<5xf32>
  }
  return
}

// -----

func.func @if_rejects_c3(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{(C3) a symbol is no size of a result}}
  %0 = kiln.if %c {symbols = ["s"]} : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

// CHECK-LABEL: @loop_of_fixed_sizes
func.func @loop_of_fixed_sizes(%x: tensor<4xf32>) {
  // CHECK:      kiln.loop(%{{.*}}) {iteration = "i", trips = #kiln.exprs<"n">} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>) {
  // CHECK-NEXT: ^bb0(%[[NOW:.*]]: tensor<4xf32>):
  // CHECK:        kiln.yield %{{.*}}, %[[NOW]]
  %0:2 = kiln.loop(%x) {trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>) {
  ^bb0(%now: tensor<4xf32>):
    %1 = kiln.add %now, %now : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1, %now : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// CHECK-LABEL: @loop_that_grows
func.func @loop_that_grows(%x: tensor<1xf32>, %c: tensor<i1>) {
  // CHECK: kiln.loop(%{{.*}}) {conditional, iteration = "i", symbols = ["s", "count"], trips = #kiln.exprs<"n">}
  %0:2 = kiln.loop(%x) {conditional, trips = #kiln.exprs<"n">, iteration = "i", symbols = ["s", "count"]}
      : (tensor<1xf32>) -> (tensor<?xf32, #kiln.dims<"s">>, tensor<?x1xf32, #kiln.dims<"count">>) {
  ^bb0(%now: tensor<?xf32, #kiln.dims<"s">>):
    %1 = kiln.concat %now, %x {axis = 0 : i64} : (tensor<?xf32, #kiln.dims<"s">>, tensor<1xf32>) -> tensor<?xf32, #kiln.dims<"s + 1">>
    kiln.yield %c, %1, %x : tensor<i1>, tensor<?xf32, #kiln.dims<"s + 1">>, tensor<1xf32>
  }
  return
}

// -----

func.func @loop_rejects_c1_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) carries 1 values, but the body has 0 arguments and the op 1 results}}
  %0 = kiln.loop(%x) {trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @loop_rejects_c1_yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) the body yields 1 values for 1 results}}
  %0 = kiln.loop(%x) {conditional, trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%now: tensor<4xf32>):
    kiln.yield %now : tensor<4xf32>
  }
  return
}

// -----

func.func @loop_rejects_c1_condition(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) the first yielded value must be tensor<i1>, not 'tensor<4xf32>'}}
  %0 = kiln.loop(%x) {conditional, trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%now: tensor<4xf32>):
    kiln.yield %now, %now : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @loop_rejects_c2(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{(C2) 'tensor<5xf32>' is carried as 'tensor<4xf32>'}}
  %0 = kiln.loop(%x) {trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%now: tensor<4xf32>):
    kiln.yield %y : tensor<5xf32>
  }
  return
}

// -----

func.func @loop_rejects_c3_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C3) 'tensor<4xf32>' is stacked as 'tensor<?x5xf32, #kiln.dims<"n">>'}}
  %0 = kiln.loop() {trips = #kiln.exprs<"n">, iteration = "i"} : () -> tensor<?x5xf32, #kiln.dims<"n">> {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @loop_rejects_c3_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C3) 'm' is not the number of iterations}}
  %0 = kiln.loop() {trips = #kiln.exprs<"n">, iteration = "i"} : () -> tensor<?x4xf32, #kiln.dims<"m">> {
    kiln.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @loop_rejects_c4(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C4) a symbol is no size of a result}}
  %0 = kiln.loop(%x) {trips = #kiln.exprs<"n">, iteration = "i", symbols = ["s"]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%now: tensor<4xf32>):
    kiln.yield %now : tensor<4xf32>
  }
  return
}
