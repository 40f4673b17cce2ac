//===- StridedInput.cpp - Inputs seen through views -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "dialects/Kiln/IR/StridedView.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

std::optional<StridedInput> contraction::stridedInput(KernelBuilder &k, Value value) {
  StridedView view = stridedView(value);
  auto argument = dyn_cast<BlockArgument>(view.base);
  if (!argument || !k.layouts[argument.getArgNumber()].empty())
    return std::nullopt;
  return StridedInput{&k.inputBuffer(argument.getArgNumber()), std::move(view.strides),
                      std::move(view.offset)};
}
