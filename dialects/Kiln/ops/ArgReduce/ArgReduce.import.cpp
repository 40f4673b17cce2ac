//===- ArgReduce.import.cpp - Where the extreme element is, import --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "kiln/Import/OldAxis.h"

using namespace mlir;
using namespace kiln;

template <typename OpTy> static FailureOr<SmallVector<Value>> importArg(NodeImporter &n) {
  int64_t axis = n.intAttr("axis", 0), rank = rankOf(n.input(0));
  auto at = normalizeAxis(axis, rank);
  if (!at)
    return n.invalid("axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
  return SmallVector<Value>{n.create<OpTy>(
      {n.input(0)}, {n.attr("axis", *at), n.boolNamed("keepdims", n.intAttr("keepdims", 1) != 0),
                     n.boolNamed("select_last", n.intAttr("select_last_index", 0) != 0)})};
}

namespace kiln {
void registerArgReduceImporters(ImportTable &table);
} // namespace kiln

void kiln::registerArgReduceImporters(ImportTable &table) {
  table.add("ArgMax", 1, importArg<ArgMaxOp>);
  table.add("ArgMin", 1, importArg<ArgMinOp>);
  table.add("Hardmax", 1, importAlongAxis<HardmaxOp>);
}
