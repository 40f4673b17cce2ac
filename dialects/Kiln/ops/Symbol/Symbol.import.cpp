//===- Symbol.import.cpp - Ops that make and use symbols, import ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importShape(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  // Since opset 15 start and end clamp rather than fail.
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(n.intAttr("start", 0)), end = clamp(n.intAttr("end", rank));
  return SmallVector<Value>{n.create<ShapeOp>(
      {n.input(0)}, {n.attr("start", start), n.attr("end", std::max(start, end))})};
}

static FailureOr<SmallVector<Value>> importSize(NodeImporter &n) {
  Value count =
      n.create<ExprsOp>({}, {n.exprsNamed("values", {elementCount(shapeOf(n.input(0)))})});
  return SmallVector<Value>{n.reshape(count, {})};
}

namespace kiln {
void registerSymbolImporters(ImportTable &table);
} // namespace kiln

void kiln::registerSymbolImporters(ImportTable &table) {
  table.add("Shape", 1, importShape);
  table.add("Size", 1, importSize);
}
