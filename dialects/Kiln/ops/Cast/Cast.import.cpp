//===- Cast.import.cpp - Conversion of element types, import --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> castTo(NodeImporter &n, Type to) {
  Value x = n.input(0);
  if (n.intAttr("saturate", 1) != 0 || !isSmallFloat(to) || elementTypeOf(x) == to)
    return SmallVector<Value>{n.cast(x, to)};
  return SmallVector<Value>{
      n.create<CastOp>({x}, {n.attr("to", TypeAttr::get(to)), n.boolNamed("saturate", false)})};
}

static FailureOr<SmallVector<Value>> importCast(NodeImporter &n) {
  int64_t number = n.intAttr("to", 0);
  Type to = elementTypeOfOnnx(n.b.getContext(), number);
  if (!to)
    return n.refuse("cast to ONNX element type " + Twine(number),
                    "float, integer and bool types but float8e8m0");
  return castTo(n, to);
}

static FailureOr<SmallVector<Value>> importCastLike(NodeImporter &n) {
  return castTo(n, elementTypeOf(n.input(1)));
}

namespace kiln {
void registerCastImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCastImporters(ImportTable &table) {
  table.add("Cast", 6, importCast);
  table.add("CastLike", 15, importCastLike);
}
