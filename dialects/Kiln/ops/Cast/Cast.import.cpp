//===- Cast.import.cpp - Conversion of element types, import --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

Type kiln::elementTypeOfNumber(MLIRContext *context, int64_t number) {
  Builder b(context);
  auto unsignedType = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (number) {
  case 1:
    return b.getF32Type();
  case 2:
    return unsignedType(8);
  case 3:
    return b.getIntegerType(8);
  case 4:
    return unsignedType(16);
  case 5:
    return b.getIntegerType(16);
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return unsignedType(32);
  case 13:
    return unsignedType(64);
  case 16:
    return b.getBF16Type();
  default:
    return nullptr;
  }
}

static FailureOr<SmallVector<Value>> importCast(NodeImporter &n) {
  int64_t number = n.intAttr("to", 0);
  Type to = elementTypeOfNumber(n.b.getContext(), number);
  if (!to)
    return n.refuse("cast to ONNX element type " + Twine(number),
                    "float, integer and bool types of 8 to 64 bits");
  return SmallVector<Value>{n.cast(n.input(0), to)};
}

static FailureOr<SmallVector<Value>> importCastLike(NodeImporter &n) {
  return SmallVector<Value>{n.cast(n.input(0), elementTypeOf(n.input(1)))};
}

namespace kiln {
void registerCastImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCastImporters(ImportTable &table) {
  table.add("Cast", 6, importCast);
  table.add("CastLike", 15, importCastLike);
}
