//===- Weights.h - The bytes of the weights section -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PIPELINE_WEIGHTS_H
#define KILN_LIB_PIPELINE_WEIGHTS_H

#include "kiln/Codegen/KernelTable.h"
#include "kiln/Target/Link/Artefact.h"
#include "kiln/Target/Link/ModelHeader.h"
#include "kiln/Target/Program/Program.h"

namespace kiln {

/// Packs every weight of the plans and decides where it lies; plans share equal
/// ones, and those of the first lie first. Sets weightsSize. Segments own what
/// they point to.
std::vector<WeightSegment> collectWeights(llvm::ArrayRef<ProgramLayout *> layouts,
                                          const KernelTable &kernels);

ModelHeaderTensor headerTensor(llvm::StringRef name, mlir::Type type);

} // namespace kiln

#endif // KILN_LIB_PIPELINE_WEIGHTS_H
