//===- ExprTest.cpp - Symbolic integer expressions ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Support/Expr.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace kiln;
using llvm::StringRef;

static const Expr n = Expr::symbol("n"), m = Expr::symbol("m"), k = Expr::symbol("k");
/// A value read from a tensor: any sign.
static const Expr v = Expr::symbol("%v");

static std::string text(const Expr &e) { return e.str().str(); }
static std::string text(const std::optional<Expr> &e) { return e ? text(*e) : "none"; }

static int64_t evaluate(const Expr &e, const llvm::StringMap<int64_t> &values) {
  return e.evaluate([&](StringRef name) { return values.lookup(name); });
}

//===----------------------------------------------------------------------===//
// Canonical forms
//===----------------------------------------------------------------------===//

TEST(Expr, PrintsConstantsAndSymbols) {
  EXPECT_EQ(text(Expr()), "0");
  EXPECT_EQ(text(Expr(-7)), "-7");
  EXPECT_EQ(text(Expr(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(text(n), "n");
  EXPECT_EQ(text(v), "%v");
}

TEST(Expr, OrdersTermsLongestFirst) {
  EXPECT_EQ(text(Expr(1) + n + n * m + k), "m*n + k + n + 1");
  EXPECT_EQ(text(Expr(1) - n), "-n + 1");
  EXPECT_EQ(text(Expr(0) - n * Expr(2) - Expr(3)), "-2*n - 3");
}

TEST(Expr, MergesLikeTerms) {
  EXPECT_EQ(text(n + n), "2*n");
  EXPECT_EQ(text(n - n), "0");
  EXPECT_EQ(text(n * m - m * n), "0");
  EXPECT_EQ(text((n + Expr(1)) * (n - Expr(1))), "n*n - 1");
}

TEST(Expr, EqualPolynomialsAreEqual) {
  EXPECT_EQ((n + m) * k, k * n + m * k);
  EXPECT_EQ((n + m) * (n + m), n * n + Expr(2) * m * n + m * m);
  EXPECT_NE(n, m);
  EXPECT_NE(n + Expr(1), n);
}

TEST(Expr, TellsConstantsAndLoneSymbols) {
  EXPECT_EQ(Expr(5).constant(), 5);
  EXPECT_EQ((n - n).constant(), 0);
  EXPECT_EQ(n.constant(), std::nullopt);
  EXPECT_TRUE((n - n + Expr(3)).isConstant(3));
  EXPECT_EQ(n.symbolName(), "n");
  for (const Expr &e : {n + Expr(1), Expr(2) * n, n * m, Expr(4), Expr::max(n, m)})
    EXPECT_EQ(e.symbolName(), "") << text(e);
}

TEST(Expr, KnowsWhatIsNeverNegative) {
  for (const Expr &e : {Expr(0), n, n * m + Expr(3), Expr::mod(v, n), Expr::max(v, Expr(0)),
                        Expr::floorDiv(n, m), Expr::min(n, m), Expr::bcast(n, m)})
    EXPECT_TRUE(e.isNonNegative()) << text(e);
  for (const Expr &e : {Expr(-1), v, n - m, n - Expr(1), Expr::min(n, v), Expr::max(v, Expr(-1)),
                        Expr::floorDiv(v, m), n * v})
    EXPECT_FALSE(e.isNonNegative()) << text(e);
}

TEST(Expr, VisitsSymbolsInsideFunctions) {
  std::string seen;
  (n + Expr::floorDiv(m + v, k)).forEachSymbol([&](StringRef name) { seen += name.str() + ","; });
  EXPECT_EQ(seen, "%v,m,k,n,");
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

TEST(Expr, DividesExactly) {
  EXPECT_EQ(text(Expr::divideExactly(n * m, n)), "m");
  EXPECT_EQ(text(Expr::divideExactly(Expr(6) * n * m + Expr(4) * m, Expr(2) * m)), "3*n + 2");
  EXPECT_EQ(text(Expr::divideExactly(n * n - Expr(1), n + Expr(1))), "n - 1");
  EXPECT_EQ(text(Expr::divideExactly(Expr(0), n)), "0");
  EXPECT_EQ(text(Expr::divideExactly(Expr(12), Expr(-4))), "-3");
  EXPECT_EQ(text(Expr::divideExactly(Expr::max(n, m) * k, Expr::max(m, n))), "k");
}

TEST(Expr, RefusesDivisionWithARest) {
  EXPECT_EQ(Expr::divideExactly(n + Expr(1), Expr(2)), std::nullopt);
  EXPECT_EQ(Expr::divideExactly(n * n, n + Expr(1)), std::nullopt);
  EXPECT_EQ(Expr::divideExactly(n, m), std::nullopt);
  EXPECT_EQ(Expr::divideExactly(Expr(3), n), std::nullopt);
  EXPECT_EQ(Expr::divideExactly(n, Expr(0)), std::nullopt);
}

TEST(Expr, SimplifiesFloorDiv) {
  EXPECT_EQ(text(Expr::floorDiv(Expr(-7), Expr(2))), "-4");
  EXPECT_EQ(text(Expr::floorDiv(n, Expr(1))), "n");
  EXPECT_EQ(text(Expr::floorDiv(Expr(4) * n + Expr(2), Expr(2))), "2*n + 1");
  EXPECT_EQ(text(Expr::floorDiv(Expr(2) * n + Expr(5), Expr(2))), "n + 2");
  EXPECT_EQ(text(Expr::floorDiv(n - Expr(1), Expr(2))), "floordiv(n + 1, 2) - 1");
  EXPECT_EQ(text(Expr::floorDiv(Expr::floorDiv(n, Expr(2)), Expr(3))), "floordiv(n, 6)");
  EXPECT_EQ(text(Expr::floorDiv(n, m)), "floordiv(n, m)");
}

TEST(Expr, SimplifiesCeilDiv) {
  EXPECT_EQ(text(Expr::ceilDiv(Expr(7), Expr(2))), "4");
  EXPECT_EQ(text(Expr::ceilDiv(n, Expr(2))), "floordiv(n + 1, 2)");
  EXPECT_EQ(text(Expr::ceilDiv(n * m, m)), "n");
  EXPECT_EQ(text(Expr::ceilDiv(n, m)), "ceildiv(n, m)");
}

TEST(Expr, SimplifiesMod) {
  EXPECT_EQ(text(Expr::mod(Expr(-7), Expr(3))), "2");
  EXPECT_EQ(text(Expr::mod(Expr(4) * n, Expr(2))), "0");
  EXPECT_EQ(text(Expr::mod(Expr(4) * n + m + Expr(7), Expr(4))), "mod(m + 3, 4)");
  EXPECT_EQ(text(Expr::mod(n * m, m)), "0");
  EXPECT_EQ(text(Expr::mod(n, m)), "mod(n, m)");
}

TEST(Expr, SurvivesTheEdgesOfTheRange) {
  EXPECT_EQ(text(Expr(INT64_MAX) + Expr(1)), "-9223372036854775808");
  EXPECT_EQ(text(Expr(INT64_MIN) - Expr(1)), "9223372036854775807");
  EXPECT_EQ(text(Expr(INT64_MIN) * Expr(-1)), "-9223372036854775808");
  // The quotient wraps, as all else does.
  EXPECT_EQ(text(Expr::floorDiv(Expr(INT64_MIN), Expr(-1))), "-9223372036854775808");
  EXPECT_EQ(text(Expr::divideExactly(Expr(INT64_MIN) * n, Expr(-1) * n)), "-9223372036854775808");
}

TEST(Expr, KeepsDivisionByZeroSymbolic) {
  for (const Expr &e : {Expr::floorDiv(n, Expr(0)), Expr::ceilDiv(n, Expr(0)),
                        Expr::mod(n, Expr(0)), Expr::floorDiv(Expr(4), Expr(0))})
    EXPECT_EQ(e.constant(), std::nullopt) << text(e);
}

//===----------------------------------------------------------------------===//
// min, max, bcast
//===----------------------------------------------------------------------===//

TEST(Expr, SimplifiesMinAndMax) {
  EXPECT_EQ(Expr::min(Expr(3), Expr(5)), Expr(3));
  EXPECT_EQ(Expr::max(Expr(3), Expr(5)), Expr(5));
  EXPECT_EQ(Expr::min(n, n + Expr(2)), n);
  EXPECT_EQ(Expr::max(n, n + Expr(2)), n + Expr(2));
  EXPECT_EQ(Expr::min(Expr(2) * n, n), n);
  EXPECT_EQ(Expr::max(n, Expr(0)), n);
  EXPECT_EQ(Expr::min(n, Expr(0)), Expr(0));
  EXPECT_EQ(text(Expr::max(v, Expr(0))), "max(%v, 0)");
  EXPECT_EQ(Expr::min(n, m), Expr::min(m, n));
  EXPECT_EQ(Expr::max(n, m), Expr::max(m, n));
}

TEST(Expr, TakesAHugeEndForTheEnd) {
  EXPECT_EQ(Expr::min(n, Expr(INT64_MAX)), n);
  EXPECT_EQ(Expr::min(Expr(INT32_MAX), n + Expr(1)), n + Expr(1));
  EXPECT_EQ(text(Expr::min(v, Expr(INT32_MAX))), "min(%v, 2147483647)");
}

TEST(Expr, SimplifiesBcast) {
  EXPECT_EQ(Expr::bcast(n, Expr(1)), n);
  EXPECT_EQ(Expr::bcast(Expr(1), n), n);
  EXPECT_EQ(Expr::bcast(n, n), n);
  EXPECT_EQ(Expr::bcast(Expr(4), n), Expr(4));
  EXPECT_EQ(Expr::bcast(n, Expr(4)), Expr(4));
  EXPECT_EQ(Expr::bcast(n, m), Expr::bcast(m, n));
  EXPECT_EQ(Expr::bcast(n, Expr::bcast(m, k)), Expr::bcast(Expr::bcast(k, n), m));
  EXPECT_EQ(Expr::bcast(n, Expr::bcast(m, n)), Expr::bcast(m, n));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Expr, ParsesWhatPeopleWrite) {
  EXPECT_EQ(text(Expr::parse(" 2 * (n+1) - n*2 ")), "2");
  EXPECT_EQ(text(Expr::parse("-n + -1*m")), "none");
  EXPECT_EQ(text(Expr::parse("-(n - m)")), "m - n");
  EXPECT_EQ(text(Expr::parse("floordiv(2*n, 2)")), "n");
  EXPECT_EQ(text(Expr::parse("min(m, n)*3")), "3*min(m, n)");
  EXPECT_EQ(text(Expr::parse("x.y_1 + %a%b")), "%a%b + x.y_1");
  EXPECT_EQ(text(Expr::parse("mod")), "mod");
  EXPECT_EQ(text(Expr::parse("-9223372036854775808")), "-9223372036854775808");
}

TEST(Expr, RejectsWhatIsNoExpression) {
  for (StringRef bad :
       {"", " ", "+", "n +", "n m", "2n", "(n", "n)", "min(n)", "min(n, m", "min(n, m, k)",
        "pow(n, 2)", "n / 2", "n, m", "3.5", "99999999999999999999", "n\n;", "*n", "n**m"})
    EXPECT_EQ(Expr::parse(bad), std::nullopt) << bad.str();
}

TEST(Expr, LimitsNesting) {
  std::string deep = "n", tooDeep = "n";
  for (int i = 0; i < 60; ++i)
    deep = "(" + deep + ")";
  EXPECT_EQ(text(Expr::parse(deep)), "n");
  for (int i = 0; i < 100000; ++i)
    tooDeep = "(" + tooDeep;
  EXPECT_EQ(Expr::parse(tooDeep), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Substitution
//===----------------------------------------------------------------------===//

TEST(Expr, SubstitutesEverywhere) {
  auto twoM = [](StringRef name) {
    return name == "n" ? std::optional(Expr(2) * m) : std::nullopt;
  };
  EXPECT_EQ(text((n * n + k).substitute(twoM)), "4*m*m + k");
  EXPECT_EQ(text(Expr::floorDiv(n + k, Expr(4)).substitute(twoM)), "floordiv(k + 2*m, 4)");
  // What was opaque simplifies again.
  EXPECT_EQ(text(Expr::max(n, m).substitute(twoM)), "2*m");
  EXPECT_EQ(text(Expr::bcast(n, k).substitute([](StringRef) { return std::optional(Expr(1)); })),
            "1");
}

//===----------------------------------------------------------------------===//
// Against brute force
//===----------------------------------------------------------------------===//

namespace {
/// A random expression beside a plain function that computes it.
struct Pair {
  Expr expr;
  /// Nothing where the expression has no meaning (broadcast of 2 and 3).
  std::function<std::optional<int64_t>(const llvm::StringMap<int64_t> &)> compute;
};

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  Pair make(unsigned depth) {
    if (depth == 0 || pick(0, 5) == 0)
      return leaf();
    switch (pick(0, 8)) {
    case 0:
    case 1:
      return combine(make(depth - 1), make(depth - 1), &sum);
    case 2:
      return combine(make(depth - 1), make(depth - 1), &difference);
    case 3:
      return combine(make(depth - 1), make(depth - 1), &product);
    case 4:
      return combine(make(depth - 1), divisor(), &floorDivision);
    case 5:
      return combine(make(depth - 1), divisor(), &ceilDivision);
    case 6:
      return combine(make(depth - 1), divisor(), &modulus);
    case 7:
      return combine(make(depth - 1), make(depth - 1), pick(0, 1) ? &minimum : &maximum);
    default:
      return combine(leaf(), make(depth - 1), &broadcast);
    }
  }

  llvm::StringMap<int64_t> values() {
    llvm::StringMap<int64_t> map;
    // Ones are frequent: they are what broadcasts.
    for (StringRef name : {"n", "m", "k"})
      map[name] = pick(0, 2) == 0 ? 1 : pick(0, 6);
    map["%v"] = pick(-6, 6);
    return map;
  }

private:
  using Value = std::optional<int64_t>;
  struct Operation {
    Expr (*build)(const Expr &, const Expr &);
    Value (*compute)(int64_t, int64_t);
  };
  static int64_t floorOf(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
  }
  static inline const Operation sum = {[](const Expr &a, const Expr &b) { return a + b; },
                                       [](int64_t a, int64_t b) { return Value(a + b); }};
  static inline const Operation difference = {[](const Expr &a, const Expr &b) { return a - b; },
                                              [](int64_t a, int64_t b) { return Value(a - b); }};
  static inline const Operation product = {[](const Expr &a, const Expr &b) { return a * b; },
                                           [](int64_t a, int64_t b) { return Value(a * b); }};
  static inline const Operation floorDivision = {
      &Expr::floorDiv, [](int64_t a, int64_t b) { return Value(floorOf(a, b)); }};
  static inline const Operation ceilDivision = {
      &Expr::ceilDiv, [](int64_t a, int64_t b) { return Value(-floorOf(-a, b)); }};
  static inline const Operation modulus = {
      &Expr::mod, [](int64_t a, int64_t b) { return Value(a - floorOf(a, b) * b); }};
  static inline const Operation minimum = {
      &Expr::min, [](int64_t a, int64_t b) { return Value(std::min(a, b)); }};
  static inline const Operation maximum = {
      &Expr::max, [](int64_t a, int64_t b) { return Value(std::max(a, b)); }};
  static inline const Operation broadcast = {
      &Expr::bcast, [](int64_t a, int64_t b) {
        return a == b || b == 1 ? Value(a) : a == 1 ? Value(b) : Value();
      }};

  static Pair combine(Pair a, Pair b, const Operation *operation) {
    return {operation->build(a.expr, b.expr),
            [a = a.compute, b = b.compute, operation](const auto &values) -> Value {
              Value x = a(values), y = b(values);
              return x && y ? operation->compute(*x, *y) : Value();
            }};
  }

  Pair leaf() {
    if (pick(0, 2) == 0) {
      int64_t constant = pick(-4, 6);
      return {Expr(constant), [constant](const auto &) { return Value(constant); }};
    }
    StringRef name = std::array<StringRef, 4>{"n", "m", "k", "%v"}[pick(0, 3)];
    return {Expr::symbol(name), [name](const auto &values) { return Value(values.lookup(name)); }};
  }

  /// Always positive.
  Pair divisor() {
    int64_t constant = pick(1, 5);
    Pair plain = {Expr(constant), [constant](const auto &) { return Value(constant); }};
    if (pick(0, 2) != 0)
      return plain;
    StringRef name = pick(0, 1) ? "n" : "m";
    Pair size = {Expr::symbol(name),
                 [name](const auto &values) { return Value(values.lookup(name)); }};
    return combine(size, plain, &sum);
  }

  std::mt19937_64 random;
};
} // namespace

TEST(Expr, AgreesWithPlainArithmetic) {
  Generator generator(20240607);
  unsigned compared = 0;
  for (int round = 0; round < 4000; ++round) {
    Pair pair = generator.make(4);
    for (int sample = 0; sample < 8; ++sample) {
      auto values = generator.values();
      auto expected = pair.compute(values);
      if (!expected)
        continue;
      ++compared;
      ASSERT_EQ(evaluate(pair.expr, values), *expected)
          << text(pair.expr) << " at n=" << values["n"] << " m=" << values["m"]
          << " k=" << values["k"] << " %v=" << values["%v"];
    }
    ASSERT_TRUE(!pair.expr.isNonNegative() || [&] {
      auto value = pair.compute(generator.values());
      return !value || *value >= 0;
    }()) << text(pair.expr);
  }
  EXPECT_GT(compared, 20000u);
}

TEST(Expr, ParsesWhatItPrints) {
  Generator generator(42);
  for (int round = 0; round < 4000; ++round) {
    Expr expr = generator.make(4).expr;
    ASSERT_EQ(text(Expr::parse(expr.str())), text(expr));
  }
}

TEST(Expr, DividesProductsOfPolynomials) {
  std::mt19937_64 random(7);
  auto polynomial = [&] {
    Expr sum = 0;
    for (int i = 0; i < 3; ++i) {
      Expr product = static_cast<int64_t>(random() % 9) - 4;
      for (const Expr *symbol : {&n, &m, &v})
        if (random() % 2)
          product = product * *symbol;
      sum = sum + product;
    }
    return sum;
  };
  for (int round = 0; round < 2000; ++round) {
    Expr a = polynomial(), b = polynomial();
    if (b.isConstant(0))
      continue;
    ASSERT_EQ(text(Expr::divideExactly(a * b, b)), text(a)) << text(b);
    ASSERT_EQ(Expr::divideExactly(a * b * Expr(3) + Expr(1), b * Expr(3)), std::nullopt);
  }
}
