//===- MatMul.import.cpp - Matrix product, import -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Import/ImportTable.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// A product of matrices whose summed dims must be equal at run time.
static Value product(NodeImporter &n, Value a, Value b, bool transA = false, bool transB = false) {
  if (!a || !b)
    return nullptr;
  Shape left = shapeOf(a), right = shapeOf(b);
  if (left.size() >= 2 && right.size() >= 2) {
    const Expr &k = left[left.size() - (transA ? 2 : 1)];
    const Expr &other = right[right.size() - (transB ? 1 : 2)];
    if (k != other && !(k.constant() && other.constant()))
      n.require(k, other,
                n.opType() + " multiplies matrices whose inner sizes agree (" + k.str() + " and " +
                    other.str() + ")");
  }
  return n.create<MatMulOp>({a, b},
                            {n.boolNamed("trans_a", transA), n.boolNamed("trans_b", transB)});
}

/// NumPy's matmul: a vector is a row on the left and a column on the right.
static Value numpyProduct(NodeImporter &n, Value a, Value b) {
  bool rowVector = rankOf(a) == 1, columnVector = rankOf(b) == 1;
  if (rowVector)
    a = n.reshape(a, {Expr(1), shapeOf(a)[0]});
  if (columnVector)
    b = n.reshape(b, {shapeOf(b)[0], Expr(1)});
  Value y = product(n, a, b);
  if (!y || (!rowVector && !columnVector))
    return y;
  Shape shape = shapeOf(y);
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  return n.reshape(y, shape);
}

static FailureOr<SmallVector<Value>> importMatMul(NodeImporter &n) {
  if (rankOf(n.input(0)) == 0 || rankOf(n.input(1)) == 0)
    return n.invalid("MatMul takes vectors, matrices or stacks of them, not scalars");
  return SmallVector<Value>{numpyProduct(n, n.input(0), n.input(1))};
}

/// `x` times a factor, which for integers must be one.
static FailureOr<Value> scale(NodeImporter &n, Value x, double factor, StringRef name) {
  if (factor == 1 || !x)
    return x;
  Type type = elementTypeOf(x);
  if (!isa<FloatType>(type) && factor != std::floor(factor))
    return n.refuse("Gemm on integers with " + name + " = " + Twine(std::to_string(factor)),
                    "an integral " + name + " or floating point matrices");
  return n.create<MulOp>({x, n.scalar(type, factor)});
}

