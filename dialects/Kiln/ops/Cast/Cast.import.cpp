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

static FailureOr<SmallVector<Value>> importCast(NodeImporter &n) {
  int64_t number = n.intAttr("to", 0);
  Type to = elementTypeOfOnnx(n.b.getContext(), number);
  if (!to)
    return n.refuse("cast to ONNX element type " + Twine(number),
                    "float, integer and bool types of 8 to 64 bits");
  return SmallVector<Value>{n.cast(n.input(0), to)};
}

static FailureOr<SmallVector<Value>> importCastLike(NodeImporter &n) {
  return SmallVector<Value>{n.cast(n.input(0), elementTypeOf(n.input(1)))};
}

namespace kiln {
void registerCastImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCastImporters(ImportTable &table) {
  table.add("Cast", 6, importCast);
  table.add("CastLike", 15, importCastLike);
}
