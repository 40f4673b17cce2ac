//===- GridSample.td - Samples at computed places ----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_GridSampleOp : Kiln_PureOp<"grid_sample"> {
  let summary = "Interpolates images at the places that a grid names.";
  let description = [{
    x is [n, c, d1 .. dr], the grid [n, e1 .. er, r], the result [n, c, e1 .. er].
    Coordinates come from the innermost dimension to the outermost, and go from
    -1 to 1: between the centres of the outer elements (`align_corners`) or
    their outer edges. Mode nearest rounds to even, linear weighs 2 and cubic 4
    elements a dimension. Beyond the edge lie zeros, the nearest element
    (`padding` border), or mirror images about the edge (reflection).

    (C1) x has rank r + 2, at least 3, and the grid the same. (C2) The grid's
    last dimension is r. (C3) Names of modes are known ones.

    ```mlir
    %2 = kiln.grid_sample %0, %1 {mode = "linear", padding = "zeros", align_corners = false}
        : (tensor<1x3x4x4xf32>, tensor<1x6x6x2xf32>) -> tensor<1x3x6x6xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_FloatTensor:$grid, StrAttr:$mode, StrAttr:$padding,
                       BoolAttr:$align_corners);
  let results = (outs Kiln_Tensor:$y);
}
