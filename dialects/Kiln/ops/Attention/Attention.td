//===- Attention.td - Scaled dot products and their weights -*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_AttentionOp : Kiln_PureOp<"attention"> {
  let summary = "Rows of v, averaged by the softmax of what q and k have in common.";
  let description = [{
    For q [batch, n, heads, d], k [batch, m, groups, d], v [batch, m, groups, e]
    the result is [batch, n, heads, e]; heads lie inside, as they do in the
    products that queries, keys and values come from, so that splitting and
    merging them moves nothing:

        s[h, i, j] = scale * sum over d of q[i, h, d] * k[j, g, d] + mask[h, i, j]
        y[i, h, e] = sum over j of softmax(s)[h, i, j] * v[j, g, e]

    where g = h / (heads / groups): neighbouring heads share a group's keys.
    A mask of bool keeps the scores where it is true and puts `fill` (-inf
    unless given) in the place of others. A row of scores that has NaN, +inf, or
    nothing but -inf has weights of NaN. With `undefined` = "zero" such a row's
    result is 0, with "masked-zero" that of a row of -inf. The sum over no keys is 0.

    (C1) q, k and v have 4 dims and one element type; (C2) they have one batch;
    (C3) q and k have one d, k and v one m and one number of groups; (C4) groups
    is heads, or divides it and both are known; (C5) the mask is of bool or of
    q's type and broadcasts to [batch, heads, n, m]; (C6) `fill` comes with a
    mask of bool; (C7) `undefined` is "nan", "zero" or "masked-zero".

    ```mlir
    %3 = kiln.attention %0, %1, %2 {scale = 1.25e-1 : f64}
        : (tensor<2x9x12x64xf32>, tensor<2x7x12x64xf32>, tensor<2x7x12x64xf32>) -> tensor<2x9x12x64xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$q, Kiln_FloatTensor:$k, Kiln_FloatTensor:$v,
                       Optional<Kiln_Tensor>:$mask, F64Attr:$scale, OptionalAttr<F64Attr>:$fill,
                       DefaultValuedStrAttr<StrAttr, "nan">:$undefined);
  let results = (outs Kiln_Tensor:$y);
}
