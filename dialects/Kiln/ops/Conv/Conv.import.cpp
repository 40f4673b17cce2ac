//===- Conv.import.cpp - Convolutions, import -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Import/ImportTable.h"

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

static FailureOr<Window> readWindow(NodeImporter &n) {
  Value x = n.input(0), w = n.input(1);
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
    if (window.strides[d] <= 0 || window.dilations[d] <= 0)
      return n.invalid("strides and dilations of " + n.opType() + " must be positive");
    window.extents.push_back((*size - 1) * window.dilations[d] + 1);
  }
  if (window.group <= 0)
    return n.invalid("group of " + n.opType() + " must be positive");
  window.pads.assign(2 * spatial, Expr(0));
  if (window.autoPad == "NOTSET")
    llvm::copy(pads, window.pads.begin());
  return window;
}

/// Adds a bias of one element a channel.
static Value addBias(NodeImporter &n, Value y, unsigned input) {
  if (!y || !n.hasInput(input))
    return y;
  Shape shape(static_cast<size_t>(rankOf(y)) - 1, Expr(1));
  shape[0] = shapeOf(y)[1];
  return n.create<AddOp>({y, n.reshape(n.input(input), shape)});
}

/// The run must see the channels that the weights were made for.
static void requireChannels(NodeImporter &n, const Expr &channels, const Expr &wanted) {
  if (channels != wanted && !(channels.constant() && wanted.constant()))
    n.require(channels, wanted,
              "the channels of " + n.opType() + "'s input are those of its weights");
}

static FailureOr<SmallVector<Value>> importConv(NodeImporter &n) {
  auto window = readWindow(n);
  if (failed(window))
    return failure();
  Shape x = shapeOf(n.input(0)), w = shapeOf(n.input(1));
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
  Value y =
      n.create<ConvOp>({n.input(0), n.input(1)},
                       {n.attr("strides", window->strides), n.attr("dilations", window->dilations),
                        n.exprsNamed("pads", window->pads), n.attr("group", window->group)});
  return SmallVector<Value>{addBias(n, y, 2)};
}

/// `output_shape` and SAME decide the pads; the odd one goes where auto_pad says.
static FailureOr<SmallVector<Value>> importConvTranspose(NodeImporter &n) {
  auto window = readWindow(n);
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
  return SmallVector<Value>{addBias(n, y, 2)};
}

namespace kiln {
void registerConvImporters(ImportTable &table);
} // namespace kiln

void kiln::registerConvImporters(ImportTable &table) {
  table.add("Conv", 1, importConv);
  table.add("ConvTranspose", 1, importConvTranspose);
}
