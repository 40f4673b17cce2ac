//===- Expr.cpp - Symbolic integer expressions ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Support/Expr.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;
using namespace kiln;

using AtomPtr = std::shared_ptr<const Expr::Atom>;

static constexpr struct {
  Expr::Kind kind;
  StringLiteral name;
} functionNames[] = {
    {Expr::Kind::FloorDiv, "floordiv"}, {Expr::Kind::CeilDiv, "ceildiv"},
    {Expr::Kind::Mod, "mod"},           {Expr::Kind::Min, "min"},
    {Expr::Kind::Max, "max"},           {Expr::Kind::Bcast, "bcast"},
};

/// Orders products: longer ones first, then by text, so that printing and
/// polynomial division agree on a leading term.
static int compareAtoms(ArrayRef<AtomPtr> a, ArrayRef<AtomPtr> b) {
  if (a.size() != b.size())
    return a.size() > b.size() ? -1 : 1;
  for (auto [x, y] : zip(a, b))
    if (int order = StringRef(x->text).compare(y->text))
      return order;
  return 0;
}

static std::vector<Expr::Term> normalize(std::vector<Expr::Term> terms) {
  for (Expr::Term &term : terms)
    llvm::sort(term.atoms, [](const AtomPtr &a, const AtomPtr &b) { return a->text < b->text; });
  llvm::sort(terms, [](const Expr::Term &a, const Expr::Term &b) {
    return compareAtoms(a.atoms, b.atoms) < 0;
  });
  std::vector<Expr::Term> merged;
  for (Expr::Term &term : terms) {
    if (!merged.empty() && compareAtoms(merged.back().atoms, term.atoms) == 0)
      merged.back().coefficient =
          static_cast<int64_t>(static_cast<uint64_t>(merged.back().coefficient) +
                               static_cast<uint64_t>(term.coefficient));
    else
      merged.push_back(std::move(term));
    if (merged.back().coefficient == 0)
      merged.pop_back();
  }
  return merged;
}

static std::string print(ArrayRef<Expr::Term> terms) {
  if (terms.empty())
    return "0";
  std::string text;
  for (const Expr::Term &term : terms) {
    int64_t c = term.coefficient;
    if (!text.empty())
      text += c < 0 ? " - " : " + ";
    else if (c < 0)
      text += "-";
    uint64_t magnitude = c < 0 ? 0 - static_cast<uint64_t>(c) : static_cast<uint64_t>(c);
    if (magnitude != 1 || term.atoms.empty())
      text += utostr(magnitude) + (term.atoms.empty() ? "" : "*");
    text += join(map_range(term.atoms, [](const AtomPtr &a) { return StringRef(a->text); }), "*");
  }
  return text;
}

Expr::Expr(std::vector<Term> terms) {
  auto made = std::make_shared<Node>();
  made->terms = normalize(std::move(terms));
  made->text = print(made->terms);
  node = std::move(made);
}

Expr::Expr(int64_t constant) {
  auto made = std::make_shared<Node>();
  if (constant != 0)
    made->terms.push_back({constant, {}});
  made->text = std::to_string(constant);
  node = std::move(made);
}

Expr Expr::symbol(StringRef name) {
  auto atom = std::make_shared<Atom>();
  atom->kind = Kind::Symbol;
  atom->name = atom->text = name.str();
  return Expr(std::vector<Term>{{1, {atom}}});
}

Expr Expr::function(Kind kind, const Expr &a, const Expr &b) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->lhs = a;
  atom->rhs = b;
  for (auto &entry : functionNames)
    if (entry.kind == kind)
      atom->text = (entry.name + "(" + a.str() + ", " + b.str() + ")").str();
  return Expr(std::vector<Term>{{1, {atom}}});
}

std::optional<int64_t> Expr::constant() const {
  if (node->terms.empty())
    return 0;
  if (node->terms.size() == 1 && node->terms[0].atoms.empty())
    return node->terms[0].coefficient;
  return std::nullopt;
}

