//===- NonZero.td - Places of elements other than zero -----*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_CountNonZeroOp : Kiln_PureOp<"count_nonzero"> {
  let summary = "The number of elements other than zero.";
  let description = [{
    ```mlir
    %1 = kiln.count_nonzero %0 : (tensor<3x4xf32>) -> tensor<i64>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs 0DTensorOf<[I64]>:$count);
}

def Kiln_NonZeroOp : Kiln_PureOp<"nonzero"> {
  let summary = "Indices of the elements other than zero, row-major, one a column.";
  let description = [{
    NaN is not zero. (C1) `count` is one number: what kiln.count_nonzero finds.

    ```mlir
    %1 = kiln.nonzero %0 {count = #kiln.exprs<"n">}
        : (tensor<3x4xf32>) -> tensor<2x?xi64, #kiln.dims<"n">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_ExprsAttr:$count);
  let results = (outs 2DTensorOf<[I64]>:$y);
}
