//===- Quantize.import.cpp - Floats as scaled integers, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Quantize/Quantize.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

using Results = FailureOr<SmallVector<Value>>;

namespace {
/// Where scales lie: the axis of blocks, or 0 and no blocks.
struct Granularity {
  int64_t axis = 0, blockSize = 0;
};
} // namespace

/// Whether a parameter has one element, of whatever rank.
static bool isOneElement(Value parameter) { return elementCount(shapeOf(parameter)).isConstant(1); }

/// Gives scale and zero point shapes that broadcast to x. The zero point has
/// scale's shape, which the operator demands.
static FailureOr<Granularity> alignParameters(NodeImporter &n, Value &scale, Value &zero) {
  Value x = n.input(0);
  // One of them has one element, and of the other only the run knows how many.
  if (zero && rankOf(zero) != rankOf(scale)) {
    if (isOneElement(scale) && !elementCount(shapeOf(zero)).constant())
      zero = n.oneElement(zero, "the zero point");
    if (isOneElement(zero) && !elementCount(shapeOf(scale)).constant())
      scale = n.oneElement(scale, "the scale");
  }
  Shape shape = shapeOf(x), scales = shapeOf(scale);
  int64_t blockSize = n.intAttr("block_size", 0), given = n.intAttr("axis", 1);
  if (blockSize < 0)
    return n.invalid("block_size is " + Twine(blockSize) + ", must not be negative");
  if (zero && shapeOf(zero).size() != scales.size() && !(isOneElement(zero) && isOneElement(scale)))
    return n.invalid("the zero point has rank " + Twine(rankOf(zero)) + ", the scale " +
                     Twine(rankOf(scale)) + "; their shapes must be equal");
  if (zero && !isOneElement(zero))
    for (auto [i, dims] : llvm::enumerate(llvm::zip(shapeOf(zero), scales)))
      if (auto [have, want] = dims; have != want)
        n.require(have, want, "dim " + Twine(i) + " of zero point and scale are equal");
  // Per tensor; exporters also write it as one element of rank 1.
  if (isOneElement(scale) && blockSize == 0) {
    scale = n.reshape(scale, {});
    zero = zero ? n.reshape(zero, {}) : zero;
    return Granularity();
  }
  auto axis = normalizeAxis(given, static_cast<int64_t>(shape.size()));
  if (!axis)
    return n.invalid("axis " + Twine(given) + " is out of range for rank " + Twine(shape.size()));
  if (blockSize > 0) {
    if (scales.size() != shape.size())
      return n.invalid("blocks need a scale of rank " + Twine(shape.size()) + ", not " +
                       Twine(scales.size()));
    for (auto [i, dims] : llvm::enumerate(llvm::zip(scales, shape))) {
      auto [have, of] = dims;
      Expr want = static_cast<int64_t>(i) == *axis ? Expr::ceilDiv(of, blockSize) : of;
      if (have != want)
        n.require(have, want,
                  "dim " + Twine(i) + " of the scale fits blocks of " + Twine(blockSize));
    }
    return Granularity{*axis, blockSize};
  }
  if (scales.size() != 1)
    return n.invalid("a scale of rank " + Twine(scales.size()) +
                     " needs block_size; without it the scale is a scalar or has rank 1");
  if (scales[0] != shape[*axis])
    n.require(scales[0], shape[*axis],
              "the scale has an element for each along axis " + Twine(*axis));
  Shape aligned(shape.size() - static_cast<size_t>(*axis), Expr(1));
  aligned[0] = scales[0];
  scale = n.reshape(scale, aligned);
  zero = zero ? n.reshape(zero, aligned) : zero;
  return Granularity();
}

/// The element type of a number in an attribute; null and reported when it is
/// not one of those that `allowed` takes.
static FailureOr<Type> typeAttr(NodeImporter &n, StringRef name, Type otherwise,
                                function_ref<bool(Type)> allowed, StringRef forms) {
  int64_t number = n.intAttr(name, 0);
  if (number == 0)
    return otherwise;
  Type type = elementTypeOfOnnx(n.b.getContext(), number);
  if (!type || !allowed(type))
    return n.refuse(name + " " + Twine(number), forms);
  return type;
}

static bool isFloatType(Type type) { return isa<FloatType>(type) && !isSmallFloat(type); }

/// What QuantizeLinear gives here: integers of 8 and 16 bits.
static constexpr StringLiteral quantizedForms =
    "integers of 2, 4, 8 and 16 bits and floats of 4, 6 and 8 bits but float8e8m0";

static bool isQuantizedType(Type type) {
  return isSmallFloat(type) || (type.isInteger() && type.getIntOrFloatBitWidth() > 1 &&
                                type.getIntOrFloatBitWidth() <= 16);
}