StringRef Expr::symbolName() const {
  if (node->terms.size() != 1 || node->terms[0].coefficient != 1 ||
      node->terms[0].atoms.size() != 1)
    return "";
  const Atom &atom = *node->terms[0].atoms[0];
  return atom.kind == Kind::Symbol ? StringRef(atom.name) : StringRef();
}

static bool atomIsNonNegative(const Expr::Atom &atom) {
  switch (atom.kind) {
  case Expr::Kind::Symbol:
    return !StringRef(atom.name).starts_with("%");
  case Expr::Kind::Mod:
    return true;
  case Expr::Kind::Max:
    return atom.lhs.isNonNegative() || atom.rhs.isNonNegative();
  default:
    return atom.lhs.isNonNegative() && atom.rhs.isNonNegative();
  }
}

bool Expr::isNonNegative() const {
  return all_of(terms(), [](const Term &term) {
    return term.coefficient >= 0 &&
           all_of(term.atoms, [](const AtomPtr &atom) { return atomIsNonNegative(*atom); });
  });
}

Expr Expr::operator+(const Expr &other) const {
  std::vector<Term> sum(node->terms);
  sum.insert(sum.end(), other.node->terms.begin(), other.node->terms.end());
  return Expr(std::move(sum));
}

Expr Expr::operator-(const Expr &other) const { return *this + other * Expr(-1); }

Expr Expr::operator*(const Expr &other) const {
  std::vector<Term> product;
  for (const Term &a : terms())
    for (const Term &b : other.terms()) {
      Term term{static_cast<int64_t>(static_cast<uint64_t>(a.coefficient) *
                                     static_cast<uint64_t>(b.coefficient)),
                a.atoms};
      term.atoms.insert(term.atoms.end(), b.atoms.begin(), b.atoms.end());
      product.push_back(std::move(term));
    }
  return Expr(std::move(product));
}

