//===- Range.td - Evenly spaced numbers --------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_RangeOp : Kiln_PureOp<"range", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "start + i*delta for i in [0, count).";
  let description = [{
    Integers wrap. (C1) `start` and `delta` are scalars of one type. (C2)
    `count` is one number, not negative.

    ```mlir
    %2 = kiln.range %0, %1 {count = #kiln.exprs<"n">}
        : (tensor<f32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"n">>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$start, Kiln_NumberTensor:$delta, Kiln_ExprsAttr:$count);
  let results = (outs Kiln_NumberTensor:$y);
}

def Kiln_RangeCountOp : Kiln_PureOp<"range_count"> {
  let summary = "How many numbers go from start to below limit in steps of delta.";
  let description = [{
    max(ceil((limit - start) / delta), 0), computed in float64 for floats; -1
    when delta is 0, for there is no such number. (C1) All three are scalars of one type.

    ```mlir
    %3 = kiln.range_count %0, %1, %2 : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<i64>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$start, Kiln_NumberTensor:$limit,
                       Kiln_NumberTensor:$delta);
  let results = (outs 0DTensorOf<[I64]>:$count);
}
