//===- Transpose.import.cpp - Permutation of axes, import -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Without perm the axes are reversed.
static FailureOr<SmallVector<Value>> importTranspose(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  SmallVector<int64_t> permutation = n.intsAttr("perm").value_or(SmallVector<int64_t>());
  if (!n.intsAttr("perm"))
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  return SmallVector<Value>{n.transpose(n.input(0), permutation)};
}

/// The block size of an image operand [n, c, h, w].
static FailureOr<Expr> blockOf(NodeImporter &n) {
  int64_t block = n.intAttr("blocksize", 0);
  if (block < 1 || rankOf(n.input(0)) != 4)
    return n.invalid("blocksize " + Twine(block) + " for an input of rank " +
                     Twine(rankOf(n.input(0))));
  return Expr(block);
}

/// dim / by, which must come out exactly.
static FailureOr<Expr> divide(NodeImporter &n, const Expr &dim, const Expr &by) {
  if (dim.constant() && *dim.constant() % *by.constant() != 0)
    return n.invalid("a dimension of " + dim.str() + " does not divide by " + by.str());
  Expr quotient = Expr::floorDiv(dim, by);
  n.require(quotient * by, dim, "a dimension divides by " + by.str());
  return quotient;
}

/// The order inside a channel: depth outside the places of a block (CRD), or
/// inside (DCR).
static FailureOr<bool> depthIsOutside(NodeImporter &n) {
  StringRef mode = n.stringAttr("mode").value_or("DCR");
  if (mode != "DCR" && mode != "CRD")
    return n.invalid("unknown mode '" + mode + "'");
  return mode == "CRD";
}

/// Channels become blocks of pixels.
static FailureOr<SmallVector<Value>> importDepthToSpace(NodeImporter &n) {
  auto block = blockOf(n);
  auto outside = depthIsOutside(n);
  if (failed(block) || failed(outside))
    return failure();
  Shape x = shapeOf(n.input(0));
  Expr b = *block;
  auto depth = divide(n, x[1], b * b);
  if (failed(depth))
    return failure();
  Value y = *outside ? n.transpose(n.reshape(n.input(0), {x[0], *depth, b, b, x[2], x[3]}),
                                   {0, 1, 4, 2, 5, 3})
                     : n.transpose(n.reshape(n.input(0), {x[0], b, b, *depth, x[2], x[3]}),
                                   {0, 3, 4, 1, 5, 2});
  return SmallVector<Value>{n.reshape(y, {x[0], *depth, x[2] * b, x[3] * b})};
}

static FailureOr<SmallVector<Value>> importSpaceToDepth(NodeImporter &n) {
  auto block = blockOf(n);
  auto outside = depthIsOutside(n);
  if (failed(block) || failed(outside))
    return failure();
  Shape x = shapeOf(n.input(0));
  Expr b = *block;
  auto rows = divide(n, x[2], b), columns = divide(n, x[3], b);
  if (failed(rows) || failed(columns))
    return failure();
  SmallVector<int64_t> order =
      *outside ? SmallVector<int64_t>{0, 1, 3, 5, 2, 4} : SmallVector<int64_t>{0, 3, 5, 1, 2, 4};
  Value y = n.transpose(n.reshape(n.input(0), {x[0], x[1], *rows, b, *columns, b}), order);
  return SmallVector<Value>{n.reshape(y, {x[0], x[1] * b * b, *rows, *columns})};
}

namespace kiln {
void registerTransposeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerTransposeImporters(ImportTable &table) {
  table.add("Transpose", 1, importTranspose);
  table.add("DepthToSpace", 1, importDepthToSpace);
  table.add("SpaceToDepth", 1, importSpaceToDepth);
}
