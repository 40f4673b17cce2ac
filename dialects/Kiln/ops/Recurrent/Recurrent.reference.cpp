//===- Recurrent.reference.cpp - Recurrent layers over time, reference ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Recurrent/Recurrent.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

static double activate(const RecurrentShape::Function &f, double x) {
  switch (f.kind) {
  case Activation::Relu:
    return x < 0 ? 0 : x;
  case Activation::Tanh:
    return std::tanh(x);
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::Affine:
    return f.alpha * x + f.beta;
  case Activation::LeakyRelu:
    return x < 0 ? f.alpha * x : x;
  case Activation::ThresholdedRelu:
    return x < f.alpha ? 0 : x;
  case Activation::ScaledTanh:
    return f.alpha * std::tanh(f.beta * x);
  case Activation::HardSigmoid:
    return std::min(std::max(f.alpha * x + f.beta, 0.0), 1.0);
  case Activation::Elu:
    return x < 0 ? f.alpha * std::expm1(x) : x;
  case Activation::Softsign:
    return x / (1 + std::abs(x));
  case Activation::Softplus:
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  llvm_unreachable("all activations are handled");
}

namespace {
/// One direction of one batch entry at one step.
class Cell {
public:
  template <typename OpTy>
  Cell(OpTy op, const RecurrentShape &shape, const TensorData &x, const TensorData &r)
      : shape(shape), x(x), r(r), clip(op.getClip() ? op.getClip()->convertToDouble() : 0) {}

  int64_t d = 0, b = 0, t = 0;
  std::vector<double> h;

  int64_t gateCount() const { return shape.panels * shape.columns / shape.hidden; }
  double input(int64_t gate, int64_t j) const {
    int64_t row = (t * x.shape()[1] + b) * shape.directions + d;
    return x.getFloat((row * gateCount() + gate) * shape.hidden + j);
  }
  /// Unit j of `state` times the recurrent weights of a gate.
  double recur(ArrayRef<double> state, int64_t gate, int64_t j) const {
    int64_t column = gate * shape.hidden + j;
    int64_t panel = d * shape.panels + column / shape.columns;
    double sum = 0;
    for (int64_t i = 0; i < shape.hidden; ++i)
      sum += state[static_cast<size_t>(i)] *
             r.getFloat((panel * shape.hidden + i) * shape.columns + column % shape.columns);
    return sum;
  }
  double gate(int64_t gate, int64_t j) const { return input(gate, j) + recur(h, gate, j); }
  double function(size_t i, double value) const {
    if (clip > 0)
      value = std::min(std::max(value, -clip), clip);
    return activate(shape.function(d, i), value);
  }

private:
  const RecurrentShape &shape;
  const TensorData &x, &r;
  double clip;
};

/// Position of a batch entry's first hidden unit in [directions, batch, hidden].
int64_t stateAt(const RecurrentShape &shape, const Cell &cell) {
  return (cell.d * *shape.batch.constant() + cell.b) * shape.hidden;
}
} // namespace

/// Runs `step`, which updates the cell's state, over time. Operands are x, r,
/// and `optional` ones where they exist.
template <typename OpTy>
static void run(OpTy op, ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results,
                function_ref<void(Cell &cell)> begin, function_ref<void(Cell &cell)> step,
                function_ref<void(Cell &cell)> end) {
  RecurrentShape shape(op);
  size_t next = 2;
  const TensorData *lengths = op.getLengths() ? &operands[next++] : nullptr;
  const TensorData *initial = op.getInitialH() ? &operands[next++] : nullptr;
  int64_t time = *shape.time.constant(), batch = *shape.batch.constant(), hidden = shape.hidden;
  Cell cell(op, shape, operands[0], operands[1]);
  for (cell.d = 0; cell.d < shape.directions; ++cell.d)
    for (cell.b = 0; cell.b < batch; ++cell.b) {
      cell.h.assign(static_cast<size_t>(hidden), 0);
      int64_t state = stateAt(shape, cell);
      for (int64_t j = 0; j < hidden && initial; ++j)
        cell.h[static_cast<size_t>(j)] = initial->getFloat(state + j);
      begin(cell);
      int64_t steps = lengths ? std::clamp<int64_t>(lengths->getInt(cell.b), 0, time) : time;
      for (int64_t s = 0; s < steps; ++s) {
        cell.t = shape.backward(cell.d) ? steps - 1 - s : s;
        step(cell);
        int64_t row = (cell.t * shape.directions + cell.d) * batch + cell.b;
        for (int64_t j = 0; j < hidden; ++j)
          results[0].setFloat(row * hidden + j, cell.h[static_cast<size_t>(j)]);
      }
      for (int64_t j = 0; j < hidden; ++j)
        results[1].setFloat(state + j, cell.h[static_cast<size_t>(j)]);
      end(cell);
    }
}

static LogicalResult rnn(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  auto nothing = [](Cell &) {};
  run(
      cast<RnnOp>(op), operands, results, nothing,
      [&](Cell &cell) {
        std::vector<double> next(cell.h.size());
        for (size_t j = 0; j < next.size(); ++j)
          next[j] = cell.function(0, cell.gate(0, static_cast<int64_t>(j)));
        cell.h = next;
      },
      nothing);
  return success();
}

static LogicalResult gru(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  auto node = cast<GruOp>(op);
  const TensorData *bias = node.getHiddenBias() ? &operands.back() : nullptr;
  auto nothing = [](Cell &) {};
  run(
      node, operands, results, nothing,
      [&](Cell &cell) {
        size_t hidden = cell.h.size();
        std::vector<double> z(hidden), r(hidden), reset(hidden), next(hidden);
        for (size_t j = 0; j < hidden; ++j) {
          z[j] = cell.function(0, cell.gate(0, static_cast<int64_t>(j)));
          r[j] = cell.function(0, cell.gate(1, static_cast<int64_t>(j)));
          reset[j] = r[j] * cell.h[j];
        }
        for (size_t i = 0; i < hidden; ++i) {
          auto j = static_cast<int64_t>(i);
          double added = bias ? bias->getFloat(cell.d * static_cast<int64_t>(hidden) + j) : 0;
          double recurrent = node.getLinearBeforeReset() ? r[i] * (cell.recur(cell.h, 2, j) + added)
                                                         : cell.recur(reset, 2, j) + added;
          double candidate = cell.function(1, cell.input(2, j) + recurrent);
          next[i] = (1 - z[i]) * candidate + z[i] * cell.h[i];
        }
        cell.h = next;
      },
      nothing);
  return success();
}

static LogicalResult lstm(Operation *op, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  auto node = cast<LstmOp>(op);
  RecurrentShape shape(node);
  const TensorData *peephole = node.getPeephole() ? &operands.back() : nullptr;
  const TensorData *initial =
      node.getInitialC() ? &operands[operands.size() - (peephole ? 2 : 1)] : nullptr;
  std::vector<double> c;
  run(
      node, operands, results,
      [&](Cell &cell) {
        c.assign(cell.h.size(), 0);
        for (size_t j = 0; j < c.size() && initial; ++j)
          c[j] = initial->getFloat(stateAt(shape, cell) + static_cast<int64_t>(j));
      },
      [&](Cell &cell) {
        std::vector<double> next(cell.h.size());
        for (size_t i = 0; i < next.size(); ++i) {
          auto j = static_cast<int64_t>(i);
          // Peepholes are ordered i, o, f.
          auto look = [&](int64_t which, double state) {
            return peephole ? peephole->getFloat((cell.d * 3 + which) * shape.hidden + j) * state
                            : 0;
          };
          double input = cell.function(0, cell.gate(0, j) + look(0, c[i]));
          double forget =
              node.getInputForget() ? 1 - input : cell.function(0, cell.gate(2, j) + look(2, c[i]));
          c[i] = forget * c[i] + input * cell.function(1, cell.gate(3, j));
          double output = cell.function(0, cell.gate(1, j) + look(1, c[i]));
          next[i] = output * cell.function(2, c[i]);
        }
        cell.h = next;
      },
      [&](Cell &cell) {
        for (size_t j = 0; j < c.size(); ++j)
          results[2].setFloat(stateAt(shape, cell) + static_cast<int64_t>(j), c[j]);
      });
  return success();
}

namespace kiln {
void registerRecurrentReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerRecurrentReferences(ReferenceTable &table) {
  table.add<RnnOp>(rnn);
  table.add<GruOp>(gru);
  table.add<LstmOp>(lstm);
}