static Results importQuantize(NodeImporter &n) {
  Value x = n.input(0), scale = n.input(1), zero = n.hasInput(2) ? n.input(2) : Value();
  MLIRContext *context = n.b.getContext();
  Type ui8 = IntegerType::get(context, 8, IntegerType::Unsigned);
  auto to = typeAttr(n, "output_dtype", zero ? elementTypeOf(zero) : ui8, isQuantizedType,
                     quantizedForms);
  if (failed(to))
    return failure();
  if (!isQuantizedType(*to))
    return n.refuse("quantization to " + Twine(onnxNumberOf(*to)), quantizedForms);
  if (zero && elementTypeOf(zero) != *to)
    return n.invalid("output_dtype and the zero point have different types");
  // The quotient's type: an integer divided is f32; else the wider one, as in
  // the reference implementation.
  Type scaleType = elementTypeOf(scale), xType = elementTypeOf(x);
  if (!isFloatType(scaleType))
    return n.refuse("an integer scale", "float, float16 and bfloat16");
  Type quotient = scaleType;
  if (isFloatType(xType) && xType != scaleType)
    quotient = n.b.getF32Type();
  auto precision = typeAttr(n, "precision", quotient, isFloatType, "float, float16 and bfloat16");
  if (failed(precision))
    return failure();
  auto granularity = alignParameters(n, scale, zero);
  if (failed(granularity) || !scale)
    return failure();
  if (!zero)
    zero = n.scalar(*to, 0);
  Value y = n.create<QuantizeOp>({n.cast(x, *precision), n.cast(scale, *precision), zero},
                                 {n.attr("axis", granularity->axis),
                                  n.attr("block_size", granularity->blockSize),
                                  n.boolNamed("saturate", n.intAttr("saturate", 1) != 0)});
  if (!y)
    return failure();
  return SmallVector<Value>{y};
}

static Results importDequantize(NodeImporter &n) {
  Value x = n.input(0), scale = n.input(1), zero = n.hasInput(2) ? n.input(2) : Value();
  if (zero && elementTypeOf(zero) != elementTypeOf(x))
    return n.invalid("the zero point has another type than the input");
  auto to =
      typeAttr(n, "output_dtype", elementTypeOf(scale), isFloatType, "float, float16 and bfloat16");
  if (failed(to))
    return failure();
  auto granularity = alignParameters(n, scale, zero);
  if (failed(granularity) || !scale)
    return failure();
  if (!zero)
    zero = n.scalar(elementTypeOf(x), 0);
  Value y = n.create<DequantizeOp>(
      {x, scale, zero}, {n.attr("to", TypeAttr::get(*to)), n.attr("axis", granularity->axis),
                         n.attr("block_size", granularity->blockSize)});
  if (!y)
    return failure();
  return SmallVector<Value>{y};
}

/// The range always holds 0; when it is 0 alone, the scale is 1/255, as in the
/// reference implementation.
static Results importDynamicQuantize(NodeImporter &n) {
  Value x = n.input(0);
  Type f32 = n.b.getF32Type(), ui8 = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  SmallVector<NamedAttribute> all = {n.attr("axes", ArrayRef<int64_t>(axes)),
                                     n.boolNamed("keepdims", false)};
  Value zero = n.scalar(f32, 0), most = n.scalar(f32, 255);
  Value high = n.create<MaxOp>({n.create<ReduceMaxOp>({x}, all), zero});
  Value low = n.create<MinOp>({n.create<ReduceMinOp>({x}, all), zero});
  Value range = n.create<SubOp>({high, low});
  // 1 in place of a range of 0.
  Value isEmpty = n.cast(n.create<EqualOp>({range, zero}), f32);
  Value scale = n.create<DivOp>({n.create<AddOp>({range, isEmpty}), most});
  // low <= 0 <= high: the zero point lies in [0, 255] before it is rounded.
  Value exactZero = n.create<SubOp>({zero, n.create<DivOp>({low, scale})});
  exactZero = n.create<MinOp>({n.create<MaxOp>({exactZero, zero}), most});
  Value zeroPoint = n.cast(n.create<RoundOp>({exactZero}), ui8);
  Value y = n.create<QuantizeOp>({x, scale, zeroPoint});
  if (!y)
    return failure();
  return SmallVector<Value>{y, scale, zeroPoint};
}

namespace kiln {
void registerQuantizeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerQuantizeImporters(ImportTable &table) {
  table.add("DequantizeLinear", 10, importDequantize);
  table.add("DynamicQuantizeLinear", 11, importDynamicQuantize);
  table.add("QuantizeLinear", 10, importQuantize);
}
