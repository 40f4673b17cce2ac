//===- Recurrent.import.cpp - Recurrent layers over time, import ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Recurrent/Recurrent.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "kiln/Import/Compose.h"

using namespace mlir;
using namespace kiln;

namespace {
/// What the importers of RNN, GRU and LSTM share.
class Layer {
public:
  Layer(NodeImporter &n, int64_t gates, ArrayRef<StringRef> defaults)
      : n(n), gates(gates), functions(defaults.begin(), defaults.end()) {}

  LogicalResult read();
  /// Input i with layout 0 and in the type that is computed in; null when it is
  /// left out.
  Value state(unsigned i);
  Value lengths() { return n.hasInput(4) ? n.input(4) : nullptr; }
  Value weights(unsigned i) { return n.cast(n.input(i), type); }
  /// The two halves of B, [directions, gates, hidden]: added before and after
  /// the recurrent product.
  std::pair<Value, Value> biases();
  /// x * W + bias, [time, batch, directions * gates * hidden].
  Value project(Value bias);
  /// R transposed and cut into panels.
  Value recurrent();
  /// Builds the op. `optional` come after x and r.
  FailureOr<SmallVector<Value>> build(StringRef opName, Value x, ArrayRef<Value> optional,
                                      ArrayRef<NamedAttribute> more);

  NodeImporter &n;
  int64_t gates, directions = 1, hidden = 0;
  Type type;

private:
  LogicalResult readActivations();
  LogicalResult checkShape(unsigned input, StringRef name, ArrayRef<Expr> shape);

  SmallVector<StringRef> functions;
  bool batchFirst = false;
  Expr time, batch, inputs;
  StringRef direction;
  SmallVector<StringRef> activations;
  SmallVector<double> alpha, beta;
};
} // namespace

LogicalResult Layer::checkShape(unsigned input, StringRef name, ArrayRef<Expr> shape) {
  if (!n.hasInput(input))
    return success();
  Shape given = shapeOf(n.input(input));
  bool fits = given.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = !given[i].constant() || !shape[i].constant() || given[i] == shape[i];
  if (!fits) {
    std::string wanted;
    for (const Expr &dim : shape)
      wanted += (wanted.empty() ? "" : ", ") + dim.str().str();
    return n.invalid(name + " must have shape [" + wanted + "]");
  }
  for (auto [a, b] : llvm::zip(given, shape))
    if (a != b)
      n.require(a, b, name + " fits the other inputs");
  return success();
}

