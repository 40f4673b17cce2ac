//===- KernelTable.cpp - How ops are computed -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/KernelTable.h"

namespace kiln {
#define KILN_FAMILY(F) void register##F##Kernels(KernelTable &);
#include "dialects/Kiln/ops/Families.kernels.inc"
#undef KILN_FAMILY
} // namespace kiln

void kiln::registerKernels(KernelTable &table) {
#define KILN_FAMILY(F) register##F##Kernels(table);
#include "dialects/Kiln/ops/Families.kernels.inc"
#undef KILN_FAMILY
}
