//===- NonMaxSuppression.td - Boxes that overlap -----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_SuppressBoxesOp : Kiln_PureOp<"suppress_boxes"> {
  let summary = "For each batch and class the boxes with the best scores that do not overlap.";
  let description = [{
    Goes through the boxes of a batch by falling scores of a class (the lower
    index first where scores are equal), as long as they are above
    `score_threshold`, and picks those whose intersection over union with each
    box picked before is at most `iou_threshold`. It stops when `count` are
    picked. `picked` holds their numbers, and 0 from `counts` on; a score that is
    NaN is above nothing. Boxes are two corners in any order or, with `center`,
    middle and size.

    (C1) `boxes` is [batches, n, 4] and `scores` [batches, classes, n]. (C2)
    `count` is one number, not negative.

    ```mlir
    %picked, %counts = kiln.suppress_boxes %boxes, %scores, %iou, %least
        {center = false, count = #kiln.exprs<"3">}
        : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<f32>, tensor<f32>)
        -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$boxes, 3DTensorOf<[F32]>:$scores,
                       0DTensorOf<[F32]>:$iou_threshold, 0DTensorOf<[F32]>:$score_threshold,
                       BoolAttr:$center, Kiln_ExprsAttr:$count);
  let results = (outs 3DTensorOf<[I64]>:$picked, 2DTensorOf<[I64]>:$counts);
}
