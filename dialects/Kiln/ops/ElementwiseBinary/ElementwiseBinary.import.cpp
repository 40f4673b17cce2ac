//===- ElementwiseBinary.import.cpp - Ops on two elements, import ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Import/ImportTable.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace kiln;

using Results = FailureOr<SmallVector<Value>>;

static Results one(Value value) {
  if (!value)
    return failure();
  return SmallVector<Value>{value};
}

/// Builds the op; sizes of which only the run knows whether they broadcast are
/// checked there.
template <typename OpTy>
static Value binary(NodeImporter &n, Value a, Value b, ArrayRef<NamedAttribute> attributes = {}) {
  Value y = n.create<OpTy>({a, b}, attributes);
  if (y)
    n.requireBroadcast(a, b);
  return y;
}

/// Opset 7 brought NumPy broadcasting; older forms are not accepted at all.
template <typename OpTy> static Results importBinary(NodeImporter &n) {
  return one(binary<OpTy>(n, n.input(0), n.input(1)));
}

/// An operator that is a kiln op with operands exchanged.
template <typename OpTy> static Results importExchanged(NodeImporter &n) {
  return one(binary<OpTy>(n, n.input(1), n.input(0)));
}

template <typename OpTy> static Value chain(NodeImporter &n) {
  if (n.numInputs() == 0) {
    (void)n.invalid(n.opType() + " needs at least one input");
    return nullptr;
  }
  Value result = n.input(0);
  for (unsigned i = 1; result && i < n.numInputs(); ++i)
    result = binary<OpTy>(n, result, n.input(i));
  return result;
}

template <typename OpTy> static Results importVariadic(NodeImporter &n) {
  return one(chain<OpTy>(n));
}

static Results importMean(NodeImporter &n) {
  Value sum = chain<AddOp>(n);
  if (!sum || n.numInputs() == 1)
    return one(sum);
  return one(n.create<DivOp>({sum, n.scalar(elementTypeOf(sum), n.numInputs())}));
}

/// Until opset 28 floats need fmod = 1, which integers may have too: their
/// result is C's remainder, as ONNX Runtime's is.
static Results importMod(NodeImporter &n) {
  int64_t fmod = n.intAttr("fmod", 0);
  if (fmod != 0 && fmod != 1)
    return n.invalid("Mod's attribute 'fmod' is " + Twine(fmod) + ", must be 0 or 1");
  if (fmod == 0 && n.sinceVersion() < 28 && isa<FloatType>(elementTypeOf(n.input(0))))
    return n.invalid("Mod of floats needs fmod = 1 before opset 28");
  return one(binary<ModOp>(n, n.input(0), n.input(1), {n.boolNamed("truncate", fmod == 1)}));
}

static Results importBitShift(NodeImporter &n) {
  StringRef direction = n.stringAttr("direction").value_or("");
  if (direction != "LEFT" && direction != "RIGHT")
    return n.invalid("BitShift's attribute 'direction' is '" + direction +
                     "', must be 'LEFT' or 'RIGHT'");
  return one(
      binary<ShiftOp>(n, n.input(0), n.input(1), {n.boolNamed("left", direction == "LEFT")}));
}

static Results importPrelu(NodeImporter &n) {
  Value x = n.input(0), slope = n.input(1);
  Value y = n.create<PreluOp>({x, slope});
  if (!y)
    return failure();
  // The op has proved no clash; what depends on sizes the run must check.
  Shape shape = shapeOf(x), both = *broadcastShapes(shape, shapeOf(slope));
  for (size_t i = 0; i < shape.size(); ++i)
    if (both[i] != shape[i])
      n.require(both[i], shape[i], "PRelu's slope broadcasts to dim " + Twine(i) + " of its input");
  return one(y);
}

//===----------------------------------------------------------------------===//
// Clip
//===----------------------------------------------------------------------===//

static Results clip(NodeImporter &n, Value low, Value high) {
  Value x = n.input(0);
  if (low && !(x = n.create<MaxOp>({x, low})))
    return failure();
  // Last, so that it wins when the bounds cross.
  if (high && !(x = n.create<MinOp>({x, high})))
    return failure();
  return one(x);
}

/// Bounds as attributes.
static Results importClip6(NodeImporter &n) {
  Type type = elementTypeOf(n.input(0));
  auto bound = [&](StringRef name) {
    auto value = n.floatAttr(name);
    return value ? n.scalar(type, *value) : Value();
  };
  return clip(n, bound("min"), bound("max"));
}

/// Bounds as optional scalar inputs.
static Results importClip11(NodeImporter &n) {
  Value bounds[2];
  for (unsigned i : {0, 1}) {
    StringRef name = i == 0 ? "min" : "max";
    if (!n.hasInput(1 + i))
      continue;
    Value bound = n.input(1 + i);
    Expr count = elementCount(shapeOf(bound));
    if (count.constant().value_or(1) != 1)
      return n.invalid("Clip's '" + name + "' has " + count.str() + " elements, must be a scalar");
    if (!count.constant())
      n.require(count, 1, "Clip's '" + name + "' is a scalar");
    // Exporters write shape [1] as well; it must not give the result a rank.
    bounds[i] = n.reshape(bound, {});
    if (!bounds[i])
      return failure();
  }
  return clip(n, bounds[0], bounds[1]);
}

namespace kiln {
void registerElementwiseBinaryImporters(ImportTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryImporters(ImportTable &table) {
  table.add("Add", 7, importBinary<AddOp>);
  table.add("And", 7, importBinary<AndOp>);
  table.add("BitShift", 11, importBitShift);
  table.add("BitwiseAnd", 18, importBinary<AndOp>);
  table.add("BitwiseOr", 18, importBinary<OrOp>);
  table.add("BitwiseXor", 18, importBinary<XorOp>);
  table.add("Clip", 6, importClip6);
  table.add("Clip", 11, importClip11);
  table.add("Div", 7, importBinary<DivOp>);
  table.add("Equal", 7, importBinary<EqualOp>);
  table.add("Greater", 7, importExchanged<LessOp>);
  table.add("GreaterOrEqual", 12, importExchanged<LessEqualOp>);
  table.add("Less", 7, importBinary<LessOp>);
  table.add("LessOrEqual", 12, importBinary<LessEqualOp>);
  table.add("Max", 6, importVariadic<MaxOp>);
  table.add("Mean", 6, importMean);
  table.add("Min", 6, importVariadic<MinOp>);
  table.add("Mod", 10, importMod);
  table.add("Mul", 7, importBinary<MulOp>);
  table.add("Or", 7, importBinary<OrOp>);
  table.add("PRelu", 7, importPrelu);
  table.add("Pow", 7, importBinary<PowOp>);
  table.add("Sub", 7, importBinary<SubOp>);
  table.add("Sum", 6, importVariadic<AddOp>);
  table.add("Xor", 7, importBinary<XorOp>);
}
