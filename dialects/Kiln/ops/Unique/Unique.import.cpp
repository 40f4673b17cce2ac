//===- Unique.import.cpp - Different rows of a matrix, import -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Unique/Unique.h"
#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Rows are the elements, or the slices along `axis`; what is unique is gathered.
static FailureOr<SmallVector<Value>> importUnique(NodeImporter &n) {
  Value x = n.input(0), front = x;
  Shape dims = shapeOf(x), rest;
  int64_t rank = rankOf(x);
  SmallVector<int64_t> order, back;
  if (auto asked = n.intAttr("axis")) {
    auto axis = normalizeAxis(*asked, rank);
    if (!axis)
      return n.invalid("axis " + Twine(*asked) + " is out of range for rank " + Twine(rank));
    order.push_back(*axis);
    for (int64_t i = 0; i < rank; ++i) {
      if (i != *axis) {
        order.push_back(i);
        rest.push_back(dims[static_cast<size_t>(i)]);
      }
      back.push_back(i == *axis ? 0 : i < *axis ? i + 1 : i);
    }
    front = n.transpose(x, order);
    dims = Shape{dims[static_cast<size_t>(*axis)]};
  } else {
    dims = Shape{elementCount(dims)};
  }
  Value rows = n.reshape(front, {dims[0], elementCount(rest)});
  if (!rows)
    return failure();
  auto op =
      tryBuild<UniqueOp>(n.b, n.loc, rows, {n.boolNamed("sorted", n.intAttr("sorted", 1) != 0)});
  if (failed(op))
    return failure();
  Expr count = n.bindSizes(op->getCount(), "unique", "number of different elements").front();
  Value firsts = n.slice(op->getFirsts(), {0}, {count});
  Value y = n.create<GatherOp>({rows, firsts}, {n.attr("axis", 0)});
  Shape shape{count};
  llvm::append_range(shape, rest);
  y = n.reshape(y, shape);
  if (!back.empty() && y)
    y = n.transpose(y, back);
  return SmallVector<Value>{y, firsts, op->getInverse(), n.slice(op->getCounts(), {0}, {count})};
}

namespace kiln {
void registerUniqueImporters(ImportTable &table);
} // namespace kiln

void kiln::registerUniqueImporters(ImportTable &table) { table.add("Unique", 11, importUnique); }
