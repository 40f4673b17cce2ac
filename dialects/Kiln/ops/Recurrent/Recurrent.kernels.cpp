//===- Recurrent.kernels.cpp - Recurrent layers over time, kernels --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Recurrent/Recurrent.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/Num.h"

using namespace mlir;
using namespace kiln;

/// Batch entries that go through the weights together: each vector of weights
/// is loaded once for all of them.
static constexpr int64_t entriesAtOnce = 4;
/// Vectors that a matrix product accumulates at once.
static constexpr int64_t accumulators = 8;

static Num relu(const Num &x) { return atLeast(x, 0); }

static Num activate(const RecurrentShape::Function &f, const Num &x) {
  auto tanh = [](const Num &y) { return y.apply<math::TanhOp>(); };
  switch (f.kind) {
  case Activation::Relu:
    return relu(x);
  case Activation::Tanh:
    return tanh(x);
  case Activation::Sigmoid:
    return 1.0 / (1.0 + (-x).apply<math::ExpOp>());
  case Activation::Affine:
    return x * f.alpha + f.beta;
  case Activation::LeakyRelu:
    return (x < 0.0).select(x * f.alpha, x);
  case Activation::ThresholdedRelu:
    return (x < f.alpha).select(x.constant(0), x);
  case Activation::ScaledTanh:
    return tanh(x * f.beta) * f.alpha;
  case Activation::HardSigmoid:
    return atMost(relu(x * f.alpha + f.beta), 1);
  case Activation::Elu:
    return (x < 0.0).select(x.apply<math::ExpM1Op>() * f.alpha, x);
  case Activation::Softsign:
    return x / (x.abs() + 1.0);
  case Activation::Softplus:
    return relu(x) + (-x.abs()).apply<math::ExpOp>().apply<math::Log1pOp>();
  }
  llvm_unreachable("all activations are handled");
}

namespace {
/// Emits the kernel of a recurrent op. A unit is one direction of some batch
/// entries; it is serial in time. State and gates live in scratch memory.
class Recurrence {
public:
  /// Gates are numbered as ONNX does; GRU's reset state is one more.
  template <typename OpTy>
  Recurrence(KernelBuilder &k, OpTy op, int64_t gates)
      : k(k), op(op), shape(op), gates(gates), x(op.getX()), r(op.getR()), lengths(op.getLengths()),
        initialH(op.getInitialH()), clip(op.getClip() ? op.getClip()->convertToDouble() : 0),
        type(elementTypeOf(x)) {}

  enum class Start { Input, Zero };
  using Units = function_ref<void(ElementBuilder &e, size_t entry, Value j)>;

  /// `step` updates h (and c) of the entries at hand from the input at `t`.
  /// `initialC`, where there is a cell state, may be null.
  void emit(bool hasCell, Value initialC, int64_t buffers, function_ref<void()> step);

  /// Gates [from, to) of all entries: `state` times R, and the input or not.
  void multiply(const Buffer &state, int64_t from, int64_t to, Start start);
  /// Calls `body` for all hidden units of all entries, in lanes.
  void eachUnit(Units body);

  Value load(ElementBuilder &e, const Buffer &buffer, size_t entry, Value j) {
    return e.load(buffer, {k.index(static_cast<int64_t>(entry)), j});
  }
  void store(ElementBuilder &e, Value value, const Buffer &buffer, size_t entry, Value j) {
    e.store(value, buffer, {k.index(static_cast<int64_t>(entry)), j});
  }
  Num gate(ElementBuilder &e, int64_t which, size_t entry, Value j) {
    return num(load(e, gateBuffer, entry, e.add(k.index(which * shape.hidden), j)));
  }
  /// The input's part of a gate at this step.
  Num input(ElementBuilder &e, int64_t which, size_t entry, Value j) {
    return num(at(e, x, {time, batch[entry], inputColumn(e, which * shape.hidden, j)}));
  }
  /// An element of [directions, ...] for hidden unit j.
  Num perUnit(ElementBuilder &e, Value tensor, int64_t offset, Value j) {
    return num(at(e, tensor, {direction, e.add(k.index(offset), j)}));
  }
  /// Function `i` of the direction, after clipping.
  Num apply(ElementBuilder &e, size_t i, Num value);
  Num num(Value value) { return Num(k.b, k.loc, value); }
  /// An element in all lanes, even of a constant that is the same everywhere.
  Value at(ElementBuilder &e, Value tensor, ArrayRef<Value> index) {
    return e.splat(e.element(tensor, index));
  }

