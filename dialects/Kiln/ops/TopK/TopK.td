//===- TopK.td - Largest and smallest elements -------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_TopKOp : Kiln_PureOp<"topk"> {
  let summary = "The k largest or smallest elements along an axis, in order, and where they are.";
  let description = [{
    Of equal elements (0 and -0 are equal) the one with the lower index comes
    first. NaN is larger than every number, and equal to NaN.

    (C1) `axis` is one of x's. (C2) `k` is one number, from 0 to the dimension.

    ```mlir
    %values, %indices = kiln.topk %0 {axis = 1 : i64, k = #kiln.exprs<"2">, largest = true}
        : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, I64Attr:$axis, Kiln_ExprsAttr:$k, BoolAttr:$largest);
  let results = (outs Kiln_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}
