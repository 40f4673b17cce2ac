//===- Uses.cpp - Constraints on readers and identity ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Natives.h"

using namespace mlir;
using namespace kiln;

namespace kiln {
void registerUsesNatives(NativeTable &table);
} // namespace kiln

void kiln::registerUsesNatives(NativeTable &table) {
  table.constraint("SingleUse", {"value"}, "`value` is read once.",
                   [](Value value) { return value.hasOneUse(); });
  table.constraint(
      "OneReader", {"value"}, "One op reads `value`, maybe several times, as x * sigmoid(x) does.",
      [](Value value) { return !value.use_empty() && llvm::all_equal(value.getUsers()); });
  table.constraint("NotBoundAbove", {"value"},
                   "No kiln.min reads `value`: it is no half of a Clip.", [](Value value) {
                     return llvm::none_of(value.getUsers(), [](Operation *user) {
                       return user->getName().getStringRef() == "kiln.min";
                     });
                   });
  table.constraint("Same", {"a", "b"}, "`a` and `b` are one value.",
                   [](Value a, Value b) { return a == b; });
  table.constraint("Distinct", {"a", "b"},
                   "`a` and `b` are two ops: PDL may bind two variables to one.",
                   [](Operation *a, Operation *b) { return a != b; });
  table.constraint("OneOf", {"op", "names"},
                   "The name of `op` is in an array: OneOf(o, attr<\"[\\\"kiln.exp\\\", ...]\">).",
                   [](Operation *op, Attribute names) {
                     auto array = dyn_cast<ArrayAttr>(names);
                     return array && llvm::any_of(array, [&](Attribute name) {
                              auto text = dyn_cast<StringAttr>(name);
                              return text && text == op->getName().getStringRef();
                            });
                   });
}