  KernelBuilder &k;
  Operation *op;
  RecurrentShape shape;
  Buffer h, c, gateBuffer, reset;

private:
  Value inputColumn(ElementBuilder &e, int64_t offset, Value j) {
    Value column = e.add(k.index(offset), j);
    if (shape.directions == 1)
      return column;
    Value first = arith::MulIOp::create(k.b, k.loc, direction, k.index(gates * shape.hidden));
    return e.add(first, column);
  }
  Buffer stateBuffer(int64_t width);
  void overTime(bool hasCell, Value initialC, function_ref<void()> step);

  int64_t gates;
  Value x, r, lengths, initialH;
  double clip;
  Type type;
  /// Of the unit and step at hand.
  Value direction, time;
  SmallVector<Value> batch;
  int64_t atOnce = 1;
};
} // namespace

Num Recurrence::apply(ElementBuilder &e, size_t i, Num value) {
  if (clip > 0)
    value = atMost(atLeast(value, -clip), clip);
  const RecurrentShape::Function &first = shape.function(0, i);
  if (shape.directions == 1 || first == shape.function(1, i))
    return activate(first, value);
  Value backward =
      arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, direction, k.index(1));
  return num(e.branch(
      backward, [&] { return activate(shape.function(1, i), value).value; },
      [&] { return activate(first, value).value; }));
}

void Recurrence::multiply(const Buffer &state, int64_t from, int64_t to, Start start) {
  int64_t perGate = shape.hidden / shape.columns;
  auto entries = static_cast<int64_t>(batch.size());
  int64_t vectors = k.target.isDevice ? 1 : std::max<int64_t>(accumulators / entries, 1);
  int64_t width = vectors * k.target.lanes(type);
  while (width > 1 && width > shape.columns)
    width /= 2;
  k.loop(k.index(from * perGate), k.index(to * perGate), 1, [&](Value panel) {
    Value first = arith::MulIOp::create(k.b, k.loc, panel, k.index(shape.columns));
    k.vectorLoop(k.index(0), k.index(shape.columns), width, [&](ElementBuilder &e, Value column) {
      Value j = e.add(first, column);
      SmallVector<Value> sums;
      for (Value entry : batch)
        sums.push_back(start == Start::Input ? at(e, x, {time, entry, inputColumn(e, 0, j)})
                                             : e.splat(e.constant(type, 0)));
      sums = k.loop(k.index(0), k.index(shape.hidden), 1, sums, [&](Value i, ValueRange carried) {
        Value weights = at(e, r, {direction, panel, i, column});
        SmallVector<Value> next;
        for (auto [entry, sum] : llvm::enumerate(carried)) {
          ElementBuilder scalar = k.elements();
          Value factor = e.splat(load(scalar, state, entry, i));
          next.push_back(math::FmaOp::create(k.b, k.loc, factor, weights, sum));
        }
        return next;
      });
      e.forgetElements();
      for (auto [entry, sum] : llvm::enumerate(sums))
        store(e, sum, gateBuffer, entry, j);
    });
  });
}

void Recurrence::eachUnit(Units body) {
  for (size_t entry = 0; entry < batch.size(); ++entry)
    k.vectorLoop(k.index(0), k.index(shape.hidden), k.target.lanes(type),
                 [&](ElementBuilder &e, Value j) { body(e, entry, j); });
}

Buffer Recurrence::stateBuffer(int64_t width) {
  Expr offset = k.reserveScratch(atOnce * width * (type.getIntOrFloatBitWidth() / 8));
  return {k.scratchBuffer(offset, atOnce * width, type), type, {k.index(atOnce), k.index(width)}};
}

