//===- Resize.import.cpp - Interpolation between elements, import ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Resize/Resize.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Import/ImportTable.h"
#include "kiln/Reference/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

namespace {
/// One Resize, from its operands to the ops that do it.
class ResizeImporter {
public:
  explicit ResizeImporter(NodeImporter &n) : n(n), x(n.input(0)), dims(shapeOf(x)) {}

  FailureOr<SmallVector<Value>> run() {
    if (failed(readModes()) || failed(readAxes()) || failed(readRegion()))
      return failure();
    bool old = n.sinceVersion() < 11;
    Value given = n.opType() == "Upsample" && n.sinceVersion() < 9 ? nullptr
                  : n.hasInput(old ? 1 : 2)                        ? n.input(old ? 1 : 2)
                                                                   : Value();
    // An empty list stands for one that is left out.
    bool hasScales = given && elementCount(shapeOf(given)) != Expr(0);
    bool hasSizes = !old && n.hasInput(3) && elementCount(shapeOf(n.input(3))) != Expr(0);
    if (n.opType() == "Upsample" && n.sinceVersion() < 9) {
      auto scales = n.floatsAttr("scales").value_or(SmallVector<double>());
      if (failed(takeScales(scales)))
        return failure();
    } else if (hasScales == hasSizes) {
      return n.invalid(hasSizes ? "both scales and sizes are given"
                                : "no scales or sizes are given");
    } else if (failed(hasScales ? readScales(given) : readSizes())) {
      return failure();
    }
    for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
      if (dims[axis].isConstant(0) && size.constant().value_or(0) > 0)
        return n.invalid("cannot resize an empty dimension to " + size.str());
      n.requireAtMost(Expr::min(1, size), dims[axis], "a dimension that is resized is not empty");
    }
    return build();
  }

private:
  LogicalResult readModes() {
    bool old = n.sinceVersion() < 11;
    mode = n.stringAttr("mode").value_or("nearest");
    coordinates =
        old ? "asymmetric" : n.stringAttr("coordinate_transformation_mode").value_or("half_pixel");
    rounding = old ? "floor" : n.stringAttr("nearest_mode").value_or("round_prefer_floor");
    policy = n.stringAttr("keep_aspect_ratio_policy").value_or("stretch");
    antialias = n.intAttr("antialias", 0) != 0;
    isCrop = coordinates == "tf_crop_and_resize";
    if (antialias && mode == "nearest")
      return n.invalid("antialias needs mode linear or cubic");
    if (elementTypeOf(x).isInteger(1) && mode != "nearest")
      return n.invalid("mode " + mode + " needs numbers, not booleans");
    return success();
  }

