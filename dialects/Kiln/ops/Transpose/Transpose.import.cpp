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

namespace kiln {
void registerTransposeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerTransposeImporters(ImportTable &table) {
  table.add("Transpose", 1, importTranspose);
}