void Recurrence::overTime(bool hasCell, Value initialC, function_ref<void()> step) {
  const Buffer *y = k.resultBufferOf(op->getResult(0));
  Value zero = k.index(0), one = k.index(1), end = k.size(shape.time);
  auto initialize = [&](const Buffer &buffer, Value initial) {
    eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
      Value value =
          initial ? at(e, initial, {direction, batch[entry], j}) : e.splat(e.constant(type, 0));
      store(e, value, buffer, entry, j);
    });
  };
  initialize(h, initialH);
  if (hasCell)
    initialize(c, initialC);
  if (lengths) {
    ElementBuilder e = k.elements();
    Value length = e.toIndex(e.element(lengths, batch[0]), k.b.getI32Type());
    end = arith::MinSIOp::create(k.b, k.loc, arith::MaxSIOp::create(k.b, k.loc, length, zero), end);
  }
  auto storeY = [&](ElementBuilder &e, Value value, size_t entry, Value j) {
    e.store(value, *y, {time, direction, batch[entry], j});
  };
  k.loop(zero, end, 1, [&](Value forward) {
    Value last = arith::SubIOp::create(k.b, k.loc, end, one);
    Value backward = arith::SubIOp::create(k.b, k.loc, last, forward);
    if (shape.directions == 2) {
      Value isBackward =
          arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, direction, one);
      time = arith::SelectOp::create(k.b, k.loc, isBackward, backward, forward);
    } else {
      time = shape.backward(0) ? backward : forward;
    }
    step();
    if (y)
      eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
        storeY(e, load(e, h, entry, j), entry, j);
      });
  });
  // What lies behind an entry's end is zero.
  if (y && lengths)
    k.loop(end, k.size(shape.time), 1, [&](Value t) {
      time = t;
      eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
        storeY(e, e.splat(e.constant(type, 0)), entry, j);
      });
    });
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    if (const Buffer *buffer = k.resultBufferOf(op->getResult(i)))
      eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
        Value value = load(e, i == 1 ? h : c, entry, j);
        e.store(value, *buffer, {direction, batch[entry], j});
      });
}

void Recurrence::emit(bool hasCell, Value initialC, int64_t buffers, function_ref<void()> step) {
  // Entries of different lengths cannot go together.
  auto known = shape.batch.constant();
  atOnce = lengths || (known && *known < entriesAtOnce) ? 1 : entriesAtOnce;
  h = stateBuffer(shape.hidden);
  gateBuffer = stateBuffer(gates * shape.hidden);
  if (hasCell)
    c = stateBuffer(shape.hidden);
  if (buffers)
    reset = stateBuffer(shape.hidden);
  Expr blocks = Expr::ceilDiv(shape.batch, atOnce);
  int64_t products = gates * shape.hidden * shape.hidden;
  k.setUnits(Expr(shape.directions) * blocks,
             shape.time * Expr(atOnce * (products * 20 + gates * shape.hidden * 1500)));
  SmallVector<Value> sizes{k.index(shape.directions), k.size(blocks)};
  Value batchSize = k.size(shape.batch), step4 = k.index(atOnce);
  k.loop(k.begin, k.end, 1, [&](Value unit) {
    Index at = k.elements().delinearize(unit, sizes);
    direction = at[0];
    Value first = arith::MulIOp::create(k.b, k.loc, at[1], step4);
    Value end = arith::MinSIOp::create(k.b, k.loc, arith::AddIOp::create(k.b, k.loc, first, step4),
                                       batchSize);
    if (atOnce == 1) {
      batch = {first};
      return overTime(hasCell, initialC, step);
    }
    // A whole block together, or what is left one by one: a loop of one or no
    // turn, and one for the rest.
    Value length = arith::SubIOp::create(k.b, k.loc, end, first);
    Value whole = arith::DivUIOp::create(k.b, k.loc, length, step4);
    k.loop(k.index(0), whole, 1, [&](Value) {
      batch.clear();
      for (int64_t i = 0; i < atOnce; ++i)
        batch.push_back(arith::AddIOp::create(k.b, k.loc, first, k.index(i)));
      overTime(hasCell, initialC, step);
    });
    Value covered = arith::MulIOp::create(k.b, k.loc, whole, step4);
    Value rest = arith::AddIOp::create(k.b, k.loc, first, covered);
    k.loop(rest, end, 1, [&](Value entry) {
      batch = {entry};
      overTime(hasCell, initialC, step);
    });
  });
}

