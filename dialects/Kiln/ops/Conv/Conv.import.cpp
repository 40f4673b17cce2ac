//===- Conv.import.cpp - Convolutions, import -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Pad/Pad.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Import/Quantized.h"

using namespace mlir;
using namespace kiln;

namespace {
/// The attributes that Conv and ConvTranspose share.
struct Window {
  SmallVector<int64_t> strides, dilations;
  /// Elements that the kernel spans.
  Shape extents;
  /// Before each dim, then after each.
  Shape pads;
  int64_t group = 1;
  StringRef autoPad = "NOTSET";
  size_t spatial() const { return strides.size(); }
  bool same() const { return autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER"; }
};
} // namespace

/// Of the node whose input and weights are x and w.
static FailureOr<Window> readWindow(NodeImporter &n, Value x, Value w) {
  if (rankOf(x) != rankOf(w))
    return n.invalid("input 0 of " + n.opType() + " has " + Twine(rankOf(x)) +
                     " dims and its weights (input 1) have " + Twine(rankOf(w)));
  if (rankOf(x) < 3)
    return n.invalid(n.opType() + " needs a batch dim, a channel dim and a spatial dim, not " +
                     Twine(rankOf(x)) + " dims");
  Window window;
  auto spatial = static_cast<size_t>(rankOf(x)) - 2;
  SmallVector<int64_t> ones(spatial, 1);
  window.strides = n.intsAttr("strides").value_or(ones);
  window.dilations = n.intsAttr("dilations").value_or(ones);
  window.group = n.intAttr("group", 1);
  window.autoPad = n.stringAttr("auto_pad").value_or("NOTSET");
  if (window.autoPad.empty())
    window.autoPad = "NOTSET";
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, window.autoPad))
    return n.invalid("auto_pad of " + n.opType() + " is '" + window.autoPad + "'");
  SmallVector<int64_t> pads = n.intsAttr("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  auto kernel = n.intsAttr("kernel_shape");
  if (window.strides.size() != spatial || window.dilations.size() != spatial ||
      pads.size() != 2 * spatial || (kernel && kernel->size() != spatial))
    return n.invalid("strides, dilations, pads or kernel_shape of " + n.opType() +
                     " do not fit the " + Twine(spatial) + " spatial dims of its input");
  Shape weights = shapeOf(w);
  for (size_t d = 0; d < spatial; ++d) {
    auto size = weights[d + 2].constant();
    if (!size)
      return n.refuse("weights of " + n.opType() + " whose kernel size only the run knows",
                      "weights with known kernel dims");
    if (kernel && (*kernel)[d] != *size)
      return n.invalid("kernel_shape of " + n.opType() + " disagrees with its weights in dim " +
                       Twine(d));
    // Their products are sizes, and must not wrap.
    constexpr int64_t most = INT64_C(1) << 31;
    if (window.strides[d] <= 0 || window.dilations[d] <= 0 || window.strides[d] > most ||
        window.dilations[d] > most || std::abs(pads[d] / 2) > most ||
        std::abs(pads[d + spatial] / 2) > most || *size > most)
      return n.invalid("strides and dilations of " + n.opType() +
                       " must be positive, and no attribute beyond " + Twine(most));
    window.extents.push_back((*size - 1) * window.dilations[d] + 1);
  }
  if (window.group <= 0)
    return n.invalid("group of " + n.opType() + " must be positive");
  window.pads.assign(2 * spatial, Expr(0));
  if (window.autoPad == "NOTSET")
    llvm::copy(pads, window.pads.begin());
  return window;
}

/// Adds a bias of one element a channel, if there is one.
static Value addBias(NodeImporter &n, Value y, Value bias) {
  if (!y || !bias)
    return y;
  Shape shape(static_cast<size_t>(rankOf(y)) - 1, Expr(1));
  shape[0] = shapeOf(y)[1];
  return n.create<AddOp>({y, n.reshape(bias, shape)});
}

static Value optionalInput(NodeImporter &n, unsigned i) {
  return n.hasInput(i) ? n.input(i) : nullptr;
}

/// The run must see the channels that the weights were made for.
static void requireChannels(NodeImporter &n, const Expr &channels, const Expr &wanted) {
  if (channels != wanted && !(channels.constant() && wanted.constant()))
    n.require(channels, wanted,
              "the channels of " + n.opType() + "'s input are those of its weights");
}

/// Outputs an image up to which a product of matrices, with the outputs'
/// channels in lanes, beats a convolution, which has pixels there.
static constexpr int64_t fewPixels = 8;
/// Sums and outputs below which a product has too little to do for its packing.
static constexpr int64_t leastDepth = 16;

