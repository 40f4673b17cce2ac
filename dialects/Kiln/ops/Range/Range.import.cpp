//===- Range.import.cpp - Evenly spaced numbers, import -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Range/Range.h"
#include "kiln/Import/ImportTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// The count as a formula where it is one: integers whose step is known.
static std::optional<Expr> symbolicCount(NodeImporter &n) {
  if (isa<FloatType>(elementTypeOf(n.input(0)))) {
    auto start = n.constantFloats(n.input(0)), limit = n.constantFloats(n.input(1)),
         delta = n.constantFloats(n.input(2));
    if (!start || !limit || !delta)
      return std::nullopt;
    double count = std::ceil(((*limit)[0] - (*start)[0]) / (*delta)[0]);
    return count > 0 && count < 1e15 ? Expr(static_cast<int64_t>(count)) : Expr(0);
  }
  auto delta = n.constantInts(n.input(2));
  if (!delta)
    return std::nullopt;
  auto start = n.exprs(0), limit = n.exprs(1);
  if (failed(start) || failed(limit))
    return std::nullopt;
  Expr distance = (*limit)[0] - (*start)[0];
  return (*delta)[0] > 0 ? Expr::max(0, Expr::ceilDiv(distance, (*delta)[0]))
                         : Expr::max(0, Expr::ceilDiv(Expr(0) - distance, -(*delta)[0]));
}

static FailureOr<SmallVector<Value>> importRange(NodeImporter &n) {
  SmallVector<Value> scalars;
  for (unsigned i = 0; i < 3; ++i) {
    Value scalar = n.oneElement(n.input(i), "input " + Twine(i));
    if (!scalar)
      return failure();
    scalars.push_back(n.reshape(scalar, {}));
  }
  if (auto delta = n.constantFloats(n.input(2)); delta && (*delta)[0] == 0)
    return n.invalid("delta is 0");
  auto count = symbolicCount(n);
  if (!count) {
    Value counted = n.create<RangeCountOp>(scalars);
    if (!counted)
      return failure();
    count =
        n.bindSizes(counted, "range", "number of elements, which is -1 when delta is 0").front();
  }
  return SmallVector<Value>{
      n.create<RangeOp>({scalars[0], scalars[2]}, {n.exprsNamed("count", {*count})})};
}

namespace kiln {
void registerRangeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerRangeImporters(ImportTable &table) { table.add("Range", 11, importRange); }
