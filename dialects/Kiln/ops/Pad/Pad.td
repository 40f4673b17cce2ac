//===- Pad.td - Elements around a tensor -------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_PadOp : Kiln_PureOp<"pad"> {
  let summary = "Adds elements around a tensor, or drops some.";
  let description = [{
    Axis i grows by before[i] + after[i]; negative numbers drop elements
    instead. What is added is `value` (mode constant), the nearest element
    (edge), the mirror image without the edge itself (reflect) or the axis
    anew (wrap).

    (C1) `before` and `after` hold one number for each axis. (C2) Mode constant
    has a `value` of x's element type and rank 0, other modes have none and no
    negative numbers. (C3) No dimension becomes negative.

    ```mlir
    %1 = kiln.pad %0, %v {before = #kiln.exprs<"1">, after = #kiln.exprs<"k">, mode = "constant"}
        : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32, #kiln.dims<"k + 4">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Optional<Kiln_Tensor>:$value, Kiln_ExprsAttr:$before,
                       Kiln_ExprsAttr:$after, StrAttr:$mode);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