/// The windows of each image as rows of a matrix times the weights; null when
/// the convolution is of another sort.
static Value asMatMul(NodeImporter &n, const Window &window, Value x, Value weights, Value bias) {
  Shape w = shapeOf(weights), in = shapeOf(x), out;
  Expr depth = w[1];
  int64_t pixels = 1;
  for (size_t d = 0; d < window.spatial(); ++d) {
    Expr padded = in[d + 2] + window.pads[d] + window.pads[d + window.spatial()];
    auto room = (padded - window.extents[d]).constant();
    if (!room || *room < 0)
      return nullptr;
    out.push_back(*room / window.strides[d] + 1);
    pixels *= *out.back().constant();
    if (pixels > fewPixels)
      return nullptr;
    depth = depth * w[d + 2];
  }
  // The convolution says what is wrong with channels that do not fit.
  if (in[1].constant() && in[1] != w[1])
    return nullptr;
  if (window.group != 1 || !depth.constant() || *depth.constant() < leastDepth ||
      !w[0].constant() || *w[0].constant() < leastDepth)
    return nullptr;
  if (!llvm::all_of(window.pads, [](const Expr &pad) { return pad.isConstant(0); })) {
    Shape before(2, 0), after(2, 0);
    before.append(window.pads.begin(), window.pads.begin() + static_cast<ptrdiff_t>(out.size()));
    after.append(window.pads.begin() + static_cast<ptrdiff_t>(out.size()), window.pads.end());
    x = n.create<PadOp>({x, n.scalar(elementTypeOf(x), 0)},
                        {n.exprsNamed("before", before), n.exprsNamed("after", after),
                         n.stringNamed("mode", "constant")});
  }
  SmallVector<Value> rows;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    Shape starts(2, 0), sizes = {in[0], w[1]}, steps(2, 1);
    starts.resize(2 + out.size(), 0);
    int64_t rest = pixel;
    for (size_t d = out.size(); d-- > 0; rest /= *out[d].constant())
      starts[d + 2] = rest % *out[d].constant() * window.strides[d];
    sizes.append(w.begin() + 2, w.end());
    steps.append(window.dilations.begin(), window.dilations.end());
    Value part =
        x && shapeOf(x) == sizes
            ? x
            : n.create<SliceOp>({x}, {n.exprsNamed("starts", starts), n.exprsNamed("sizes", sizes),
                                      n.exprsNamed("steps", steps)});
    rows.push_back(n.reshape(part, {in[0], 1, depth}));
  }
  Value matrix = pixels == 1 ? rows[0] : n.create<ConcatOp>(rows, {n.attr("axis", 1)});
  Value y = n.create<MatMulOp>({matrix, n.transpose(n.reshape(weights, {w[0], depth}), {1, 0})});
  if (bias)
    y = n.create<AddOp>({y, n.reshape(bias, {w[0]})});
  out.insert(out.begin(), {in[0], w[0]});
  // A single pixel lies the same way round.
  return n.reshape(pixels == 1 ? y : n.transpose(y, {0, 2, 1}), out);
}

/// A convolution of two values with the node's attributes, and a bias or none.
static FailureOr<Value> convolution(NodeImporter &n, Value input, Value weights, Value bias) {
  auto window = readWindow(n, input, weights);
  if (failed(window))
    return failure();
  Shape x = shapeOf(input), w = shapeOf(weights);
  if (window->same())
    for (size_t d = 0; d < window->spatial(); ++d) {
      Expr stride = window->strides[d];
      Expr covered = (Expr::ceilDiv(x[d + 2], stride) - Expr(1)) * stride + window->extents[d];
      Expr total = Expr::max(covered - x[d + 2], 0), half = Expr::floorDiv(total, 2);
      bool upper = window->autoPad == "SAME_UPPER";
      window->pads[d] = upper ? half : total - half;
      window->pads[d + window->spatial()] = upper ? total - half : half;
    }
  for (size_t d = 0; d < window->spatial(); ++d)
    n.requireAtMost(window->extents[d],
                    x[d + 2] + window->pads[d] + window->pads[d + window->spatial()],
                    "kernel of Conv <= spatial axis " + Twine(d) + " with its padding");
  requireChannels(n, x[1], w[1] * Expr(window->group));
  if (Value y = asMatMul(n, *window, input, weights, bias))
    return y;
  Value y = n.create<ConvOp>(
      {input, weights}, {n.attr("strides", window->strides), n.attr("dilations", window->dilations),
                         n.exprsNamed("pads", window->pads), n.attr("group", window->group)});
  y = addBias(n, y, bias);
  if (!y)
    return failure();
  return y;
}

