//===- Unique.td - Different rows of a matrix --------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_UniqueOp : Kiln_PureOp<"unique"> {
  let summary = "Finds the different rows of a matrix.";
  let description = [{
    The result's first `count` places stand for the different rows: in
    ascending order (the first element decides first; NaN comes last and is
    equal to itself) when `sorted`, else as they first occur. `firsts` holds
    where each occurs first, `counts` how often, `inverse` which place each row
    has. Elements of `firsts` and `counts` from `count` on are 0.

    (C1) x has rank 2.

    ```mlir
    %firsts, %inverse, %counts, %count = kiln.unique %0 {sorted = true}
        : (tensor<5x1xf32>) -> (tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, BoolAttr:$sorted);
  let results = (outs 1DTensorOf<[I64]>:$firsts, 1DTensorOf<[I64]>:$inverse,
                      1DTensorOf<[I64]>:$counts, 0DTensorOf<[I64]>:$count);
}
