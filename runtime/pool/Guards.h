//===- Guards.h - Finding writes that went astray ------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In debug mode a block has a line of guard bytes before what its user sees, and
// at least one behind. What is given out is filled with 0xff, which is not a
// number in every float format, so that a read of what was never written shows
// in the result; what is given back is filled with another value, which is
// compared when the block is given out again.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_GUARDS_H
#define KILN_RUNTIME_POOL_GUARDS_H

#include "Support.h"

namespace kiln::rt {

class Guards {
public:
  static constexpr uint64_t kFront = kAlignment;
  /// What a request grows by.
  static constexpr uint64_t kBytes = 2 * kAlignment;

  enum class Finding { Intact, Overrun, Freed, Foreign };

  /// Dresses a block of `size` bytes for a request of `bytes`; the user's part.
  static void *dress(void *block, uint64_t size, uint64_t bytes);
  /// What became of it. `size` is the block's.
  static Finding inspect(const void *memory, uint64_t size);
  /// Poisons it; the block.
  static void *strip(void *memory, uint64_t size);
  /// False: a block that strip() poisoned was written to since. One that never
  /// was in use is fine.
  static bool isUntouched(const void *block, uint64_t size);
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_GUARDS_H