/// Truncates; wraps where the machine's instruction would trap.
static int64_t divide(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

/// a / b for products, when every atom of b is in a and the coefficients divide.
static std::optional<Expr::Term> divideTerm(const Expr::Term &a, const Expr::Term &b) {
  if (b.coefficient == 0 || (b.coefficient != -1 && a.coefficient % b.coefficient != 0))
    return std::nullopt;
  Expr::Term quotient{divide(a.coefficient, b.coefficient), a.atoms};
  for (const AtomPtr &atom : b.atoms) {
    auto it = find_if(quotient.atoms, [&](const AtomPtr &x) { return x->text == atom->text; });
    if (it == quotient.atoms.end())
      return std::nullopt;
    quotient.atoms.erase(it);
  }
  return quotient;
}

std::optional<Expr> Expr::divideExactly(const Expr &a, const Expr &b) {
  if (b.terms().empty())
    return std::nullopt;
  Expr rest = a, quotient = 0;
  while (!rest.terms().empty()) {
    auto term = divideTerm(rest.terms().front(), b.terms().front());
    if (!term)
      return std::nullopt;
    Expr step(std::vector<Term>{*term});
    quotient = quotient + step;
    Expr next = rest - step * b;
    // The leading term is gone, or the division does not end.
    if (!next.terms().empty() &&
        compareAtoms(next.terms().front().atoms, rest.terms().front().atoms) <= 0)
      return std::nullopt;
    rest = next;
  }
  return quotient;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = divide(a, b);
  return (b != -1 && a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/// Splits a into b*quotient + rest, where the rest has the terms that b, a
/// positive constant, does not divide.
static std::pair<Expr, Expr> splitMultiples(const Expr &a, int64_t b) {
  Expr quotient = 0, rest = 0;
  for (const Expr::Term &term : a.terms()) {
    Expr product = 1;
    for (const AtomPtr &atom : term.atoms)
      product = product * *Expr::parse(atom->text);
    int64_t q = term.atoms.empty() ? floorDivide(term.coefficient, b) : term.coefficient / b;
    quotient = quotient + product * Expr(q);
    rest = rest + product * Expr(term.coefficient - q * b);
  }
  return {quotient, rest};
}

Expr Expr::floorDiv(const Expr &a, const Expr &b) {
  auto ca = a.constant(), cb = b.constant();
  if (cb && *cb == 1)
    return a;
  if (ca && cb && *cb != 0)
    return floorDivide(*ca, *cb);
  if (auto exact = divideExactly(a, b))
    return *exact;
  if (cb && *cb > 0) {
    auto [quotient, rest] = splitMultiples(a, *cb);
    if (!quotient.isConstant(0))
      return quotient + floorDiv(rest, b);
    // floordiv(floordiv(x, c), d) is floordiv(x, c*d) for positive constants.
    if (a.terms().size() == 1 && a.terms()[0].coefficient == 1 && a.terms()[0].atoms.size() == 1) {
      const Atom &inner = *a.terms()[0].atoms[0];
      auto c = inner.kind == Kind::FloorDiv ? inner.rhs.constant() : std::nullopt;
      if (c && *c > 0)
        return floorDiv(inner.lhs, Expr(*c * *cb));
    }
  }
  return function(Kind::FloorDiv, a, b);
}

Expr Expr::ceilDiv(const Expr &a, const Expr &b) {
  if (auto c = b.constant(); c && *c > 0)
    return floorDiv(a + Expr(*c - 1), b);
  if (auto exact = divideExactly(a, b))
    return *exact;
  return function(Kind::CeilDiv, a, b);
}

Expr Expr::mod(const Expr &a, const Expr &b) {
  if (auto exact = divideExactly(a, b))
    return 0;
  auto ca = a.constant(), cb = b.constant();
  if (ca && cb && *cb > 0)
    return *ca - floorDivide(*ca, *cb) * *cb;
  if (cb && *cb > 0) {
    Expr rest = splitMultiples(a, *cb).second;
    if (rest != a)
      return mod(rest, b);
  }
  return function(Kind::Mod, a, b);
}

Expr Expr::min(const Expr &a, const Expr &b) {
  if (auto difference = (a - b).constant())
    return *difference <= 0 ? a : b;
  if ((a - b).isNonNegative())
    return b;
  if ((b - a).isNonNegative())
    return a;
  // ONNX writes "to the end" as a huge number; no dimension reaches it.
  constexpr int64_t beyondAnySize = INT64_C(1) << 31;
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (auto c = x.constant(); c && *c >= beyondAnySize - 1 && y.isNonNegative())
      return y;
  return a.str() < b.str() ? function(Kind::Min, a, b) : function(Kind::Min, b, a);
}

Expr Expr::max(const Expr &a, const Expr &b) {
  if (auto difference = (a - b).constant())
    return *difference >= 0 ? a : b;
  if ((a - b).isNonNegative())
    return a;
  if ((b - a).isNonNegative())
    return b;
  return a.str() < b.str() ? function(Kind::Max, a, b) : function(Kind::Max, b, a);
}

static void collectBcast(const Expr &e, std::vector<Expr> &parts) {
  if (e.terms().size() == 1 && e.terms()[0].coefficient == 1 && e.terms()[0].atoms.size() == 1 &&
      e.terms()[0].atoms[0]->kind == Expr::Kind::Bcast) {
    collectBcast(e.terms()[0].atoms[0]->lhs, parts);
    collectBcast(e.terms()[0].atoms[0]->rhs, parts);
    return;
  }
  if (!is_contained(parts, e))
    parts.push_back(e);
}

Expr Expr::bcast(const Expr &a, const Expr &b) {
  if (a == b || b.isConstant(1))
    return a;
  if (a.isConstant(1))
    return b;
  // A known size other than 1 wins; the other side must be 1 or equal.
  if (a.constant())
    return a;
  if (b.constant())
    return b;
  std::vector<Expr> parts;
  collectBcast(a, parts);
  collectBcast(b, parts);
  llvm::sort(parts, [](const Expr &x, const Expr &y) { return x.str() < y.str(); });
  Expr result = parts.back();
  for (const Expr &part : reverse(ArrayRef(parts).drop_back()))
    result = function(Kind::Bcast, part, result);
  return result;
}

static Expr apply(Expr::Kind kind, const Expr &a, const Expr &b) {
  switch (kind) {
  case Expr::Kind::FloorDiv:
    return Expr::floorDiv(a, b);
  case Expr::Kind::CeilDiv:
    return Expr::ceilDiv(a, b);
  case Expr::Kind::Mod:
    return Expr::mod(a, b);
  case Expr::Kind::Min:
    return Expr::min(a, b);
  case Expr::Kind::Max:
    return Expr::max(a, b);
  case Expr::Kind::Bcast:
    return Expr::bcast(a, b);
  case Expr::Kind::Symbol:
    break;
  }
  return a;
}

void Expr::forEachSymbol(function_ref<void(StringRef)> visit) const {
  for (const Term &term : terms())
    for (const AtomPtr &atom : term.atoms) {
      if (atom->kind == Kind::Symbol) {
        visit(atom->name);
        continue;
      }
      atom->lhs.forEachSymbol(visit);
      atom->rhs.forEachSymbol(visit);
    }
}

Expr Expr::substitute(function_ref<std::optional<Expr>(StringRef)> lookup) const {
  Expr sum = 0;
  for (const Term &term : terms()) {
    Expr product = term.coefficient;
    for (const AtomPtr &atom : term.atoms) {
      if (atom->kind == Kind::Symbol) {
        auto value = lookup(atom->name);
        product = product * (value ? *value : symbol(atom->name));
        continue;
      }
      product =
          product * apply(atom->kind, atom->lhs.substitute(lookup), atom->rhs.substitute(lookup));
    }
    sum = sum + product;
  }
  return sum;
}

int64_t Expr::evaluate(function_ref<int64_t(StringRef)> lookup) const {
  return *substitute([&](StringRef name) -> std::optional<Expr> {
            return Expr(lookup(name));
          }).constant();
}

namespace {
/// sum := ['-'] term (('+'|'-') term)*    term := factor ('*' factor)*
/// factor := number | name | function '(' sum ',' sum ')' | '(' sum ')'
class Parser {
public:
  explicit Parser(StringRef text) : rest(text) {}
  std::optional<Expr> run() {
    auto e = sum(0);
    rest = rest.ltrim();
    return rest.empty() ? e : std::nullopt;
  }

private:
  bool eat(char c) {
    rest = rest.ltrim();
    return rest.consume_front(StringRef(&c, 1));
  }
  std::optional<Expr> sum(unsigned depth) {
    // A hand-written attribute must not overflow the stack.
    if (depth > 64)
      return std::nullopt;
    bool negative = eat('-');
    auto total = term(depth);
    if (!total)
      return std::nullopt;
    if (negative)
      total = *total * Expr(-1);
    while (true) {
      bool plus = eat('+');
      if (!plus && !eat('-'))
        return total;
      auto next = term(depth);
      if (!next)
        return std::nullopt;
      total = plus ? *total + *next : *total - *next;
    }
  }
  std::optional<Expr> term(unsigned depth) {
    auto product = factor(depth);
    while (product && eat('*')) {
      auto next = factor(depth);
      if (!next)
        return std::nullopt;
      product = *product * *next;
    }
    return product;
  }
  std::optional<Expr> factor(unsigned depth) {
    rest = rest.ltrim();
    if (eat('(')) {
      auto inner = sum(depth + 1);
      return inner && eat(')') ? inner : std::nullopt;
    }
    uint64_t number;
    if (!rest.empty() && isDigit(rest[0])) {
      if (rest.consumeInteger(10, number))
        return std::nullopt;
      return Expr(static_cast<int64_t>(number));
    }
    StringRef name =
        rest.take_while([](char c) { return isAlnum(c) || c == '_' || c == '.' || c == '%'; });
    if (name.empty())
      return std::nullopt;
    rest = rest.drop_front(name.size());
    if (!rest.ltrim().starts_with("("))
      return Expr::symbol(name);
    for (auto &entry : functionNames)
      if (entry.name == name) {
        eat('(');
        auto a = sum(depth + 1);
        if (!a || !eat(','))
          return std::nullopt;
        auto b = sum(depth + 1);
        if (!b || !eat(')'))
          return std::nullopt;
        return apply(entry.kind, *a, *b);
      }
    return std::nullopt;
  }
  StringRef rest;
};
} // namespace

std::optional<Expr> Expr::parse(StringRef text) { return Parser(text).run(); }
