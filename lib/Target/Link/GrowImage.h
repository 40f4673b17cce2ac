//===- GrowImage.h - Room for weights in a linked image ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_GROWIMAGE_H
#define KILN_LIB_TARGET_LINK_GROWIMAGE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace kiln {

/// A file in three parts: `head` at 0, weights at `weightsOffset`, `tail` right
/// behind them. Between head and weights may lie a gap.
struct GrownImage {
  std::string head;
  uint64_t weightsOffset = 0;
  uint64_t weightsSize = 0;
  /// Of a shared object: where the head has the manifest, without its zero byte.
  uint64_t manifestOffset = 0;
  uint64_t manifestSize = 0;
  std::string tail;
};

/// Makes room for `size` bytes in the weights section of a shared object (its
/// last segment grows, the sections that are not loaded move behind) or of a
/// relocatable object. `size` 0 keeps the placeholder.
llvm::Expected<GrownImage> growImage(llvm::StringRef linked, uint64_t size);

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_GROWIMAGE_H
