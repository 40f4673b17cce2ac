//===- Einsum.cpp - Sums written as equations -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Import/Einsum.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "dialects/Kiln/ops/Slice/Slice.h"

using namespace mlir;
using namespace kiln;

namespace {
/// A tensor and the label of each of its dims. Letters stand for themselves,
/// dims of the ellipsis are numbered from 1.
struct Term {
  Value value;
  std::string labels;
};

class Einsum {
public:
  Einsum(NodeImporter &n, StringRef equation) : n(n), equation(equation) {}
  FailureOr<Value> build(ArrayRef<Value> operands);

private:
  LogicalResult parse(ArrayRef<Value> operands);
  FailureOr<std::string> labelsOf(StringRef text, int64_t ellipsisDims);
  LogicalResult unifySizes();
  void takeDiagonals(Term &term);
  void dropBroadcastDims(Term &term);
  void sumOut(Term &term, StringRef wanted);
  Term contract(Term a, Term b, StringRef needed);
  /// Dims in the order of `labels`, which holds all of them.
  Value ordered(const Term &term, StringRef labels);
  Shape sizesOf(StringRef labels) const {
    Shape sizes;
    for (char label : labels)
      sizes.push_back(size.at(label));
    return sizes;
  }
  Value reshape(Value value, Shape shape) { return value ? n.reshape(value, shape) : nullptr; }

  NodeImporter &n;
  StringRef equation;
  std::vector<Term> terms;
  std::string output;
  std::map<char, Expr> size;
  int64_t ellipsis = 0;
};
} // namespace

static bool has(StringRef labels, char label) { return labels.contains(label); }

static std::string keepIf(StringRef labels, function_ref<bool(char)> keep) {
  std::string kept;
  for (char label : labels)
    if (keep(label))
      kept += label;
  return kept;
}

/// `ellipsisDims` says how many dims "..." stands for here: the last ones of
/// all that it stands for anywhere.
FailureOr<std::string> Einsum::labelsOf(StringRef text, int64_t ellipsisDims) {
  std::string labels;
  bool seen = false;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (seen)
        return n.invalid("a term of the equation '" + equation + "' has two ellipses");
      seen = true;
      for (int64_t d = ellipsis - ellipsisDims; d < ellipsis; ++d)
        labels += static_cast<char>(d + 1);
    } else if (llvm::isAlpha(text.front())) {
      labels += text.front();
      text = text.drop_front();
    } else {
      return n.invalid("'" + text.take_front(1) + "' has no meaning in the equation '" + equation +
                       "'");
    }
  }
  return labels;
}

LogicalResult Einsum::parse(ArrayRef<Value> operands) {
  std::string compact;
  llvm::copy_if(equation, std::back_inserter(compact), [](char c) { return !llvm::isSpace(c); });
  auto [left, right] = StringRef(compact).split("->");
  bool isExplicit = StringRef(compact).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != operands.size())
    return n.invalid("the equation '" + equation + "' names " + Twine(parts.size()) +
                     " operands, the node has " + Twine(operands.size()));
  SmallVector<int64_t> ellipsisDims;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto letters = llvm::count_if(part, [](char c) { return llvm::isAlpha(c); });
    int64_t rest = rankOf(operands[i]) - letters;
    if (rest < 0 || (rest > 0 && !part.contains("...")))
      return n.invalid("term '" + part + "' of the equation does not fit operand " + Twine(i) +
                       " of rank " + Twine(rankOf(operands[i])));
    ellipsisDims.push_back(rest);
    ellipsis = std::max(ellipsis, rest);
  }
  for (auto [part, operand, dims] : llvm::zip(parts, operands, ellipsisDims)) {
    auto labels = labelsOf(part, dims);
    if (failed(labels))
      return failure();
    terms.push_back({operand, *labels});
  }
  if (isExplicit) {
    auto labels = labelsOf(right, ellipsis);
    if (failed(labels))
      return failure();
    output = *labels;
  } else {
    // The ellipsis, then the letters that appear once, by the alphabet.
    std::map<char, int> counts;
    for (const Term &term : terms)
      for (char label : term.labels)
        ++counts[label];
    for (auto [label, count] : counts)
      if (!llvm::isAlpha(label) || count == 1)
        output += label;
  }
  for (char label : output)
    if (llvm::count(output, label) > 1 ||
        llvm::none_of(terms, [&](const Term &term) { return has(term.labels, label); }))
      return n.invalid("the result of the equation '" + equation + "' repeats or invents '" +
                       Twine(label) + "'");
  return success();
}

/// The size of each label; dims of 1 are broadcast.
LogicalResult Einsum::unifySizes() {
  for (const Term &term : terms) {
    Shape shape = shapeOf(term.value);
    for (auto [label, dim] : llvm::zip(term.labels, shape)) {
      auto [entry, isNew] = size.try_emplace(label, dim);
      Expr &known = entry->second;
      if (isNew || dim == known || dim.isConstant(1))
        continue;
      if (known.isConstant(1)) {
        known = dim;
      } else if (known.constant() && dim.constant()) {
        return n.invalid("the equation '" + equation +
                         "' gives two sizes to one label: " + known.str() + " and " + dim.str());
      } else {
        n.require(known, dim, "dims with one label in '" + equation + "' are equal");
        if (dim.constant())
          known = dim;
      }
    }
  }
  return success();
}

