//===- ReverseSequence.td - Reversed beginnings ------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ReverseSequenceOp : Kiln_PureOp<"reverse_sequence"> {
  let summary = "Reverses the first lengths[b] elements along the time axis.";
  let description = [{
    (C1) `batch_axis` and `time_axis` are two of x's. (C2) `lengths` has one
    element for each coordinate of the batch axis; one is in [0, time] (a
    compiled kernel takes larger ones for that).

    ```mlir
    %2 = kiln.reverse_sequence %0, %1 {batch_axis = 1 : i64, time_axis = 0 : i64}
        : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_IndexTensor:$lengths, I64Attr:$batch_axis,
                       I64Attr:$time_axis);
  let results = (outs Kiln_Tensor:$y);
}
