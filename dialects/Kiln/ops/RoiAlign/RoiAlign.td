//===- RoiAlign.td - Samples of regions of an image --------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_RoiAlignOp : Kiln_PureOp<"roi_align"> {
  let summary = "Mean or maximum of bilinear samples in each bin of a region.";
  let description = [{
    x is [batch, channel, height, width], rois [regions, 4] as x1, y1, x2, y2 and
    batch_indices [regions]. A region, times `scale` and with `half_pixel` moved
    by -0.5, is cut into `height` x `width` bins; each has `sampling_ratio` by as
    many samples, or for 0 as many as the bin has pixels, rounded up. A sample
    more than a pixel outside of x is 0. `maximum` takes the largest of the four
    weighted pixels of a sample, and of the samples; else the samples' mean is
    taken. Without `half_pixel` a region is at least one pixel large. Batch
    indices outside of x are clamped.

    (C1) ranks and sizes are as told. (C2) `height` and `width` are positive.

    ```mlir
    %3 = kiln.roi_align %0, %1, %2 {height = 5 : i64, width = 5 : i64, sampling_ratio = 2 : i64,
        scale = 1.0 : f64, half_pixel = true, maximum = false}
        : (tensor<1x1x10x10xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x1x5x5xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, Kiln_FloatTensor:$rois, RankedTensorOf<[I64]>:$batch_indices,
                       I64Attr:$height, I64Attr:$width, I64Attr:$sampling_ratio, F64Attr:$scale,
                       BoolAttr:$half_pixel, BoolAttr:$maximum);
  let results = (outs Kiln_Tensor:$y);
}