/// Where a label is repeated, only elements with equal indices count.
void Einsum::takeDiagonals(Term &term) {
  for (size_t i = 0; i < term.labels.size() && term.value;) {
    char label = term.labels[i];
    size_t j = term.labels.find(label, i + 1);
    if (j == std::string::npos) {
      ++i;
      continue;
    }
    SmallVector<int64_t> order;
    std::string labels;
    for (size_t d = 0; d < term.labels.size(); ++d)
      if (d != i && d != j) {
        order.push_back(static_cast<int64_t>(d));
        labels += term.labels[d];
      }
    order.push_back(static_cast<int64_t>(i));
    order.push_back(static_cast<int64_t>(j));
    Value value = n.transpose(term.value, order);
    // Flat, the diagonal is every (n + 1)-th element.
    Shape flat = shapeOf(value);
    Expr count = flat.back();
    flat.pop_back();
    flat.back() = count * count;
    value = n.reshape(value, flat);
    Shape starts(flat.size(), Expr(0)), sizes(flat), steps(flat.size(), Expr(1));
    sizes.back() = count;
    steps.back() = count + Expr(1);
    term.value =
        n.create<SliceOp>({value}, {n.exprsNamed("starts", starts), n.exprsNamed("sizes", sizes),
                                    n.exprsNamed("steps", steps)});
    term.labels = labels + label;
    i = 0;
  }
}

/// Dims of size 1 that others have larger carry nothing.
void Einsum::dropBroadcastDims(Term &term) {
  if (!term.value)
    return;
  Shape shape = shapeOf(term.value), kept;
  std::string labels;
  for (auto [label, dim] : llvm::zip(term.labels, shape))
    if (!dim.isConstant(1) || size.at(label).isConstant(1)) {
      kept.push_back(dim);
      labels += label;
    }
  term.value = reshape(term.value, kept);
  term.labels = labels;
}

void Einsum::sumOut(Term &term, StringRef wanted) {
  SmallVector<int64_t> axes;
  for (auto [d, label] : llvm::enumerate(term.labels))
    if (!has(wanted, label))
      axes.push_back(static_cast<int64_t>(d));
  if (axes.empty() || !term.value)
    return;
  term.value = n.create<ReduceSumOp>(
      {term.value}, {n.attr("axes", ArrayRef<int64_t>(axes)), n.boolNamed("keepdims", false)});
  term.labels = keepIf(term.labels, [&](char label) { return has(wanted, label); });
}

Value Einsum::ordered(const Term &term, StringRef labels) {
  SmallVector<int64_t> order;
  for (char label : labels)
    order.push_back(static_cast<int64_t>(term.labels.find(label)));
  if (!term.value || llvm::is_sorted(order))
    return term.value;
  return n.transpose(term.value, order);
}

Term Einsum::contract(Term a, Term b, StringRef needed) {
  sumOut(a, b.labels + needed.str());
  sumOut(b, a.labels + needed.str());
  auto inB = [&](char label) { return has(b.labels, label); };
  std::string batch = keepIf(a.labels, [&](char l) { return inB(l) && has(needed, l); });
  std::string summed = keepIf(a.labels, [&](char l) { return inB(l) && !has(needed, l); });
  std::string rows = keepIf(a.labels, [&](char l) { return !inB(l); });
  std::string columns = keepIf(b.labels, [&](char l) { return !has(a.labels, l); });
  Shape outer = sizesOf(batch), m = sizesOf(rows), k = sizesOf(summed), c = sizesOf(columns);
  Value left = ordered(a, batch + rows + summed), right = ordered(b, batch + summed + columns);
  auto shaped = [&](Value value, std::initializer_list<ArrayRef<Expr>> parts) {
    Shape shape;
    for (ArrayRef<Expr> part : parts)
      shape.append(part.begin(), part.end());
    return reshape(value, shape);
  };
  Value product;
  if (summed.empty()) {
    // Nothing to sum: a product of elements.
    Shape ones(c.size(), Expr(1));
    product = n.create<MulOp>(
        {shaped(left, {outer, m, ones}), shaped(right, {outer, Shape(m.size(), Expr(1)), c})});
  } else {
    Expr depth = elementCount(k), height = elementCount(m), width = elementCount(c);
    product = n.create<MatMulOp>(
        {shaped(left, {outer, {height, depth}}), shaped(right, {outer, {depth, width}})});
    product = shaped(product, {outer, m, c});
  }
  return {product, batch + rows + columns};
}

FailureOr<Value> Einsum::build(ArrayRef<Value> operands) {
  if (failed(parse(operands)) || failed(unifySizes()))
    return failure();
  for (Term &term : terms) {
    takeDiagonals(term);
    dropBroadcastDims(term);
  }
  Term result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = output;
    for (const Term &later : ArrayRef(terms).drop_front(i + 1))
      needed += later.labels;
    result = contract(result, terms[i], needed);
  }
  sumOut(result, output);
  Value value = ordered(result, output);
  if (!value)
    return failure();
  return value;
}

FailureOr<Value> kiln::buildEinsum(NodeImporter &n, StringRef equation, ArrayRef<Value> operands) {
  return Einsum(n, equation).build(operands);
}
