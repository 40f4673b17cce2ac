//===- Trilu.import.cpp - Triangles of matrices, import -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Trilu/Trilu.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static Value makeTrilu(NodeImporter &n, Value x, bool upper, const Expr &k) {
  return n.create<TriluOp>({x}, {n.boolNamed("upper", upper), n.exprsNamed("k", {k})});
}

static FailureOr<SmallVector<Value>> importTrilu(NodeImporter &n) {
  if (rankOf(n.input(0)) < 2)
    return n.invalid("the input has rank " + Twine(rankOf(n.input(0))) + ", not 2 or more");
  Expr k = 0;
  if (n.hasInput(1)) {
    auto given = n.exprs(1);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.invalid("k is not one number");
    k = given->front();
  }
  return SmallVector<Value>{makeTrilu(n, n.input(0), n.intAttr("upper", 1) != 0, k)};
}

/// Ones of which both triangles beside the diagonal are gone.
static FailureOr<SmallVector<Value>> importEyeLike(NodeImporter &n) {
  Type type = elementTypeOf(n.input(0));
  if (auto number = n.intAttr("dtype"))
    type = elementTypeOfOnnx(n.b.getContext(), *number);
  if (!type)
    return n.refuse("dtype " + Twine(n.intAttr("dtype", 0)),
                    "float, integer and bool types of 8 to 64 bits");
  if (rankOf(n.input(0)) != 2)
    return n.invalid("the input has rank " + Twine(rankOf(n.input(0))) + ", not 2");
  Expr k = n.intAttr("k", 0);
  Value ones = n.broadcastTo(n.scalar(type, 1), shapeOf(n.input(0)));
  return SmallVector<Value>{makeTrilu(n, makeTrilu(n, ones, true, k), false, k)};
}

namespace kiln {
void registerTriluImporters(ImportTable &table);
} // namespace kiln

void kiln::registerTriluImporters(ImportTable &table) {
  table.add("Trilu", 14, importTrilu);
  table.add("EyeLike", 9, importEyeLike);
}
