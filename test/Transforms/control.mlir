// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fuse))' | FileCheck %s --check-prefix=FUSE
// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fuse),kiln-plan)' | FileCheck %s
// RUN: kiln-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(kiln-fuse),kiln-plan)' | kiln-opt -split-input-file | FileCheck %s

// Ops fuse inside a branch, never across its border; a result is the branch's
// buffer.
// FUSE-LABEL: @branch
// FUSE:       kiln.fusion "loop"
// FUSE:         kiln.relu
// FUSE-NEXT:    kiln.yield
// FUSE:       kiln.if
// FUSE:         kiln.fusion "loop"
// FUSE:           kiln.neg
// FUSE-NEXT:      kiln.exp
// CHECK-LABEL: plan.program @branch
// CHECK-NEXT:  ^bb0(%[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>):
// CHECK:       plan.launch @{{.*}} outs(%[[R:.*]] : tensor<4xf32>)
// CHECK:       %[[B:.*]] = plan.if %[[C]] : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT:    %[[E:.*]] = plan.alloc
// CHECK-NEXT:    plan.launch @{{.*}} ins(%[[R]] : tensor<4xf32>) outs(%[[E]] : tensor<4xf32>)
// CHECK-NEXT:    plan.yield %[[E]]
// CHECK-NEXT:  } else {
// CHECK-NEXT:    plan.yield %[[X]]
// CHECK-NEXT:  }
// CHECK:       plan.output 0
// CHECK-NEXT:  plan.launch @{{.*}}copy{{.*}} ins(%[[B]]
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = kiln.neg %r : (tensor<4xf32>) -> tensor<4xf32>
    %2 = kiln.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %2 : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// The branch that runs says what the size is; its requirements hold in it alone.
// CHECK-LABEL: plan.program @branch_sizes
// CHECK-NOT:   plan.require
// CHECK:       plan.if
// CHECK:         plan.require <"n", "7">
// CHECK:         plan.define ["s"] <"4">
// CHECK-NEXT:    plan.yield
// CHECK:       } else {
// CHECK:         plan.define ["s"] <"n">
// CHECK-NEXT:    plan.yield
func.func @branch_sizes(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<?xf32, #kiln.dims<"n">>) -> tensor<?xf32, #kiln.dims<"s">> {
  %0 = kiln.if %c {symbols = ["s"]} : tensor<i1> -> tensor<?xf32, #kiln.dims<"s">> {
    kiln.require <"n", "7"> "n is 7"
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %y : tensor<?xf32, #kiln.dims<"n">>
  }
  return %0 : tensor<?xf32, #kiln.dims<"s">>
}

// -----

// A carried value of fixed size has two buffers, written in turn; a stack's
// element is written where it belongs, which may be an output of the model.
// CHECK-LABEL: plan.program @loop
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<?xf32, #kiln.dims<"n">>):
// CHECK-NEXT:  %[[EVEN:.*]] = plan.alloc
// CHECK-NEXT:  %[[ODD:.*]] = plan.alloc
// CHECK-NEXT:  %[[STACK:.*]] = plan.output 1 : tensor<?x4xf32, #kiln.dims<"n">>
// CHECK-NEXT:  plan.loop inits(%[[X]] : tensor<4xf32>) stacks() trips <"n"> iteration "i" -> tensor<4xf32> {
// CHECK-NEXT:  ^bb0(%[[NOW:.*]]: tensor<4xf32>):
// CHECK-NEXT:    %[[NEXT:.*]] = plan.alternate %[[EVEN]], %[[ODD]] "i"
// CHECK-NEXT:    plan.launch @{{.*}}exp{{.*}} ins(%[[NOW]] : tensor<4xf32>) outs(%[[NEXT]] : tensor<4xf32>)
// CHECK-NEXT:    %[[SLOT:.*]] = plan.slot %[[STACK]] <"i">
// CHECK-NEXT:    plan.launch @{{.*}}neg{{.*}} outs(%[[SLOT]] : tensor<4xf32>)
// CHECK-NEXT:    plan.yield %[[NEXT]]
func.func @loop(%x: tensor<4xf32>, %n: tensor<?xf32, #kiln.dims<"n">>) -> (tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>) {
  %0:2 = kiln.loop(%x) {trips = #kiln.exprs<"n">, iteration = "i"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>) {
  ^bb0(%now: tensor<4xf32>):
    %1 = kiln.exp %now : (tensor<4xf32>) -> tensor<4xf32>
    %2 = kiln.neg %now : (tensor<4xf32>) -> tensor<4xf32>
    kiln.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>
}

// -----

// Buffers that change places are copied: each is overwritten two iterations on.
// CHECK-LABEL: plan.program @loop_that_swaps
// CHECK:       plan.loop
// CHECK-NEXT:  ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT:    %[[P:.*]] = plan.alternate
// CHECK-NEXT:    plan.copy %[[B]] to %[[P]]
// CHECK-NEXT:    %[[Q:.*]] = plan.alternate
// CHECK-NEXT:    plan.copy %[[A]] to %[[Q]]
// CHECK-NEXT:    plan.yield %[[P]], %[[Q]]
func.func @loop_that_swaps(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = kiln.loop(%x, %y) {trips = #kiln.exprs<"3">, iteration = "i"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    kiln.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What changes its size is on the heap; a count that only the run knows makes a
// stack that grows.
// CHECK-LABEL: plan.program @loop_that_grows
// CHECK:       %[[STACK:.*]] = plan.stack : tensor<?x1xf32, #kiln.dims<"count">>
// CHECK-NEXT:  plan.define ["s", "count"] <"1", "0">
// CHECK-NEXT:  plan.loop inits(%[[X:.*]] : tensor<1xf32>) stacks(%[[STACK]] : {{.*}}) trips <"9"> iteration "i" attributes {conditional}
// CHECK:         %[[NEXT:.*]] = plan.alloc {on_heap} : tensor<?xf32, #kiln.dims<"s + 1">>
// CHECK-NEXT:    plan.launch @{{.*}}concat
// CHECK-NEXT:    plan.append %[[X]] to %[[STACK]]
// CHECK-NEXT:    plan.define ["s", "count"] <"s + 1", "i + 1">
// CHECK-NEXT:    plan.yield %{{.*}}, %[[NEXT]]
// CHECK:       plan.stacked %[[STACK]]
func.func @loop_that_grows(%x: tensor<1xf32>, %c: tensor<i1>) -> (tensor<?xf32, #kiln.dims<"s">>, tensor<?x1xf32, #kiln.dims<"count">>) {
  %0:2 = kiln.loop(%x) {conditional, trips = #kiln.exprs<"9">, iteration = "i", symbols = ["s", "count"]}
      : (tensor<1xf32>) -> (tensor<?xf32, #kiln.dims<"s">>, tensor<?x1xf32, #kiln.dims<"count">>) {
  ^bb0(%now: tensor<?xf32, #kiln.dims<"s">>):
    %1 = kiln.concat %now, %x {axis = 0 : i64} : (tensor<?xf32, #kiln.dims<"s">>, tensor<1xf32>) -> tensor<?xf32, #kiln.dims<"s + 1">>
    kiln.yield %c, %1, %x : tensor<i1>, tensor<?xf32, #kiln.dims<"s + 1">>, tensor<1xf32>
  }
  return %0#0, %0#1 : tensor<?xf32, #kiln.dims<"s">>, tensor<?x1xf32, #kiln.dims<"count">>
}
