//===- Softmax.td - Softmax and its logarithm --------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_AlongAxisOp<string mnemonic> : Kiln_PureOp<mnemonic> {
  let arguments = (ins Kiln_FloatTensor:$x, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_SoftmaxOp : Kiln_AlongAxisOp<"softmax"> {
  let summary = "exp(x) along an axis, divided by its sum.";
  let description = [{
    Computed from x less its maximum, so that nothing overflows. A row with NaN
    or +inf, or of -inf alone, gives NaN.

    (C1) `axis` is an axis of x.

    ```mlir
    %1 = kiln.softmax %0 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
  }];
}
def Kiln_LogSoftmaxOp : Kiln_AlongAxisOp<"log_softmax"> {
  let summary = "Logarithm of softmax along an axis.";
  let description = "(C1) `axis` is an axis of x.";
}
