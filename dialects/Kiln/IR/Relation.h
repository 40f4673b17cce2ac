//===- Relation.h - What a run must find between two numbers ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_RELATION_H
#define KILN_DIALECTS_KILN_IR_RELATION_H

#include "llvm/ADT/StringSwitch.h"
#include <cstdint>
#include <optional>

namespace kiln {

/// a == b; a <= b; a and b broadcast (equal, or one of them 1). They compare the
/// numbers themselves: a difference could wrap, and would not tell a person
/// what the run saw.
enum class Relation { Equal, AtMost, Broadcast };

inline std::optional<Relation> relationNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Relation>>(name)
      .Case("equal", Relation::Equal)
      .Case("at_most", Relation::AtMost)
      .Case("broadcast", Relation::Broadcast)
      .Default(std::nullopt);
}

inline llvm::StringRef nameOf(Relation relation) {
  return relation == Relation::Equal    ? "equal"
         : relation == Relation::AtMost ? "at_most"
                                        : "broadcast";
}

inline bool holds(Relation relation, int64_t a, int64_t b) {
  return a == b || (relation == Relation::AtMost && a < b) ||
         (relation == Relation::Broadcast && (a == 1 || b == 1));
}

} // namespace kiln

#endif // KILN_DIALECTS_KILN_IR_RELATION_H