LogicalResult Layer::read() {
  direction = n.stringAttr("direction").value_or("forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return n.invalid("direction is " + direction + ", expected forward, reverse or bidirectional");
  directions = direction == "bidirectional" ? 2 : 1;
  int64_t layout = n.intAttr("layout", 0);
  if (layout != 0 && layout != 1)
    return n.invalid("layout is " + Twine(layout) + ", expected 0 or 1");
  batchFirst = layout == 1;
  Shape x = shapeOf(n.input(0)), r = shapeOf(n.input(2));
  if (x.size() != 3 || r.size() != 3)
    return n.invalid("X has rank " + Twine(x.size()) + " and R rank " + Twine(r.size()) +
                     ", expected 3");
  time = x[batchFirst ? 1 : 0];
  batch = x[batchFirst ? 0 : 1];
  inputs = x[2];
  if (!r[2].constant())
    return n.refuse("the size of the hidden state is not known", "R with a static shape");
  hidden = *r[2].constant();
  if (hidden < 1 || n.intAttr("hidden_size", hidden) != hidden)
    return n.invalid("hidden_size is " + Twine(n.intAttr("hidden_size", hidden)) + " and R has " +
                     Twine(hidden) + " columns");
  type = elementTypeOf(n.input(0));
  if (!type.isF64())
    type = n.b.getF32Type();
  Expr rows = gates * hidden;
  Shape first{directions, batch, hidden};
  if (batchFirst)
    std::swap(first[0], first[1]);
  if (failed(checkShape(1, "W", {directions, rows, inputs})) ||
      failed(checkShape(2, "R", {directions, rows, hidden})) ||
      failed(checkShape(3, "B", {directions, rows * Expr(2)})) ||
      failed(checkShape(4, "sequence_lens", {batch})) ||
      failed(checkShape(5, "initial_h", first)) || failed(checkShape(6, "initial_c", first)) ||
      failed(checkShape(7, "P", {directions, 3 * hidden})))
    return failure();
  if (Value lens = lengths())
    n.requireRange(lens, 0, time, "element of sequence_lens");
  return readActivations();
}

/// Names, and for those that have parameters the next entries of
/// activation_alpha and activation_beta.
LogicalResult Layer::readActivations() {
  SmallVector<std::string> given;
  if (auto names = n.stringsAttr("activations"))
    given.assign(names->begin(), names->end());
  size_t wanted = functions.size() * static_cast<size_t>(directions);
  if (given.empty())
    for (int64_t d = 0; d < directions; ++d)
      given.append(functions.begin(), functions.end());
  if (given.size() != wanted)
    return n.invalid("activations has " + Twine(given.size()) + " entries, expected " +
                     Twine(wanted));
  auto alphas = n.floatsAttr("activation_alpha").value_or(SmallVector<double>()),
       betas = n.floatsAttr("activation_beta").value_or(SmallVector<double>());
  size_t nextAlpha = 0, nextBeta = 0;
  auto take = [](ArrayRef<double> values, size_t &next, double otherwise) {
    return next < values.size() ? values[next++] : otherwise;
  };
  for (const std::string &name : given) {
    auto kind = activationOf(name);
    if (!kind)
      return n.invalid("activation " + Twine(name) + " is not known");
    activations.push_back(StringAttr::get(n.b.getContext(), StringRef(name).lower()).getValue());
    double a = 0, b = 0;
    switch (*kind) {
    case Activation::Affine:
    case Activation::ScaledTanh:
      a = take(alphas, nextAlpha, 1);
      b = take(betas, nextBeta, *kind == Activation::Affine ? 0 : 1);
      break;
    case Activation::HardSigmoid:
      a = take(alphas, nextAlpha, 0.2);
      b = take(betas, nextBeta, 0.5);
      break;
    case Activation::LeakyRelu:
      a = take(alphas, nextAlpha, 0.01);
      break;
    case Activation::ThresholdedRelu:
    case Activation::Elu:
      a = take(alphas, nextAlpha, 1);
      break;
    default:
      break;
    }
    alpha.push_back(a);
    beta.push_back(b);
  }
  return success();
}

Value Layer::state(unsigned i) {
  if (!n.hasInput(i))
    return nullptr;
  Value value = n.cast(n.input(i), type);
  return batchFirst ? n.transpose(value, {1, 0, 2}) : value;
}

std::pair<Value, Value> Layer::biases() {
  if (!n.hasInput(3))
    return {};
  Value b = n.reshape(weights(3), {directions, 2, gates, hidden});
  auto half = [&](int64_t i) {
    return n.reshape(n.slice(b, {0, i, 0, 0}, {directions, 1, gates, hidden}),
                     {directions, gates, hidden});
  };
  return {half(0), half(1)};
}

Value Layer::project(Value bias) {
  Value x = n.cast(n.input(0), type);
  if (batchFirst)
    x = n.transpose(x, {1, 0, 2});
  Expr columns = directions * gates * hidden;
  Value w = n.reshape(weights(1), {columns, inputs});
  Value product = n.create<MatMulOp>({x, w}, {n.boolNamed("trans_b", true)});
  if (!n.hasInput(3))
    return product;
  return n.create<AddOp>({product, n.reshape(bias, {columns})});
}

/// Panels as wide as the vectors that a step has accumulators for, when they
/// do not cross gates.
Value Layer::recurrent() {
  int64_t columns = hidden;
  for (int64_t width : {64, 32, 16, 8})
    if (hidden % width == 0) {
      columns = width;
      break;
    }
  Value r = n.reshape(weights(2), {directions, gates * hidden / columns, columns, hidden});
  return n.transpose(r, {0, 1, 3, 2});
}

FailureOr<SmallVector<Value>> Layer::build(StringRef opName, Value x, ArrayRef<Value> optional,
                                           ArrayRef<NamedAttribute> more) {
  SmallVector<Value> operands{x, recurrent()};
  SmallVector<int32_t> segments{1, 1};
  for (Value operand : optional) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      operands.push_back(operand);
  }
  if (!operands[0] || !operands[1])
    return failure();
  SmallVector<NamedAttribute> attributes(more);
  attributes.append({n.stringNamed("direction", direction),
                     n.attr("activations", n.b.getStrArrayAttr(activations)),
                     n.attr("alpha", n.b.getDenseF64ArrayAttr(alpha)),
                     n.attr("beta", n.b.getDenseF64ArrayAttr(beta)),
                     n.attr("operandSegmentSizes", n.b.getDenseI32ArrayAttr(segments))});
  if (auto clip = n.floatAttr("clip"); clip && *clip > 0)
    attributes.push_back(n.floatNamed("clip", *clip));
  auto op = tryBuild(n.b, n.loc, opName, operands, attributes);
  if (failed(op))
    return failure();
  Type given = elementTypeOf(n.input(0));
  SmallVector<Value> results;
  for (auto [i, result] : llvm::enumerate((*op)->getResults())) {
    Value value = n.cast(result, given);
    if (batchFirst && i == 0)
      value = n.transpose(value, {2, 0, 1, 3});
    else if (batchFirst)
      value = n.transpose(value, {1, 0, 2});
    results.push_back(value);
  }
  results.resize(n.numOutputs());
  return results;
}

