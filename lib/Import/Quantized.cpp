//===- Quantized.cpp - Sums of products of quantized numbers --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Import/Quantized.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Quantize/Quantize.h"

using namespace mlir;
using namespace kiln;

Value kiln::alignQuantization(NodeImporter &n, Value parameter, size_t trailing) {
  if (!parameter)
    return nullptr;
  Shape shape = shapeOf(parameter);
  if (elementCount(shape).isConstant(1))
    return n.reshape(parameter, {});
  if (shape.size() == 1)
    shape.append(trailing, Expr(1));
  return n.reshape(parameter, shape);
}

Value kiln::centered(NodeImporter &n, Value x, Value zeroPoint) {
  Type wide = n.b.getI32Type();
  Value value = n.cast(x, wide);
  return zeroPoint ? n.create<SubOp>({value, n.cast(zeroPoint, wide)}) : value;
}

Value kiln::requantized(NodeImporter &n, Value sum, Value scale, Value resultScale,
                        Value zeroPoint) {
  if (!scale || !resultScale || !zeroPoint)
    return nullptr;
  Type real = n.b.getF32Type();
  scale = n.cast(scale, real), resultScale = n.cast(resultScale, real);
  // Zero points of their own need a scale of their shape.
  bool single = rankOf(zeroPoint) == 0;
  Value factor = single ? n.create<DivOp>({scale, resultScale}) : scale;
  Value scaled = n.create<MulOp>({n.cast(sum, real), factor});
  return n.create<QuantizeOp>({scaled, single ? n.scalar(real, 1) : resultScale, zeroPoint});
}
