//===- Attention.cpp - Scaled dot products and their weights --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

/// Sizes that are known to differ. Others may be equal in every run.
static bool differ(const Expr &a, const Expr &b) {
  return a.constant() && b.constant() && *a.constant() != *b.constant();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value q = adaptor.getQ(), k = adaptor.getK(), v = adaptor.getV(), mask = adaptor.getMask();
  Type type = elementTypeOf(q);
  for (Value operand : {q, k, v})
    if (rankOf(operand) != 4 || elementTypeOf(operand) != type)
      return emitOptionalError(loc, "(C1) q, k and v must have 4 dims and one element type, not ",
                               q.getType(), ", ", k.getType(), " and ", v.getType());
  Shape queries = shapeOf(q), keys = shapeOf(k), values = shapeOf(v);
  if (differ(queries[0], keys[0]) || differ(queries[0], values[0]))
    return emitOptionalError(loc, "(C2) batches differ: ", q.getType(), ", ", k.getType(), " and ",
                             v.getType());
  if (differ(queries[3], keys[3]) || differ(keys[1], values[1]) || differ(keys[2], values[2]))
    return emitOptionalError(loc,
                             "(C3) queries, keys and values do not fit together: ", q.getType(),
                             ", ", k.getType(), " and ", v.getType());
  auto heads = queries[2].constant(), groups = keys[2].constant();
  if (queries[2] != keys[2] && !(heads && groups && *groups > 0 && *heads % *groups == 0))
    return emitOptionalError(loc, "(C4) ", queries[2].str(), " heads for ", keys[2].str(),
                             " groups of keys");
  if (mask) {
    Shape scores{queries[0], queries[2], queries[1], keys[1]};
    auto joined = broadcastShapes(shapeOf(mask), scores);
    if ((!elementTypeOf(mask).isInteger(1) && elementTypeOf(mask) != type) || failed(joined) ||
        *joined != scores)
      return emitOptionalError(loc, "(C5) a mask of type ", mask.getType(), " for scores of ",
                               tensorType(scores, type));
  }
  if (adaptor.getFill() && !(mask && elementTypeOf(mask).isInteger(1)))
    return emitOptionalError(loc, "(C6) fill without a mask of bool");
  if (StringRef how = adaptor.getUndefined(); how != "nan" && how != "zero" && how != "masked-zero")
    return emitOptionalError(loc,
                             "(C7) undefined weights may become nan, zero or masked-zero, "
                             "not ",
                             how);
  types.push_back(tensorType({queries[0], queries[1], queries[2], values[3]}, type));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Attention/Attention.cpp.inc"

namespace kiln {
void registerAttentionOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerAttentionOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Attention/Attention.cpp.inc"
      >();
}