  LogicalResult readAxes() {
    auto rank = static_cast<int64_t>(dims.size());
    for (int64_t axis : n.intsAttr("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)))) {
      auto at = normalizeAxis(axis, rank);
      if (!at || llvm::is_contained(axes, *at))
        return n.invalid("axis " + Twine(axis) + " is out of range or given twice for rank " +
                         Twine(rank));
      axes.push_back(*at);
    }
    return success();
  }

  LogicalResult readRegion() {
    if (!isCrop)
      return success();
    auto count = static_cast<int64_t>(2 * axes.size());
    if (!n.hasInput(1) || shapeOf(n.input(1)) != Shape{count})
      return n.invalid("tf_crop_and_resize needs a roi of " + Twine(count) + " numbers");
    knownRegion = n.constantFloats(n.input(1));
    region = n.cast(n.input(1), n.b.getF64Type());
    return success();
  }

  LogicalResult readScales(Value given) {
    if (shapeOf(given) != Shape{static_cast<int64_t>(axes.size())})
      return n.invalid("scales does not have one number for each of " + Twine(axes.size()) +
                       " axes");
    if (auto known = n.constantFloats(given))
      return takeScales(*known);
    scaleOperand = n.cast(given, n.b.getF64Type());
    scales.assign(axes.size(), 0);
    return sizesOfRun(n.cast(given, n.b.getF32Type()));
  }

  LogicalResult takeScales(ArrayRef<double> known) {
    if (known.size() != axes.size())
      return n.invalid("scales has " + Twine(known.size()) + " numbers for " + Twine(axes.size()) +
                       " axes");
    scales.assign(known.begin(), known.end());
    bool all = true;
    sizes.clear();
    for (auto [i, scale] : llvm::enumerate(scales)) {
      if (!(scale > 0) || !(scale < 1e9))
        return n.invalid("a scale is not a positive number");
      auto size = scaled(i);
      all &= size.has_value();
      sizes.push_back(size.value_or(0));
    }
    if (all)
      return success();
    TensorData data(RankedTensorType::get({static_cast<int64_t>(scales.size())}, n.b.getF32Type()));
    for (auto [i, scale] : llvm::enumerate(scales))
      data.setFloat(static_cast<int64_t>(i), scale);
    if (failed(sizesOfRun(
            n.create(ConstantOp::getOperationName(), {}, {n.attr("value", elementsAttr(data))}))))
      return failure();
    for (size_t i = 0; i < axes.size(); ++i)
      if (auto size = scaled(i))
        sizes[i] = *size;
    return success();
  }

  /// floor(dim * scale), computed in float32 as everywhere; nothing when that is
  /// no formula.
  std::optional<Expr> scaled(size_t i) {
    Expr dim = dims[static_cast<size_t>(axes[i])];
    auto scale = static_cast<float>(scales[i]);
    if (isCrop) {
      if (!knownRegion || !dim.constant())
        return std::nullopt;
      auto extent = static_cast<float>((*knownRegion)[axes.size() + i] - (*knownRegion)[i]);
      return static_cast<int64_t>(std::floor(static_cast<float>(*dim.constant()) * extent * scale));
    }
    if (auto known = dim.constant())
      return static_cast<int64_t>(std::floor(static_cast<float>(*known) * scale));
    // Few bits: the product is exact for any dimension there is.
    for (int64_t divisor = 1; divisor <= 64; divisor *= 2) {
      float dividend = scale * static_cast<float>(divisor);
      if (dividend == std::trunc(dividend) && dividend < 4096)
        return Expr::floorDiv(dim * Expr(static_cast<int64_t>(dividend)), divisor);
    }
    return std::nullopt;
  }

  /// Has the run multiply, and binds the sizes.
  LogicalResult sizesOfRun(Value factors) {
    Shape from;
    for (int64_t axis : axes)
      from.push_back(dims[static_cast<size_t>(axis)]);
    auto count = static_cast<int64_t>(axes.size());
    Type f32 = n.b.getF32Type();
    Value lengths = n.cast(n.create<ExprsOp>({}, {n.exprsNamed("values", from)}), f32);
    if (isCrop) {
      Value bounds = n.cast(region, f32);
      lengths = n.create<MulOp>({lengths, n.create<SubOp>({n.slice(bounds, {count}, {count}),
                                                           n.slice(bounds, {0}, {count})})});
    }
    Value product = n.cast(n.create<MulOp>({lengths, factors}), n.b.getI64Type());
    if (!product)
      return failure();
    sizes = n.bindSizes(product, "resize", "size that the scales ask for");
    return success();
  }

  LogicalResult readSizes() {
    auto asked = n.exprs(3);
    if (failed(asked))
      return failure();
    if (asked->size() != axes.size())
      return n.invalid("sizes has " + Twine(asked->size()) + " numbers for " + Twine(axes.size()) +
                       " axes");
    for (const Expr &size : *asked) {
      if (size.constant().value_or(0) < 0)
        return n.invalid("a size is " + size.str());
      n.requireAtMost(0, size, "sizes of Resize are not negative");
    }
    sizes = *asked;
    scales.assign(axes.size(), 0);
    return policy == "stretch" ? success() : keepAspectRatio();
  }

  /// One scale for all axes: the least or greatest of what they ask for.
  LogicalResult keepAspectRatio() {
    bool least = policy == "not_larger", known = true;
    double scale = least ? HUGE_VAL : 0;
    for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
      const Expr &dim = dims[static_cast<size_t>(axis)];
      ratios.push_back(size);
      ratios.push_back(dim);
      known &= size.constant() && dim.constant().value_or(0) > 0;
      if (!known)
        continue;
      double ratio = static_cast<double>(*size.constant()) / static_cast<double>(*dim.constant());
      scale = least ? std::min(scale, ratio) : std::max(scale, ratio);
    }
    for (auto [i, axis] : llvm::enumerate(axes)) {
      const Expr &dim = dims[static_cast<size_t>(axis)];
      if (known) {
        sizes[i] = static_cast<int64_t>(scale * static_cast<double>(*dim.constant()) + 0.5);
        scales[i] = scale;
        continue;
      }
      // round(min(ratios) * dim) is the least of round(ratio * dim).
      std::optional<Expr> best;
      for (size_t pair = 0; pair < ratios.size(); pair += 2) {
        const Expr &size = ratios[pair], &divisor = ratios[pair + 1];
        Expr rounded = Expr::floorDiv(Expr(2) * size * dim + divisor, Expr(2) * divisor);
        best = !best ? rounded : least ? Expr::min(*best, rounded) : Expr::max(*best, rounded);
      }
      sizes[i] = *best;
    }
    if (known) {
      ratios.clear();
      policy = "stretch";
    }
    return success();
  }