static FailureOr<SmallVector<Value>> importGemm(NodeImporter &n) {
  for (unsigned i : {0u, 1u})
    if (rankOf(n.input(i)) != 2)
      return n.invalid("input " + Twine(i) + " of Gemm has " + Twine(rankOf(n.input(i))) +
                       " dims: it multiplies matrices of 2");
  Value y =
      product(n, n.input(0), n.input(1), n.intAttr("transA", 0) != 0, n.intAttr("transB", 0) != 0);
  auto scaled = scale(n, y, n.floatAttr("alpha", 1), "alpha");
  if (failed(scaled))
    return failure();
  double beta = n.floatAttr("beta", 1);
  if (!*scaled || !n.hasInput(2) || beta == 0)
    return SmallVector<Value>{*scaled};
  Value c = n.input(2);
  auto broadcast = broadcastShapes(shapeOf(*scaled), shapeOf(c));
  if (rankOf(c) > 2 || failed(broadcast) || shapeOf(*scaled).size() != broadcast->size())
    return n.invalid("input C of Gemm does not broadcast to the product");
  for (auto [dim, wide] : llvm::zip(shapeOf(*scaled), *broadcast))
    if (dim.constant() && wide.constant() && dim != wide)
      return n.invalid("input C of Gemm is larger than the product");
  auto addend = scale(n, c, beta, "beta");
  if (failed(addend))
    return failure();
  return SmallVector<Value>{n.create<AddOp>({*scaled, *addend})};
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

namespace {
/// Labels of axes: letters, and for those of an ellipsis numbers from its end.
using Labels = SmallVector<int>;
constexpr int firstOfEllipsis = 256;

bool isEllipsis(int label) { return label >= firstOfEllipsis; }

/// A tensor whose axes have labels, each once.
struct Term {
  Value value;
  Labels labels;

  int64_t axisOf(int label) const { return llvm::find(labels, label) - labels.begin(); }
  bool has(int label) const { return llvm::is_contained(labels, label); }
  Expr sizeOf(int label) const { return shapeOf(value)[static_cast<size_t>(axisOf(label))]; }
};

/// Contracts the operands one after the other, with matrix products.
class Einsum {
public:
  explicit Einsum(NodeImporter &n) : n(n) {}

  FailureOr<Value> run() {
    if (failed(parse(n.stringAttr("equation").value_or(""))))
      return failure();
    Term result = terms.front();
    for (size_t i = 1; i < terms.size(); ++i)
      if (failed(contract(result, terms[i], i)))
        return failure();
    sumOthers(result, [&](int label) { return llvm::is_contained(output, label); });
    arrange(result, output);
    return result.value;
  }

private:
  //===-- The equation ----------------------------------------------------===//

  /// The labels of one side's part; an ellipsis stands for `dots` axes.
  FailureOr<Labels> labelsOf(StringRef text, int64_t dots) {
    Labels labels;
    bool seen = false;
    for (; !text.empty(); text = text.drop_front()) {
      if (text.consume_front("...")) {
        if (std::exchange(seen, true))
          return n.invalid("the equation has two ellipses in one term");
        for (int64_t i = dots; i-- > 0;)
          labels.push_back(firstOfEllipsis + static_cast<int>(i));
        if (text.empty())
          break;
      }
      if (!llvm::isAlpha(text.front()))
        return n.invalid("the equation has '" + text.take_front(1) + "' where a label is expected");
      labels.push_back(text.front());
    }
    return labels;
  }

  LogicalResult parse(StringRef equation) {
    std::string text;
    llvm::copy_if(equation, std::back_inserter(text), [](char c) { return c != ' '; });
    auto [left, right] = StringRef(text).split("->");
    SmallVector<StringRef> parts;
    left.split(parts, ',');
    if (parts.size() != n.numInputs())
      return n.invalid("the equation has " + Twine(parts.size()) + " terms for " +
                       Twine(n.numInputs()) + " operands");
    int64_t mostDots = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value value = n.input(static_cast<unsigned>(i));
      int64_t rank = rankOf(value);
      bool hasDots = part.contains("...");
      int64_t dots = rank - (static_cast<int64_t>(part.size()) - (hasDots ? 3 : 0));
      if (hasDots ? dots < 0 : dots != 0)
        return n.invalid("operand " + Twine(i) + " has " + Twine(rank) + " axes, which '" + part +
                         "' does not fit");
      auto labels = labelsOf(part, dots);
      if (failed(labels))
        return failure();
      mostDots = std::max(mostDots, dots);
      terms.push_back({value, std::move(*labels)});
      if (failed(takeDiagonals(terms.back())))
        return failure();
    }
    if (StringRef(text).contains("->"))
      return takeOutput(right, mostDots);
    // What occurs once, in alphabetical order, behind the ellipsis.
    for (int64_t i = mostDots; i-- > 0;)
      output.push_back(firstOfEllipsis + static_cast<int>(i));
    std::string sorted = left.str();
    llvm::sort(sorted);
    for (char c : sorted)
      if (llvm::isAlpha(c) && left.count(c) == 1)
        output.push_back(c);
    return success();
  }

  LogicalResult takeOutput(StringRef text, int64_t dots) {
    auto labels = labelsOf(text, dots);
    if (failed(labels))
      return failure();
    output = std::move(*labels);
    for (const int &label : output)
      if (llvm::count(output, label) != 1 ||
          llvm::none_of(terms, [&](const Term &term) { return term.has(label); }))
        return n.invalid("the equation's output has a label twice, or one that no operand has");
    return success();
  }

  /// Axes with one label become one axis, the diagonal: of an n x n matrix in
  /// one row, that is every element n + 1 from the last.
  LogicalResult takeDiagonals(Term &term) {
    for (size_t i = 0; i < term.labels.size(); ++i)
      for (size_t j = i + 1; j < term.labels.size(); ++j) {
        if (term.labels[i] != term.labels[j])
          continue;
        Shape shape = shapeOf(term.value);
        Expr size = shape[i], other = shape[j];
        if (size.constant() && other.constant() && size != other)
          return n.invalid("a label stands for axes of " + size.str() + " and " + other.str());
        n.require(size, other, "axes with one label are equally long");
        SmallVector<int64_t> order = {static_cast<int64_t>(i), static_cast<int64_t>(j)};
        Shape rest;
        Labels labels = {term.labels[i]};
        for (size_t axis = 0; axis < shape.size(); ++axis)
          if (axis != i && axis != j) {
            order.push_back(static_cast<int64_t>(axis));
            rest.push_back(shape[axis]);
            labels.push_back(term.labels[axis]);
          }
        Shape flat = {size * other}, sizes = {size}, starts(rest.size() + 1, 0),
              steps(rest.size() + 1, 1);
        llvm::append_range(flat, rest);
        llvm::append_range(sizes, rest);
        steps[0] = size + Expr(1);
        Value row = n.reshape(n.transpose(term.value, order), flat);
        term.value = n.create<SliceOp>({row}, {n.exprsNamed("starts", starts),
                                               n.exprsNamed("sizes", sizes),
                                               n.exprsNamed("steps", steps)});
        if (!term.value)
          return failure();
        term.labels = std::move(labels);
        i = 0, j = 0;
      }
    return success();
  }

  //===-- Contraction -----------------------------------------------------===//

  void sumOthers(Term &term, function_ref<bool(int)> keep) {
    SmallVector<int64_t> axes;
    Labels kept;
    for (auto [axis, label] : llvm::enumerate(term.labels))
      if (keep(label))
        kept.push_back(label);
      else
        axes.push_back(static_cast<int64_t>(axis));
    if (axes.empty())
      return;
    term.value = n.create<ReduceSumOp>({term.value},
                                       {n.attr("axes", axes), n.boolNamed("keepdims", false)});
    term.labels = std::move(kept);
  }

  void arrange(Term &term, const Labels &order) {
    SmallVector<int64_t> permutation;
    for (int label : order)
      permutation.push_back(term.axisOf(label));
    if (term.value && !llvm::is_sorted(permutation))
      term.value = n.transpose(term.value, permutation);
    term.labels = order;
  }

  /// An axis of 1 that is broadcast is no axis.
  void dropBroadcast(Term &term, const Term &other) {
    Shape shape;
    Labels labels;
    for (auto [label, size] : llvm::zip_equal(term.labels, shapeOf(term.value)))
      if (!size.isConstant(1) || !other.has(label) || other.sizeOf(label).isConstant(1)) {
        shape.push_back(size);
        labels.push_back(label);
      }
    term.value = n.reshape(term.value, shape);
    term.labels = std::move(labels);
  }

  LogicalResult checkSizes(const Term &a, const Term &b, function_ref<bool(int)> keep) {
    for (int label : a.labels) {
      if (!b.has(label))
        continue;
      Expr x = a.sizeOf(label), y = b.sizeOf(label);
      if (x.constant() && y.constant() && x != y)
        return n.invalid("a label stands for axes of " + x.str() + " and " + y.str());
      if (isEllipsis(label) && keep(label))
        n.requireBroadcast(x, y, "axes of an ellipsis broadcast");
      else
        n.require(x, y, "axes with one label are equally long");
    }
    return success();
  }

  /// a = a times b, summed over what neither the output nor a later term has.
  LogicalResult contract(Term &a, Term b, size_t index) {
    auto keep = [&](int label) {
      return llvm::is_contained(output, label) ||
             llvm::any_of(ArrayRef(terms).drop_front(index + 1),
                          [&](const Term &term) { return term.has(label); });
    };
    dropBroadcast(a, b);
    dropBroadcast(b, a);
    if (!a.value || !b.value || failed(checkSizes(a, b, keep)))
      return failure();
    sumOthers(a, [&](int label) { return keep(label) || b.has(label); });
    sumOthers(b, [&](int label) { return keep(label) || a.has(label); });
    Labels batch, summed, left, right;
    for (int label : a.labels)
      (!b.has(label) ? left : keep(label) ? batch : summed).push_back(label);
    for (int label : b.labels)
      if (!a.has(label))
        right.push_back(label);
    auto join = [](std::initializer_list<Labels> parts) {
      Labels all;
      for (const Labels &part : parts)
        llvm::append_range(all, part);
      return all;
    };
    arrange(a, join({batch, left, summed}));
    arrange(b, join({batch, summed, right}));
    if (!a.value || !b.value)
      return failure();
    Shape x = shapeOf(a.value), y = shapeOf(b.value);
    auto sizes = [&](const Shape &shape, size_t from, size_t count) {
      return ArrayRef(shape).slice(from, count);
    };
    auto leftSizes = sizes(x, batch.size(), left.size()),
         rightSizes = sizes(y, batch.size() + summed.size(), right.size());
    Shape xs(sizes(x, 0, batch.size())), ys(sizes(y, 0, batch.size()));
    Value product;
    if (summed.empty()) {
      // No sum: a product of elements.
      llvm::append_range(xs, leftSizes);
      xs.append(right.size(), 1);
      ys.append(left.size(), 1);
      llvm::append_range(ys, rightSizes);
      product = n.create<MulOp>({n.reshape(a.value, xs), n.reshape(b.value, ys)});
    } else {
      xs.push_back(elementCount(leftSizes));
      xs.push_back(elementCount(sizes(x, batch.size() + left.size(), summed.size())));
      ys.push_back(elementCount(sizes(y, batch.size(), summed.size())));
      ys.push_back(elementCount(rightSizes));
      product = ::product(n, n.reshape(a.value, xs), n.reshape(b.value, ys));
    }
    if (!product)
      return failure();
    Shape shape(ArrayRef(shapeOf(product)).take_front(batch.size()));
    llvm::append_range(shape, leftSizes);
    llvm::append_range(shape, rightSizes);
    a = {n.reshape(product, shape), join({batch, left, right})};
    return success(a.value != nullptr);
  }

  NodeImporter &n;
  SmallVector<Term> terms;
  Labels output;
};
} // namespace

static FailureOr<SmallVector<Value>> importEinsum(NodeImporter &n) {
  auto result = Einsum(n).run();
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result};
}

namespace kiln {
void registerMatMulImporters(ImportTable &table);
} // namespace kiln

void kiln::registerMatMulImporters(ImportTable &table) {
  table.add("MatMul", 1, importMatMul);
  // Version 7 dropped `broadcast`; 11 made C optional.
  table.add("Gemm", 7, importGemm);
  table.add("Einsum", 12, importEinsum);
}