static FailureOr<SmallVector<Value>> importConv(NodeImporter &n) {
  auto y = convolution(n, n.input(0), n.input(1), optionalInput(n, 2));
  if (failed(y))
    return failure();
  return SmallVector<Value>{*y};
}

/// Parameters of the input are one element, those of the weights may be one an
/// output; padding counts as the input's zero point, so it comes after.
static FailureOr<Value> integerConvolution(NodeImporter &n, Value x, Value zeroX, Value w,
                                           Value zeroW, Value bias) {
  auto trailing = static_cast<size_t>(std::max<int64_t>(rankOf(w), 1)) - 1;
  Value input = centered(n, x, alignQuantization(n, zeroX, 0));
  Value weights = centered(n, w, alignQuantization(n, zeroW, trailing));
  if (!input || !weights)
    return failure();
  return convolution(n, input, weights, bias);
}

static FailureOr<SmallVector<Value>> importConvInteger(NodeImporter &n) {
  auto y = integerConvolution(n, n.input(0), optionalInput(n, 2), n.input(1), optionalInput(n, 3),
                              nullptr);
  if (failed(y))
    return failure();
  return SmallVector<Value>{*y};
}

static FailureOr<SmallVector<Value>> importQLinearConv(NodeImporter &n) {
  // The bias is in units of the product of both scales.
  auto sum =
      integerConvolution(n, n.input(0), n.input(2), n.input(3), n.input(5), optionalInput(n, 8));
  if (failed(sum))
    return failure();
  Type real = n.b.getF32Type();
  auto spatial = static_cast<size_t>(rankOf(*sum)) - 2;
  Value scale = n.create<MulOp>({n.cast(alignQuantization(n, n.input(1), 0), real),
                                 n.cast(alignQuantization(n, n.input(4), spatial), real)});
  return SmallVector<Value>{requantized(n, *sum, scale, alignQuantization(n, n.input(6), 0),
                                        alignQuantization(n, n.input(7), 0))};
}

/// `output_shape` and SAME decide the pads; the odd one goes where auto_pad says.
static FailureOr<SmallVector<Value>> importConvTranspose(NodeImporter &n) {
  auto window = readWindow(n, n.input(0), n.input(1));
  if (failed(window))
    return failure();
  size_t spatial = window->spatial();
  Shape x = shapeOf(n.input(0)), w = shapeOf(n.input(1));
  auto padding = n.intsAttr("output_padding").value_or(SmallVector<int64_t>(spatial, 0));
  auto wanted = n.intsAttr("output_shape");
  // Some exporters write batch and channels as well.
  if (wanted && wanted->size() == spatial + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (padding.size() != spatial || (wanted && wanted->size() != spatial))
    return n.invalid("output_padding or output_shape of ConvTranspose does not fit the " +
                     Twine(spatial) + " spatial dims of its input");
  for (size_t d = 0; d < spatial; ++d) {
    Expr stride = window->strides[d];
    Expr whole = (x[d + 2] - Expr(1)) * stride + window->extents[d] + Expr(padding[d]);
    if (!wanted && !window->same()) {
      n.requireAtMost(window->pads[d] + window->pads[d + spatial], whole,
                      "padding of ConvTranspose <= what it would fill of spatial axis " + Twine(d));
      continue;
    }
    Expr total = whole - (wanted ? Expr((*wanted)[d]) : x[d + 2] * stride);
    // An output larger than what the kernel reaches ends in zeros.
    Expr cut = Expr::max(total, 0), half = Expr::floorDiv(cut, 2);
    window->pads[d] = window->autoPad == "SAME_UPPER" ? half : cut - half;
    window->pads[d + spatial] = total - window->pads[d];
  }
  requireChannels(n, x[1], w[0]);
  Value y = n.create<ConvTransposeOp>(
      {n.input(0), n.input(1)},
      {n.attr("strides", window->strides), n.attr("dilations", window->dilations),
       n.exprsNamed("pads", window->pads), n.attr("output_padding", padding),
       n.attr("group", window->group)});
  return SmallVector<Value>{addBias(n, y, optionalInput(n, 2))};
}

namespace kiln {
void registerConvImporters(ImportTable &table);
} // namespace kiln

void kiln::registerConvImporters(ImportTable &table) {
  table.add("Conv", 1, importConv);
  table.add("ConvInteger", 10, importConvInteger);
  table.add("QLinearConv", 10, importQLinearConv);
  table.add("ConvTranspose", 1, importConvTranspose);
}