  /// Nothing happens along an axis whose scale is 1.
  bool isIdentity(size_t i) {
    if (scaleOperand || coordinates == "tf_half_pixel_for_nn" || policy != "stretch" ||
        sizes[i] != dims[static_cast<size_t>(axes[i])])
      return false;
    if (isCrop && !(knownRegion && (*knownRegion)[i] == 0 && (*knownRegion)[axes.size() + i] == 1))
      return false;
    return scales[i] == 0 || scales[i] == 1;
  }

  bool shrinks(size_t i) {
    auto from = dims[static_cast<size_t>(axes[i])].constant(), to = sizes[i].constant();
    return from && to ? *to < *from : scales[i] != 0 && scales[i] < 1;
  }

  FailureOr<SmallVector<Value>> build() {
    SmallVector<size_t> some;
    for (size_t i = 0; i < axes.size(); ++i)
      if (!isIdentity(i))
        some.push_back(i);
    Type type = elementTypeOf(x);
    if (some.empty())
      return SmallVector<Value>{x};
    // Elements that are moved, and integers, which round once, take one op.
    if (mode == "nearest" || !isa<FloatType>(type))
      return SmallVector<Value>{make(x, some)};
    // Weights are products of one factor an axis: axes are resampled one after
    // the other. What shrinks comes first, then the innermost axis, whose lanes
    // read scattered elements: while there are few.
    llvm::sort(some, [&](size_t i, size_t j) {
      if (shrinks(i) != shrinks(j))
        return shrinks(i);
      return shrinks(i) ? axes[i] < axes[j] : axes[i] > axes[j];
    });
    bool widen = some.size() > 1 && type.getIntOrFloatBitWidth() < 32;
    Value y = widen ? n.cast(x, n.b.getF32Type()) : x;
    for (size_t i : some)
      y = make(y, i);
    return SmallVector<Value>{n.cast(y, type)};
  }

  /// Numbers of some axes from an operand that has one for each.
  Value pick(Value all, ArrayRef<size_t> some, int64_t offset) {
    SmallVector<Value> parts;
    for (size_t i : some)
      parts.push_back(n.slice(all, {static_cast<int64_t>(i) + offset}, {1}));
    return parts.size() == 1 ? parts[0] : n.create<ConcatOp>(parts, {n.attr("axis", 0)});
  }

  Value make(Value value, ArrayRef<size_t> some) {
    SmallVector<Value> operands{value};
    auto count = static_cast<int64_t>(axes.size());
    if (scaleOperand)
      operands.push_back(pick(scaleOperand, some, 0));
    if (isCrop)
      operands.push_back(n.create<ConcatOp>({pick(region, some, 0), pick(region, some, count)},
                                            {n.attr("axis", 0)}));
    SmallVector<int64_t> someAxes;
    SmallVector<double> someScales;
    Shape someSizes;
    for (size_t i : some) {
      someAxes.push_back(axes[i]);
      someScales.push_back(scales[i]);
      someSizes.push_back(sizes[i]);
    }
    SmallVector<NamedAttribute> attributes{n.attr("axes", someAxes),
                                           n.exprsNamed("sizes", someSizes),
                                           n.attr("scales", n.b.getDenseF64ArrayAttr(someScales)),
                                           n.stringNamed("mode", mode),
                                           n.stringNamed("coordinates", coordinates),
                                           n.stringNamed("policy", policy)};
    if (mode == "nearest")
      attributes.push_back(n.stringNamed("rounding", rounding));
    if (mode == "cubic")
      attributes.push_back(n.floatNamed("cubic", n.floatAttr("cubic_coeff_a", -0.75)));
    if (mode != "nearest") {
      attributes.push_back(n.boolNamed("exclude_outside", n.intAttr("exclude_outside", 0) != 0));
      attributes.push_back(n.boolNamed("antialias", antialias));
    }
    if (isCrop)
      attributes.push_back(n.floatNamed("extrapolation", n.floatAttr("extrapolation_value", 0)));
    if (!ratios.empty())
      attributes.push_back(n.exprsNamed("ratios", ratios));
    return n.create<ResizeOp>(operands, attributes);
  }

  NodeImporter &n;
  Value x;
  Shape dims;
  StringRef mode, coordinates, rounding, policy;
  bool antialias = false, isCrop = false;
  SmallVector<int64_t> axes;
  /// Of each axis in `axes`: the new size, and the scale or 0.
  Shape sizes, ratios;
  SmallVector<double> scales;
  std::optional<SmallVector<double>> knownRegion;
  Value scaleOperand, region;
};
} // namespace

static FailureOr<SmallVector<Value>> importResize(NodeImporter &n) {
  return ResizeImporter(n).run();
}

namespace kiln {
void registerResizeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerResizeImporters(ImportTable &table) {
  table.add("Resize", 10, importResize);
  table.add("Upsample", 7, importResize);
}