static LogicalResult rnn(KernelBuilder &k, Operation *anchor) {
  Recurrence layer(k, cast<RnnOp>(anchor), 1);
  layer.emit(/*hasCell=*/false, nullptr, /*buffers=*/0, [&] {
    layer.multiply(layer.h, 0, 1, Recurrence::Start::Input);
    layer.eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
      Num next = layer.apply(e, 0, layer.gate(e, 0, entry, j));
      layer.store(e, next.value, layer.h, entry, j);
    });
  });
  return success();
}

static LogicalResult gru(KernelBuilder &k, Operation *anchor) {
  auto op = cast<GruOp>(anchor);
  bool linear = op.getLinearBeforeReset();
  Recurrence layer(k, op, 3);
  auto bias = [&](ElementBuilder &e, Num value, Value j) {
    return op.getHiddenBias() ? value + layer.perUnit(e, op.getHiddenBias(), 0, j) : value;
  };
  layer.emit(/*hasCell=*/false, nullptr, /*buffers=*/1, [&] {
    layer.multiply(layer.h, 0, 2, Recurrence::Start::Input);
    if (linear) {
      layer.multiply(layer.h, 2, 3, Recurrence::Start::Zero);
    } else {
      layer.eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
        Num r = layer.apply(e, 0, layer.gate(e, 1, entry, j));
        Num h = layer.num(layer.load(e, layer.h, entry, j));
        layer.store(e, (r * h).value, layer.reset, entry, j);
      });
      layer.multiply(layer.reset, 2, 3, Recurrence::Start::Input);
    }
    layer.eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
      Num z = layer.apply(e, 0, layer.gate(e, 0, entry, j));
      Num candidate = bias(e, layer.gate(e, 2, entry, j), j);
      if (linear) {
        Num r = layer.apply(e, 0, layer.gate(e, 1, entry, j));
        candidate = layer.input(e, 2, entry, j) + r * candidate;
      }
      candidate = layer.apply(e, 1, candidate);
      Num h = layer.num(layer.load(e, layer.h, entry, j));
      Num next = (1.0 - z) * candidate + z * h;
      layer.store(e, next.value, layer.h, entry, j);
    });
  });
  return success();
}

static LogicalResult lstm(KernelBuilder &k, Operation *anchor) {
  auto op = cast<LstmOp>(anchor);
  Recurrence layer(k, op, 4);
  int64_t hidden = layer.shape.hidden;
  layer.emit(/*hasCell=*/true, op.getInitialC(), /*buffers=*/0, [&] {
    layer.multiply(layer.h, 0, 4, Recurrence::Start::Input);
    layer.eachUnit([&](ElementBuilder &e, size_t entry, Value j) {
      // Peepholes are ordered i, o, f.
      auto look = [&](int64_t which, const Num &value, const Num &state) {
        return op.getPeephole()
                   ? value + layer.perUnit(e, op.getPeephole(), which * hidden, j) * state
                   : value;
      };
      auto gate = [&](int64_t which) { return layer.gate(e, which, entry, j); };
      Num c = layer.num(layer.load(e, layer.c, entry, j));
      Num input = layer.apply(e, 0, look(0, gate(0), c));
      Num forget = op.getInputForget() ? 1.0 - input : layer.apply(e, 0, look(2, gate(2), c));
      c = forget * c + input * layer.apply(e, 1, gate(3));
      Num output = layer.apply(e, 0, look(1, gate(1), c));
      layer.store(e, c.value, layer.c, entry, j);
      layer.store(e, (output * layer.apply(e, 2, c)).value, layer.h, entry, j);
    });
  });
  return success();
}

namespace kiln {
void registerRecurrentKernels(KernelTable &table);
} // namespace kiln

void kiln::registerRecurrentKernels(KernelTable &table) {
  constexpr bool pulls = false, epilogue = false;
  table.addAnchor<RnnOp>("recurrent", rnn, pulls, epilogue);
  table.addAnchor<GruOp>("recurrent", gru, pulls, epilogue);
  table.addAnchor<LstmOp>("recurrent", lstm, pulls, epilogue);
}
