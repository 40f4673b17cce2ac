//===- Cumulative.td - Running sums and products -----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_CumulativeOp<string mnemonic> : Kiln_PureOp<mnemonic> {
  let arguments = (ins Kiln_NumberTensor:$x, I64Attr:$axis, BoolAttr:$exclusive, BoolAttr:$reverse);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_CumSumOp : Kiln_CumulativeOp<"cum_sum"> {
  let summary = "Sum of the elements up to each one along an axis.";
  let description = [{
    `exclusive` leaves the element itself out, `reverse` sums from the end.
    Floats of 32 bits or fewer are summed in 64 bits.

    (C1) `axis` is an axis of x.

    ```mlir
    %1 = kiln.cum_sum %0 {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
    ```
  }];
}
def Kiln_CumProdOp : Kiln_CumulativeOp<"cum_prod"> {
  let summary = "Product of the elements up to each one along an axis.";
  let description = "As kiln.cum_sum. (C1) `axis` is an axis of x.";
}
