//===- Control.import.cpp - Branches and loops, import --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Control/Control.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Import/ImportTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kiln;

using Values = SmallVector<Value>;

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

namespace {
/// A region that may come to nothing.
struct Draft {
  explicit Draft(NodeImporter &n) : n(n) {}
  ~Draft() { n.forget(region); }

  NodeImporter &n;
  Region region;
};

/// One way through a kiln.if while it is built.
struct Branch : Draft {
  Branch(NodeImporter &n, StringRef attribute) : Draft(n), attribute(attribute) {
    region.emplaceBlock();
  }

  StringRef attribute;
  Values values;
};
} // namespace

/// The op over two branches whose values are pairwise of one rank and type.
static FailureOr<Values> makeIf(NodeImporter &n, Value condition, Branch &then, Branch &otherwise) {
  SmallVector<Type> types;
  SmallVector<Attribute> symbols;
  // Sizes that differ in the same way are one symbol.
  std::map<std::pair<std::string, std::string>, Expr> known;
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(then.values, otherwise.values))) {
    auto [first, second] = pair;
    if (elementTypeOf(first) != elementTypeOf(second))
      return n.invalid("output " + Twine(i) + " has two element types");
    if (rankOf(first) != rankOf(second))
      return n.refuse("output " + Twine(i) + " has " + Twine(rankOf(first)) + " or " +
                          Twine(rankOf(second)) + " dimensions, as the run decides",
                      "branches whose results have one rank");
    Shape shape;
    for (const auto &[a, b] : llvm::zip_equal(shapeOf(first), shapeOf(second))) {
      if (a == b) {
        shape.push_back(a);
        continue;
      }
      auto [it, isNew] = known.try_emplace({a.str().str(), b.str().str()});
      if (isNew) {
        it->second = n.freshSize("if");
        symbols.push_back(n.b.getStringAttr(it->second.str()));
      }
      shape.push_back(it->second);
    }
    types.push_back(tensorType(shape, elementTypeOf(first)));
  }
  auto op = IfOp::create(n.b, n.loc, types, condition, n.b.getArrayAttr(symbols));
  for (auto [region, branch] :
       {std::pair(&op.getThenRegion(), &then), std::pair(&op.getElseRegion(), &otherwise)}) {
    region->takeBody(branch->region);
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&region->front());
    YieldOp::create(n.b, n.loc, branch->values);
  }
  return Values(op.getOutputs());
}

/// Goes on behind the node in each branch. Where that breaks a specification
/// no run can take the branch, which is then required.
static FailureOr<Values> importRestInBranches(NodeImporter &n, Value condition, Branch &then,
                                              Branch &otherwise) {
  std::string faults[2];
  for (auto [branch, fault] : {std::pair(&then, &faults[0]), std::pair(&otherwise, &faults[1])}) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&branch->region.front());
    auto rest = n.importRest(branch->values);
    if (failed(rest))
      return failure();
    *fault = rest->fault;
    branch->values = std::move(rest->values);
  }
  if (!faults[0].empty() && !faults[1].empty())
    return n.invalid("whichever branch the run takes, the model is invalid: " + faults[0]);
  if (faults[0].empty() && faults[1].empty()) {
    auto outputs = makeIf(n, condition, then, otherwise);
    if (failed(outputs))
      return failure();
    n.endGraph(*outputs);
    return Values();
  }
  Branch &taken = faults[0].empty() ? then : otherwise;
  Expr isTrue = n.bindSizes(condition, "condition", "the condition").front();
  n.require(isTrue, &taken == &then,
            "the run takes " + taken.attribute + ", for with the other the model is invalid (" +
                (faults[0].empty() ? faults[1] : faults[0]) + ")");
  Block &here = *n.b.getInsertionBlock();
  here.getOperations().splice(n.b.getInsertionPoint(), taken.region.front().getOperations());
  n.endGraph(taken.values);
  return Values();
}

static FailureOr<Values> importIf(NodeImporter &n) {
  Value condition = n.oneElement(n.input(0), "the condition");
  if (!condition)
    return failure();
  if (auto known = n.constantInts(condition))
    return n.importGraph((*known)[0] ? "then_branch" : "else_branch", {});
  condition = n.reshape(condition, {});
  Branch then(n, "then_branch"), otherwise(n, "else_branch");
  bool good = condition != nullptr;
  for (Branch *branch : {&then, &otherwise}) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&branch->region.front());
    auto values = n.importGraph(branch->attribute, {});
    if (succeeded(values))
      branch->values = std::move(*values);
    good &= succeeded(values);
  }
  if (good && llvm::any_of(llvm::zip_equal(then.values, otherwise.values), [](auto pair) {
        return rankOf(std::get<0>(pair)) != rankOf(std::get<1>(pair));
      }))
    return importRestInBranches(n, condition, then, otherwise);
  if (!good)
    return failure();
  return makeIf(n, condition, then, otherwise);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// What a loop's body makes of its carried values.
