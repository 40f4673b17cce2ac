//===- Resize.td - Interpolation between elements ----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ResizeOp : Kiln_PureOp<"resize"> {
  let summary = "Resamples a tensor along some axes.";
  let description = [{
    Axis axes[i] gets size sizes[i]. Its scale is `scales[i]`; 0 means the ratio
    of its two sizes. With `policy` not_larger or not_smaller 0 means the least
    or greatest of the quotients that `ratios` lists as dividend and divisor.
    When `geometry` holds scales, the run decides them all.

    `coordinates` names ONNX's transformation from a place in the result to one
    in x, which for tf_crop_and_resize depends on a region, the last operand of
    `geometry`: starts, then ends, of each axis. There a place outside x gives
    `extrapolation`.

    Mode nearest takes the element at the place, rounded as `rounding` says;
    linear and cubic (with parameter `cubic`) weigh 2 or 4 elements an axis, or
    as many as fall together when `antialias` is set and the scale below 1.
    Elements beyond the edge repeat it, unless `exclude_outside`: then they
    weigh nothing, and the other weights are scaled up. Integers round to
    nearest even and saturate.

    align_corners with a scale stretches the last element to scale * dim - 1,
    which need not be an integer, as ONNX's reference and test data do; engines
    that take the result's last element there differ when it is not one.

    (C1) `axes` are different ones of x's, and every list has a number for
    each. (C2) Names of modes are known ones. (C3) `geometry` has what
    `coordinates` needs, and at most scales beside it, of float64.

    ```mlir
    %1 = kiln.resize %0 {axes = array<i64: 2, 3>, sizes = #kiln.exprs<"2*h", "2*w">,
                         scales = array<f64: 2.0, 2.0>, mode = "nearest",
                         coordinates = "asymmetric", rounding = "floor"}
        : (tensor<1x3x?x?xf32, #kiln.dims<"h", "w">>)
        -> tensor<1x3x?x?xf32, #kiln.dims<"2*h", "2*w">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Variadic<1DTensorOf<[F64]>>:$geometry,
                       DenseI64ArrayAttr:$axes, Kiln_ExprsAttr:$sizes, DenseF64ArrayAttr:$scales,
                       StrAttr:$mode, StrAttr:$coordinates,
                       DefaultValuedStrAttr<StrAttr, "floor">:$rounding,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic,
                       DefaultValuedAttr<BoolAttr, "false">:$exclude_outside,
                       DefaultValuedAttr<BoolAttr, "false">:$antialias,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation,
                       DefaultValuedStrAttr<StrAttr, "stretch">:$policy,
                       OptionalAttr<Kiln_ExprsAttr>:$ratios);
  let results = (outs Kiln_Tensor:$y);
  let extraClassDeclaration = [{
    bool isCrop() { return getCoordinates() == "tf_crop_and_resize"; }
    /// The region, and scales that the run decides; null without.
    ::mlir::Value getRegionOperand() {
      return isCrop() ? ::mlir::Value(getGeometry().back()) : ::mlir::Value();
    }
    ::mlir::Value getScalesOperand() {
      return getGeometry().size() > (isCrop() ? 1 : 0) ? ::mlir::Value(getGeometry().front())
                                                       : ::mlir::Value();
    }
    /// Elements of x on one side of a place that weigh on it at full scale.
    int64_t radius() { return getMode() == "linear" ? 1 : 2; }
  }];
}
