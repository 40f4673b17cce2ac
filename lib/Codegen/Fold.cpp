//===- Fold.cpp - Combining elements into one -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Fold.h"
#include <limits>

using namespace mlir;
using namespace kiln;

Value Fold::identity() {
  ElementBuilder e = k.elements();
  if (isa<FloatType>(elementType)) {
    Type wide = elementType.getIntOrFloatBitWidth() < 32 ? k.b.getF32Type() : elementType;
    double infinity = std::numeric_limits<double>::infinity();
    switch (kind) {
    case FoldKind::Sum:
      return e.constant(wide, 0);
    case FoldKind::Prod:
      return e.constant(wide, 1);
    case FoldKind::Max:
      return e.constant(wide, -infinity);
    case FoldKind::Min:
      return e.constant(wide, infinity);
    }
  }
  unsigned bits = elementType.getIntOrFloatBitWidth();
  switch (kind) {
  case FoldKind::Sum:
    return e.intConstant(elementType, 0);
  case FoldKind::Prod:
    return e.intConstant(elementType, 1);
  case FoldKind::Max:
    return e.intConstant(elementType, isUnsigned(elementType) ? 0 : llvm::minIntN(bits));
  case FoldKind::Min:
    return e.intConstant(elementType, isUnsigned(elementType) ? -1 : llvm::maxIntN(bits));
  }
  llvm_unreachable("all kinds are handled");
}

template <typename FloatOp, typename SignedOp, typename UnsignedOp>
static Value pick(KernelBuilder &k, Type elementType, Value a, Value b) {
  if (isa<FloatType>(elementType))
    return FloatOp::create(k.b, k.loc, a, b);
  if (isUnsigned(elementType))
    return UnsignedOp::create(k.b, k.loc, a, b);
  return SignedOp::create(k.b, k.loc, a, b);
}

Value Fold::join(Value a, Value b) {
  switch (kind) {
  case FoldKind::Sum:
    return pick<arith::AddFOp, arith::AddIOp, arith::AddIOp>(k, elementType, a, b);
  case FoldKind::Prod:
    return pick<arith::MulFOp, arith::MulIOp, arith::MulIOp>(k, elementType, a, b);
  case FoldKind::Max:
    return pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(k, elementType, a, b);
  case FoldKind::Min:
    return pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(k, elementType, a, b);
  }
  llvm_unreachable("all kinds are handled");
}