static FailureOr<SmallVector<Value>> importRnn(NodeImporter &n) {
  Layer layer(n, 1, {"Tanh"});
  if (failed(layer.read()))
    return failure();
  auto [before, after] = layer.biases();
  Value bias = before ? n.create<AddOp>({before, after}) : nullptr;
  return layer.build(RnnOp::getOperationName(), layer.project(bias),
                     {layer.lengths(), layer.state(5)}, {});
}

static FailureOr<SmallVector<Value>> importGru(NodeImporter &n) {
  Layer layer(n, 3, {"Sigmoid", "Tanh"});
  if (failed(layer.read()))
    return failure();
  bool linear = n.intAttr("linear_before_reset", 0) != 0;
  auto [before, after] = layer.biases();
  Value bias, hiddenBias;
  if (before && !linear) {
    bias = n.create<AddOp>({before, after});
  } else if (before) {
    // The hidden gate's recurrent bias goes through the reset gate.
    auto part = [&](Value value, int64_t from, int64_t count) {
      return n.slice(value, {0, from, 0}, {layer.directions, count, layer.hidden});
    };
    Value both = n.create<AddOp>({part(before, 0, 2), part(after, 0, 2)});
    bias = n.create<ConcatOp>({both, part(before, 2, 1)}, {n.attr("axis", 1)});
    hiddenBias = n.reshape(part(after, 2, 1), {layer.directions, layer.hidden});
  }
  return layer.build(GruOp::getOperationName(), layer.project(bias),
                     {layer.lengths(), layer.state(5), hiddenBias},
                     {n.boolNamed("linear_before_reset", linear)});
}

static FailureOr<SmallVector<Value>> importLstm(NodeImporter &n) {
  Layer layer(n, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (failed(layer.read()))
    return failure();
  auto [before, after] = layer.biases();
  Value bias = before ? n.create<AddOp>({before, after}) : nullptr;
  Value peephole = n.hasInput(7) ? layer.weights(7) : nullptr;
  return layer.build(LstmOp::getOperationName(), layer.project(bias),
                     {layer.lengths(), layer.state(5), layer.state(6), peephole},
                     {n.boolNamed("input_forget", n.intAttr("input_forget", 0) != 0)});
}

namespace kiln {
void registerRecurrentImporters(ImportTable &table);
} // namespace kiln

void kiln::registerRecurrentImporters(ImportTable &table) {
  table.add("RNN", 7, importRnn);
  table.add("GRU", 7, importGru);
  table.add("LSTM", 7, importLstm);
}
