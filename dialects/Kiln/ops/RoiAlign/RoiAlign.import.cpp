//===- RoiAlign.import.cpp - Samples of regions of an image, import -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/RoiAlign/RoiAlign.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Opset 16 brought coordinate_transformation_mode; before, regions were never
/// moved by half a pixel.
static FailureOr<SmallVector<Value>> importRoiAlign(NodeImporter &n) {
  StringRef mode = n.stringAttr("mode").value_or("avg");
  if (mode != "avg" && mode != "max")
    return n.invalid("mode is " + mode + ", expected avg or max");
  StringRef transform = "output_half_pixel";
  if (n.sinceVersion() >= 16)
    transform = n.stringAttr("coordinate_transformation_mode").value_or("half_pixel");
  if (transform != "half_pixel" && transform != "output_half_pixel")
    return n.invalid("coordinate_transformation_mode is " + transform +
                     ", expected half_pixel or output_half_pixel");
  int64_t height = n.intAttr("output_height", 1), width = n.intAttr("output_width", 1),
          ratio = n.intAttr("sampling_ratio", 0);
  if (height < 1 || width < 1 || ratio < 0)
    return n.invalid("output_height, output_width and sampling_ratio are " + Twine(height) + ", " +
                     Twine(width) + " and " + Twine(ratio));
  if (rankOf(n.input(0)) > 0)
    n.requireRange(n.input(2), 0, shapeOf(n.input(0))[0] - Expr(1), "element of batch_indices");
  return SmallVector<Value>{n.create<RoiAlignOp>(
      {n.input(0), n.input(1), n.input(2)},
      {n.attr("height", height), n.attr("width", width), n.attr("sampling_ratio", ratio),
       n.floatNamed("scale", n.floatAttr("spatial_scale", 1)),
       n.boolNamed("half_pixel", transform == "half_pixel"),
       n.boolNamed("maximum", mode == "max")})};
}

namespace kiln {
void registerRoiAlignImporters(ImportTable &table);
} // namespace kiln

void kiln::registerRoiAlignImporters(ImportTable &table) {
  table.add("RoiAlign", 10, importRoiAlign);
}
