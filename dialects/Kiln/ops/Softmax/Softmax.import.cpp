//===- Softmax.import.cpp - Softmax and its logarithm, import -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "kiln/Import/OldAxis.h"

using namespace mlir;
using namespace kiln;

namespace kiln {
void registerSoftmaxImporters(ImportTable &table);
} // namespace kiln

void kiln::registerSoftmaxImporters(ImportTable &table) {
  table.add("Softmax", 1, importAlongAxis<SoftmaxOp>);
  table.add("LogSoftmax", 1, importAlongAxis<LogSoftmaxOp>);
}
