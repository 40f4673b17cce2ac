//===- Gather.import.cpp - Elements at computed places, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<int64_t> axisOf(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0)), asked = n.intAttr("axis", 0);
  auto axis = normalizeAxis(asked, rank);
  if (!axis)
    return n.invalid("axis " + Twine(asked) + " is out of range for rank " + Twine(rank));
  return *axis;
}

static FailureOr<SmallVector<Value>> importGather(NodeImporter &n) {
  auto axis = axisOf(n);
  if (failed(axis))
    return failure();
  n.requireIndices(n.input(1), shapeOf(n.input(0))[*axis], "index of Gather");
  return SmallVector<Value>{n.create<GatherOp>({n.input(0), n.input(1)}, {n.attr("axis", *axis)})};
}

static FailureOr<SmallVector<Value>> importGatherElements(NodeImporter &n) {
  auto axis = axisOf(n);
  Shape x = shapeOf(n.input(0)), indices = shapeOf(n.input(1));
  if (failed(axis))
    return failure();
  if (x.size() != indices.size())
    return n.invalid("data of rank " + Twine(x.size()) + " and indices of rank " +
                     Twine(indices.size()));
  for (auto [i, have, want] : llvm::enumerate(x, indices))
    if (static_cast<int64_t>(i) != *axis)
      n.requireAtMost(want, have, "indices of GatherElements are no larger than the data");
  n.requireIndices(n.input(1), x[static_cast<size_t>(*axis)], "index of GatherElements");
  return SmallVector<Value>{
      n.create<GatherElementsOp>({n.input(0), n.input(1)}, {n.attr("axis", *axis)})};
}

static FailureOr<SmallVector<Value>> importGatherND(NodeImporter &n) {
  Shape x = shapeOf(n.input(0)), indices = shapeOf(n.input(1));
  int64_t batch = n.intAttr("batch_dims", 0);
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(x.size(), indices.size())))
    return n.invalid("batch_dims is " + Twine(batch) + " for ranks " + Twine(x.size()) + " and " +
                     Twine(indices.size()));
  if (!indices.back().constant())
    return n.refuse("the length of GatherND's index tuples is known at run time only",
                    "a static last dimension of indices");
  auto depth = static_cast<size_t>(*indices.back().constant());
  if (static_cast<size_t>(batch) + depth > x.size())
    return n.invalid("index tuples of " + Twine(depth) + " for data of rank " + Twine(x.size()));
  for (int64_t i = 0; i < batch; ++i)
    n.require(x[i], indices[i], "batch dimensions of GatherND agree");
  n.requireTuples(n.input(1), ArrayRef(x).slice(static_cast<size_t>(batch), depth),
                  "index of GatherND");
  return SmallVector<Value>{
      n.create<GatherNDOp>({n.input(0), n.input(1)}, {n.attr("batch_dims", batch)})};
}

namespace kiln {
void registerGatherImporters(ImportTable &table);
} // namespace kiln

void kiln::registerGatherImporters(ImportTable &table) {
  table.add("Gather", 1, importGather);
  table.add("GatherElements", 11, importGatherElements);
  table.add("GatherND", 11, importGatherND);
}