struct Body {
  /// Null: the loop ends with its trips.
  Value goOn;
  Values next, elements;
};
using BodyFn = function_ref<FailureOr<Body>(Expr iteration, ValueRange carried)>;

class LoopBuilder {
public:
  /// The body may lower `trips`.
  LoopBuilder(NodeImporter &n, const Expr &trips, ValueRange inits, BodyFn makeBody)
      : n(n), trips(trips), inits(inits), makeBody(makeBody) {
    for (Value init : inits)
      shapes.push_back(shapeOf(init));
  }

  /// Carried values at the end, then the stacks.
  FailureOr<Values> run() {
    // A carried size that an iteration may change is known to the run alone. That
    // may show only in what depends on it, so the body is made again.
    do {
      draft = std::make_unique<Draft>(n);
      if (failed(makeOnce()))
        return failure();
    } while (generalise());
    if (!trips.constant() || *trips.constant() != INT64_MAX || body.goOn)
      return finish();
    return n.invalid("the loop never ends");
  }

private:
  LogicalResult makeOnce() {
    Block &block = draft->region.emplaceBlock();
    for (auto [init, shape] : llvm::zip_equal(inits, shapes))
      block.addArgument(tensorType(shape, elementTypeOf(init)), n.loc);
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&block);
    iteration = n.freshSize("iteration");
    auto made = makeBody(iteration, block.getArguments());
    if (failed(made))
      return failure();
    body = std::move(*made);
    if (body.goOn)
      body.goOn = n.reshape(body.goOn, {});
    return checkKinds();
  }

  LogicalResult checkKinds() {
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(inits, body.next))) {
      auto [init, next] = pair;
      if (elementTypeOf(init) != elementTypeOf(next))
        return n.invalid("carried value " + Twine(i) + " changes its element type");
      if (rankOf(init) != rankOf(next))
        return n.refuse("carried value " + Twine(i) + " changes its rank from " +
                            Twine(rankOf(init)) + " to " + Twine(rankOf(next)),
                        "carried values that keep their rank");
    }
    return success();
  }

  Expr newSymbol(StringRef hint) {
    Expr symbol = n.freshSize(hint);
    symbols.push_back(n.b.getStringAttr(symbol.str()));
    return symbol;
  }

  bool isOwn(const Expr &size) const {
    return llvm::is_contained(symbols, n.b.getStringAttr(size.str()));
  }

  bool generalise() {
    bool changed = false;
    for (auto [shape, next] : llvm::zip_equal(shapes, body.next))
      for (auto [size, then] : llvm::zip_equal(shape, shapeOf(next)))
        if (size != then && !isOwn(size)) {
          size = newSymbol("carried");
          changed = true;
        }
    return changed;
  }

  /// Symbols that mean nothing behind the loop.
  llvm::StringSet<> innerSymbols() {
    llvm::StringSet<> inner;
    inner.insert(iteration.str());
    auto addAll = [&](ArrayAttr names) {
      for (StringAttr name : names.getAsRange<StringAttr>())
        inner.insert(name.getValue());
    };
    draft->region.walk([&](Operation *op) {
      if (auto bind = dyn_cast<BindOp>(op))
        addAll(bind.getSymbols());
      if (auto branch = dyn_cast<IfOp>(op))
        addAll(branch.getSymbols());
      if (auto loop = dyn_cast<LoopOp>(op))
        addAll(loop.getSymbols());
    });
    addAll(n.b.getArrayAttr(symbols));
    return inner;
  }

  /// The type of a stack of such elements. All must have the first one's sizes.
  RankedTensorType stackType(Value element, const Expr &count, const llvm::StringSet<> &inner) {
    Shape shape = {count};
    for (const Expr &size : shapeOf(element)) {
      bool isInner = false;
      size.forEachSymbol([&](StringRef name) { isInner |= inner.contains(name); });
      if (!isInner) {
        shape.push_back(size);
        continue;
      }
      Expr first = newSymbol("element");
      n.require((size - first) * Expr::min(1, iteration), 0,
                "every iteration's element of a stack has the size of the first one's");
      shape.push_back(first);
    }
    return tensorType(shape, elementTypeOf(element));
  }

  Values finish() {
    SmallVector<Type> types;
    for (auto [init, shape] : llvm::zip_equal(inits, shapes))
      types.push_back(tensorType(shape, elementTypeOf(init)));
    {
      OpBuilder::InsertionGuard guard(n.b);
      n.b.setInsertionPointToEnd(&draft->region.front());
      llvm::StringSet<> inner = innerSymbols();
      Expr count = trips;
      if (body.goOn && !body.elements.empty())
        count = newSymbol("count");
      for (Value element : body.elements)
        types.push_back(stackType(element, count, inner));
      Values yielded;
      if (body.goOn)
        yielded.push_back(body.goOn);
      llvm::append_range(yielded, body.next);
      llvm::append_range(yielded, body.elements);
      YieldOp::create(n.b, n.loc, yielded);
    }
    auto op = LoopOp::create(n.b, n.loc, types, inits, exprsAttr(n.b.getContext(), {trips}),
                             iteration.str(), body.goOn != nullptr, n.b.getArrayAttr(symbols));
    op.getBody().takeBody(draft->region);
    return Values(op.getOutputs());
  }

  NodeImporter &n;
  const Expr &trips;
  ValueRange inits;
  BodyFn makeBody;
  SmallVector<Shape> shapes;
  SmallVector<Attribute> symbols;
  std::unique_ptr<Draft> draft;
  Expr iteration;
  Body body;
};
} // namespace

