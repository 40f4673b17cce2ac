//===- WarpModel.h - Arguments of warp-wide operations ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_WARPMODEL_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_WARPMODEL_H

#include "Machine.h"

namespace kiln::cudasim {

struct ShuffleArgs {
  uint64_t value;
  int source;
};
struct VoteArgs {
  uint64_t value;
  int op;
  uint32_t result;
};
struct ReduceArgs {
  uint32_t value;
  int op;
};
struct CollectiveArgs {
  void (*work)(void *const *, unsigned);
};

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_WARPMODEL_H
