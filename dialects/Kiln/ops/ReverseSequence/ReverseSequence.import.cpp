//===- ReverseSequence.import.cpp - Reversed beginnings, import -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importReverseSequence(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0)), lengths = shapeOf(n.input(1));
  int64_t batch = n.intAttr("batch_axis", 1), time = n.intAttr("time_axis", 0);
  if (shape.size() < 2 || std::min(batch, time) != 0 || std::max(batch, time) != 1)
    return n.invalid("batch_axis is " + Twine(batch) + " and time_axis " + Twine(time) +
                     " for rank " + Twine(shape.size()) + ": they are 0 and 1");
  if (lengths.size() != 1)
    return n.invalid("sequence_lens has rank " + Twine(lengths.size()) + ", not 1");
  n.require(lengths[0], shape[static_cast<size_t>(batch)],
            "sequence_lens has one element for each batch");
  n.requireRange(n.input(1), 0, shape[static_cast<size_t>(time)], "element of sequence_lens");
  return SmallVector<Value>{n.create<ReverseSequenceOp>(
      {n.input(0), n.input(1)}, {n.attr("batch_axis", batch), n.attr("time_axis", time)})};
}

namespace kiln {
void registerReverseSequenceImporters(ImportTable &table);
} // namespace kiln

void kiln::registerReverseSequenceImporters(ImportTable &table) {
  table.add("ReverseSequence", 10, importReverseSequence);
}