static FailureOr<Values> importBody(NodeImporter &n, ArrayRef<Value> inputs) {
  if (llvm::is_contained(inputs, Value()))
    return failure();
  return n.importGraph("body", inputs);
}

static FailureOr<Values> importLoop(NodeImporter &n) {
  Expr trips = INT64_MAX;
  if (n.hasInput(0)) {
    auto given = n.exprs(0);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.invalid("M is not one element");
    trips = Expr::max(0, (*given)[0]);
  }
  if (n.hasInput(1)) {
    Value condition = n.oneElement(n.input(1), "cond");
    if (!condition)
      return failure();
    if (auto known = n.constantInts(condition))
      trips = (*known)[0] ? trips : Expr(0);
    else
      trips = trips * n.bindSizes(condition, "condition", "the condition").front();
  }
  Values inits;
  for (unsigned i = 2; i < n.numInputs(); ++i)
    inits.push_back(n.input(i));
  Expr most = trips;
  auto makeBody = [&](Expr iteration, ValueRange carried) -> FailureOr<Body> {
    Value number = n.create<ExprsOp>({}, {n.exprsNamed("values", {iteration})});
    // The body runs only while the condition holds.
    Values inputs = {n.reshape(number, {}), n.scalar(n.b.getI1Type(), 1)};
    llvm::append_range(inputs, carried);
    auto outputs = importBody(n, inputs);
    if (failed(outputs))
      return failure();
    if (outputs->size() < inits.size() + 1)
      return n.invalid("the body does not yield every carried value");
    ArrayRef<Value> rest = ArrayRef(*outputs).drop_front();
    Value goOn = n.oneElement((*outputs)[0], "the body's condition");
    if (!goOn)
      return failure();
    auto known = n.constantInts(goOn);
    trips = known && !(*known)[0] ? Expr::min(most, 1) : most;
    return Body{known ? Value() : goOn, Values(rest.take_front(inits.size())),
                Values(rest.drop_front(inits.size()))};
  };
  return LoopBuilder(n, trips, inits, makeBody).run();
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {
/// A scan input or output: which axis, and whether from its end.
struct Track {
  int64_t axis;
  bool backward;
};
} // namespace

/// The list of attributes for so many inputs or outputs; `rankAt` gives ranks.
static FailureOr<SmallVector<Track>> readTracks(NodeImporter &n, const std::string &which,
                                                ArrayRef<int64_t> ranks) {
  auto axes = n.intsAttr("scan_" + which + "_axes").value_or(SmallVector<int64_t>(ranks.size(), 0));
  auto directions =
      n.intsAttr("scan_" + which + "_directions").value_or(SmallVector<int64_t>(ranks.size(), 0));
  if (axes.size() != ranks.size() || directions.size() != ranks.size())
    return n.invalid("scan_" + which + "_axes or _directions does not have " + Twine(ranks.size()) +
                     " entries");
  SmallVector<Track> tracks;
  for (auto [axis, direction, rank] : llvm::zip_equal(axes, directions, ranks)) {
    auto at = normalizeAxis(axis, rank);
    if (!at || direction < 0 || direction > 1)
      return n.invalid("scan_" + which + "_axes has " + Twine(axis) + " for rank " + Twine(rank) +
                       ", or a direction is neither 0 nor 1");
    tracks.push_back({*at, direction == 1});
  }
  return tracks;
}

/// A stack as a scan output: its first axis turned round and moved.
static Value placeStack(NodeImporter &n, Value stack, const Track &track) {
  Shape shape = shapeOf(stack);
  if (track.backward) {
    Shape starts(shape.size(), 0), steps(shape.size(), 1);
    starts[0] = shape[0] - Expr(1);
    steps[0] = -1;
    stack =
        n.create<SliceOp>({stack}, {n.exprsNamed("starts", starts), n.exprsNamed("sizes", shape),
                                    n.exprsNamed("steps", steps)});
  }
  if (track.axis == 0)
    return stack;
  SmallVector<int64_t> permutation;
  for (int64_t axis = 1; axis < static_cast<int64_t>(shape.size()); ++axis)
    permutation.push_back(axis);
  permutation.insert(permutation.begin() + track.axis, 0);
  return n.transpose(stack, permutation);
}

static FailureOr<Values> importScan(NodeImporter &n) {
  auto numScans = n.intAttr("num_scan_inputs", 0);
  if (numScans < 1 || numScans > static_cast<int64_t>(n.numInputs()))
    return n.invalid("num_scan_inputs is " + Twine(numScans) + " for " + Twine(n.numInputs()) +
                     " inputs");
  unsigned numStates = n.numInputs() - static_cast<unsigned>(numScans);
  Values states, scans;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    (i < numStates ? states : scans).push_back(n.input(i));
  auto ranksOf = [](ValueRange values) {
    return llvm::map_to_vector(values, [](Value value) { return rankOf(value); });
  };
  auto inTracks = readTracks(n, "input", ranksOf(scans));
  if (failed(inTracks))
    return failure();
  auto lengthOf = [&](size_t i) {
    return shapeOf(scans[i])[static_cast<size_t>((*inTracks)[i].axis)];
  };
  Expr trips = lengthOf(0);
  for (size_t i = 1; i < scans.size(); ++i) {
    auto length = lengthOf(i).constant();
    if (length && trips.constant() && length != trips.constant())
      return n.invalid("scan inputs have " + Twine(*trips.constant()) + " and " + Twine(*length) +
                       " elements");
    n.require(lengthOf(i), trips, "scan inputs have equally many elements");
  }
  auto makeBody = [&](Expr iteration, ValueRange carried) -> FailureOr<Body> {
    Values inputs(carried);
    for (auto [scan, track] : llvm::zip_equal(scans, *inTracks)) {
      Shape starts(static_cast<size_t>(rankOf(scan)), 0), sizes = shapeOf(scan);
      auto axis = static_cast<size_t>(track.axis);
      starts[axis] = track.backward ? trips - Expr(1) - iteration : iteration;
      sizes[axis] = 1;
      Value slice = n.slice(scan, starts, sizes);
      sizes.erase(sizes.begin() + track.axis);
      inputs.push_back(n.reshape(slice, sizes));
    }
    auto outputs = importBody(n, inputs);
    if (failed(outputs))
      return failure();
    ArrayRef<Value> all = *outputs;
    if (all.size() < numStates)
      return n.invalid("the body does not yield every state");
    return Body{Value(), Values(all.take_front(numStates)), Values(all.drop_front(numStates))};
  };
  auto results = LoopBuilder(n, trips, states, makeBody).run();
  if (failed(results))
    return failure();
  MutableArrayRef<Value> stacks = MutableArrayRef<Value>(*results).drop_front(numStates);
  auto outTracks = readTracks(n, "output", ranksOf(stacks));
  if (failed(outTracks))
    return failure();
  for (auto [stack, track] : llvm::zip_equal(stacks, *outTracks))
    stack = placeStack(n, stack, track);
  return results;
}

/// Until opset 9 there was a batch axis, and sequences had lengths.
static FailureOr<Values> refuseOldScan(NodeImporter &n) {
  return n.refuse("Scan of opset 8 scans each element of a batch", "Scan since opset 9");
}

namespace kiln {
void registerControlImporters(ImportTable &table);
} // namespace kiln

void kiln::registerControlImporters(ImportTable &table) {
  table.add("If", 1, importIf);
  table.add("Loop", 1, importLoop);
  table.add("Scan", 8, refuseOldScan);
  table.add("Scan", 9, importScan);
}
