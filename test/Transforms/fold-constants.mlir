// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-fold-constants,canonicalize))' | FileCheck %s

// CHECK-LABEL: @chain_of_constants
// CHECK-NEXT:  %[[C:.*]] = kiln.constant dense<[2.000000e+00, 0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  return %[[C]]
func.func @chain_of_constants() -> tensor<2xf32> {
  %0 = kiln.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %1 = kiln.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = kiln.relu %1 : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// One operand is not known, so its op and all after it stay.
// CHECK-LABEL: @chain_with_an_argument_is_kept
// CHECK:       %[[C:.*]] = kiln.constant dense<[2.000000e+00, -2.000000e+00]>
// CHECK:       kiln.mul %{{.*}}, %[[C]]
// CHECK:       kiln.relu
func.func @chain_with_an_argument_is_kept(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kiln.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %1 = kiln.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = kiln.mul %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = kiln.relu %2 : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// CHECK-LABEL: @splat_that_stays_a_splat
// CHECK:       kiln.constant dense<2.000000e+00> : tensor<100x100xf32>
// CHECK-NOT:   kiln.add
func.func @splat_that_stays_a_splat() -> tensor<100x100xf32> {
  %0 = kiln.constant dense<1.0> : tensor<100x100xf32>
  %1 = kiln.add %0, %0 : (tensor<100x100xf32>, tensor<100x100xf32>) -> tensor<100x100xf32>
  return %1 : tensor<100x100xf32>
}

// One value takes no room, ...
// CHECK-LABEL: @large_splat
// CHECK:       kiln.constant dense<2.000000e+00> : tensor<1024x1024xf32>
// CHECK-NOT:   kiln.add
func.func @large_splat() -> tensor<1024x1024xf32> {
  %0 = kiln.constant dense<1.0> : tensor<1024x1024xf32>
  %1 = kiln.constant dense<1.0> : tensor<1024x1xf32>
  %2 = kiln.add %0, %1 : (tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}

// ... but to find it out takes time.
// CHECK-LABEL: @huge_splat_is_kept
// CHECK:       kiln.add
func.func @huge_splat_is_kept() -> tensor<4096x4096xf32> {
  %0 = kiln.constant dense<1.0> : tensor<4096x4096xf32>
  %1 = kiln.add %0, %0 : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}

// 40 kB out of nothing are worth it ...
// CHECK-LABEL: @small_growth
// CHECK:       kiln.constant dense_resource
// CHECK-NOT:   kiln.add
func.func @small_growth() -> tensor<100x100xf32> {
  %0 = kiln.constant dense_resource<row> : tensor<100xf32>
  %1 = kiln.constant dense<1.0> : tensor<100x1xf32>
  %2 = kiln.add %0, %1 : (tensor<100xf32>, tensor<100x1xf32>) -> tensor<100x100xf32>
  return %2 : tensor<100x100xf32>
}

// ... 400 kB are not.
// CHECK-LABEL: @large_growth_is_kept
// CHECK:       kiln.add
func.func @large_growth_is_kept() -> tensor<1000x100xf32> {
  %0 = kiln.constant dense_resource<row> : tensor<100xf32>
  %1 = kiln.constant dense<1.0> : tensor<1000x1xf32>
  %2 = kiln.add %0, %1 : (tensor<100xf32>, tensor<1000x1xf32>) -> tensor<1000x100xf32>
  return %2 : tensor<1000x100xf32>
}

// A fusion's region is a definition, not code that runs here.
// CHECK-LABEL: @inside_a_fusion_is_kept
// CHECK:       kiln.fusion
// CHECK:       kiln.relu
func.func @inside_a_fusion_is_kept(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kiln.fusion "loop"(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%arg: tensor<2xf32>):
    %c = kiln.constant dense<1.0> : tensor<2xf32>
    %1 = kiln.relu %c : (tensor<2xf32>) -> tensor<2xf32>
    %2 = kiln.add %arg, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    kiln.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @bind_is_kept
// CHECK:       kiln.bind
func.func @bind_is_kept() {
  %0 = kiln.constant dense<3> : tensor<1xi64>
  kiln.bind %0 ["%s"] : tensor<1xi64>
  return
}

// CHECK-LABEL: @unknown_sizes_are_kept
// CHECK:       kiln.exprs
// CHECK:       kiln.cast
func.func @unknown_sizes_are_kept() -> tensor<1xf32> {
  %0 = kiln.exprs {values = #kiln.exprs<"n">} : () -> tensor<1xi64>
  %1 = kiln.cast %0 {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

{-#
  dialect_resources: {
    builtin: {
      row: "0x04000000000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F0000004000004040000080400000A0400000C040000000000000803F"
    }
  }
#-}
