//===- ArgReduce.td - Where the extreme element is ---------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_ArgReduceOp<string mnemonic> : Kiln_PureOp<mnemonic> {
  let arguments = (ins Kiln_NumberTensor:$x, I64Attr:$axis, BoolAttr:$keepdims, BoolAttr:$select_last);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def Kiln_ArgMaxOp : Kiln_ArgReduceOp<"arg_max"> {
  let summary = "Index along an axis of the largest element.";
  let description = [{
    Of equal elements the first one counts, with `select_last` the last one. NaN
    is larger than any number (as in NumPy; ONNX does not say).

    (C1) `axis` is an axis of x.

    ```mlir
    %1 = kiln.arg_max %0 {axis = 1 : i64, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
    ```
  }];
}
def Kiln_ArgMinOp : Kiln_ArgReduceOp<"arg_min"> {
  let summary = "Index along an axis of the least element.";
  let description = [{
    As kiln.arg_max; NaN is less than any number.

    (C1) `axis` is an axis of x.
  }];
}
def Kiln_HardmaxOp : Kiln_PureOp<"hardmax"> {
  let summary = "1 at the first largest element along an axis, 0 elsewhere.";
  let description = [{
    (C1) `axis` is an axis of x.
  }];
  let arguments = (ins Kiln_FloatTensor:$x, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
}
