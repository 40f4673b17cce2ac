//===- MathLoweringTest.cpp - Errors of the lowered functions -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function of f32 is compiled, for lanes and for scalars, and compared
// with libm's of double over the whole range of floats. With KILN_MATH_TABLE in
// the environment the measured table of docs/math.md is printed.
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CPU/CPUTarget.h"
#include "kiln/Target/CPU/KernelCompiler.h"
#include "kiln/Target/CPU/ObjectEmitter.h"
#include "lib/Target/CPU/Lowering.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cmath>
#include <random>

using namespace mlir;
using namespace kiln;

namespace {

/// Elements a call of compiled code takes.
constexpr int64_t block = 4096;
constexpr int64_t samples = 1 << 22;

struct Function {
  const char *op;
  double (*reference)(double);
  /// Units in the last place that the result may be off, with and without fma.
  double bound, boundWithoutFma;
};

const Function functions[] = {
    {"exp", std::exp, 1, 1.2},       {"exp2", std::exp2, 1, 1.2},
    {"expm1", std::expm1, 1.5, 1.6}, {"log", std::log, 1, 1},
    {"log2", std::log2, 1.5, 2},     {"log10", std::log10, 1.5, 2},
    {"log1p", std::log1p, 1.6, 1.6}, {"tanh", std::tanh, 2.6, 2.6},
    {"erf", std::erf, 2, 2},         {"sin", std::sin, 1.5, 1.5},
    {"cos", std::cos, 1.5, 1.5},     {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {"sinh", std::sinh, 2, 2},       {"atan", std::atan, 2, 2},
};

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Distance in units in the last place; inf counts as the number after the
/// largest. Infinite when one is NaN, or when signs of zeros differ.
double errorInUlps(float got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VAL;
  auto rounded = static_cast<float>(want);
  if (got == rounded)
    return got != 0 || std::signbit(got) == std::signbit(rounded) || want != 0 ? 0 : HUGE_VAL;
  auto finite = [](double x) { return std::isinf(x) ? std::copysign(0x1p128, x) : x; };
  if (std::isinf(want) || std::isinf(got))
    want = std::fabs(want) < 0x1p128 ? want : finite(HUGE_VAL * want);
  int exponent;
  std::frexp(std::max(std::fabs(std::min<double>(std::fabs(rounded), 0x1p127)), 0x1p-126),
             &exponent);
  return std::fabs(finite(got) - want) / std::ldexp(1.0, exponent - 24);
}

/// Machine code of the functions of this test for one processor.
class Compiled {
public:
  explicit Compiled(const CPUTarget &target) {
    DialectRegistry registry;
    KernelCompiler::registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    std::string text;
    for (const Function &function : functions)
      for (bool lanes : {true, false})
        text += loop(function.op, 1, lanes);
    for (bool lanes : {true, false})
      text += loop("powf", 2, lanes);
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    addLoweringPasses(passes, target.vector);
    if (!module || failed(passes.run(*module)))
      return;
    llvm::LLVMContext llvmContext;
    auto llvmModule = translateModuleToLLVMIR(*module, llvmContext);
    optimize(*llvmModule, target, {});
    auto object = cantFail(emitObject(*llvmModule, target, {}));
    jit = cantFail(llvm::orc::LLJITBuilder().create());
    jit->getMainJITDylib().addGenerator(
        cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit->getDataLayout().getGlobalPrefix())));
    cantFail(jit->addObjectFile(
        llvm::MemoryBuffer::getMemBufferCopy(StringRef(object.data(), object.size()))));
  }

  using Unary = void (*)(const float *x, float *y);
  using Binary = void (*)(const float *x, const float *z, float *y);
  template <typename Fn> Fn find(StringRef op, bool lanes) {
    return cantFail(jit->lookup((op + (lanes ? "_lanes" : "_scalar")).str())).toPtr<Fn>();
  }
  bool valid() const { return jit != nullptr; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;

  /// A function that applies `op` to a block.
  static std::string loop(const std::string &op, int operands, bool lanes) {
    std::string memory = "memref<" + std::to_string(block) + "xf32>";
    std::string type = lanes ? "vector<8xf32>" : "f32", step = lanes ? "8" : "1";
    std::string access = lanes ? "vector" : "memref", suffix = lanes ? ", vector<8xf32>" : "";
    std::string parameters, loads, values;
    for (int i = 0; i < operands; ++i) {
      std::string n = std::to_string(i);
      parameters += "%x" + n + ": " + memory + ", ";
      loads += "%v" + n + " = " + access + ".load %x" + n + "[%i] : " + memory + suffix + "\n";
      values += (i ? ", %v" : "%v") + n;
    }
    return "func.func @" + op + (lanes ? "_lanes(" : "_scalar(") + parameters + "%y: " + memory +
           ") {\n"
           "%c0 = arith.constant 0 : index\n"
           "%step = arith.constant " +
           step + " : index\n%n = arith.constant " + std::to_string(block) +
           " : index\n"
           "scf.for %i = %c0 to %n step %step {\n" +
           loads + "%r = math." + op + " " + values + " : " + type + "\n" + access +
           ".store %r, %y[%i] : " + memory + suffix + "\n}\nreturn }\n";
  }
};

/// Floats that are ends of something, of both signs.
std::vector<float> edges() {
  std::vector<float> list = {0,
                             0x1p-149F,
                             0x1p-140F,
                             0x1p-127F,
                             0x1p-126F,
                             1e-30F,
                             1e-10F,
                             0x1p-24F,
                             0x1p-12F,
                             0.1F,
                             0.25F,
                             0.3465F,
                             0.5F,
                             0.75F,
                             1,
                             1.5F,
                             2,
                             3,
                             3.14F,
                             3.92F,
                             4,
                             9.02F,
                             10,
                             16,
                             17.33F,
                             33,
                             87.33F,
                             88.72F,
                             88.73F,
                             89,
                             89.5F,
                             103.97F,
                             104,
                             126,
                             127,
                             128,
                             149,
                             150,
                             1000,
                             9.9e4F,
                             1e5F,
                             100001,
                             1e6F,
                             16777215,
                             16777216,
                             1e10F,
                             1e20F,
                             1e30F,
                             3.4e38F,
                             HUGE_VALF,
                             NAN,
                             0x1p23F,
                             0x1p127F,
                             0.99999994F,
                             5.5F,
                             0.33333F,
                             2.5F,
                             1.0000001F,
                             fromBits(0x7f7fffff),
                             fromBits(0x007fffff)};
  for (size_t i = list.size(); i-- > 0;)
    list.push_back(-list[i]);
  return list;
}

struct Worst {
  double ulps = 0;
  float x = 0, y = 0;
};

/// Feeds `count` inputs to a compiled function; the scalar form must give the
/// same bits.
template <typename Input>
Worst measure(Compiled &compiled, const Function &function, int64_t count, Input input) {
  auto lanes = compiled.find<Compiled::Unary>(function.op, true),
       scalar = compiled.find<Compiled::Unary>(function.op, false);
  std::vector<float> x(block), y(block), z(block);
  Worst worst;
  int64_t different = 0;
  for (int64_t from = 0; from < count; from += block) {
    for (int64_t i = 0; i < block; ++i)
      x[i] = input(std::min(from + i, count - 1));
    lanes(x.data(), y.data());
    if (from % (16 * block) == 0) {
      scalar(x.data(), z.data());
      different += std::memcmp(y.data(), z.data(), block * sizeof(float)) != 0;
    }
    for (int64_t i = 0; i < block; ++i) {
      double ulps = errorInUlps(y[i], function.reference(static_cast<double>(x[i])));
      if (ulps > worst.ulps)
        worst = {ulps, x[i], y[i]};
    }
  }
  EXPECT_EQ(different, 0) << function.op << ": scalars differ from lanes";
  return worst;
}

double nanosecondsOf8(Compiled &compiled, const Function &function) {
  auto lanes = compiled.find<Compiled::Unary>(function.op, true);
  std::vector<float> x(block), y(block);
  for (int64_t i = 0; i < block; ++i)
    x[i] = 0.01F + 3.0F * static_cast<float>(i) / block;
  double best = HUGE_VAL;
  for (int round = 0; round < 200; ++round) {
    auto start = std::chrono::steady_clock::now();
    lanes(x.data(), y.data());
    std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / block * 8);
  }
  return best;
}

class MathLowering : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto created = CPUTarget::create(GetParam());
    ASSERT_TRUE(static_cast<bool>(created));
    target = std::make_unique<CPUTarget>(*created);
    if (target->vector.fma && !llvm::sys::getHostCPUFeatures().lookup("fma"))
      GTEST_SKIP() << "this machine has no fma";
    compiled = std::make_unique<Compiled>(*target);
    ASSERT_TRUE(compiled->valid());
  }
  std::unique_ptr<CPUTarget> target;
  std::unique_ptr<Compiled> compiled;
};

TEST_P(MathLowering, UnaryFunctions) {
  bool print = std::getenv("KILN_MATH_TABLE") != nullptr;
  std::vector<float> ends = edges();
  for (const Function &function : functions) {
    Worst worst = measure(*compiled, function, samples, [](int64_t i) {
      return fromBits(static_cast<uint32_t>(i) * 1023 + 511);
    });
    Worst atEnds = measure(*compiled, function, static_cast<int64_t>(ends.size()),
                           [&](int64_t i) { return ends[i]; });
    Worst usual = measure(*compiled, function, samples / 4, [](int64_t i) {
      return static_cast<float>(i - samples / 8) * (20.0F / samples);
    });
    for (const Worst &other : {atEnds, usual})
      if (other.ulps > worst.ulps)
        worst = other;
    EXPECT_LE(worst.ulps, target->vector.fma ? function.bound : function.boundWithoutFma)
        << function.op << "(" << worst.x << ") = " << worst.y << ", not "
        << function.reference(static_cast<double>(worst.x));
    if (print)
      std::printf("| %s | %.2f | %.1f |\n", function.op, worst.ulps,
                  nanosecondsOf8(*compiled, function));
  }
}

TEST_P(MathLowering, Powers) {
  auto lanes = compiled->find<Compiled::Binary>("powf", true),
       scalar = compiled->find<Compiled::Binary>("powf", false);
  std::vector<float> ends = edges();
  auto count = static_cast<int64_t>(ends.size());
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponents(-30, 30);
  std::vector<float> x(block), y(block), z(block), s(block);
  Worst worst;
  float worstExponent = 0;
  for (int64_t from = 0; from < samples / 4; from += block) {
    for (int64_t i = 0; i < block; ++i) {
      int64_t n = from + i;
      bool special = n < count * count;
      x[i] = special ? ends[n % count] : fromBits(random());
      y[i] = special ? ends[n / count] : n % 2 ? exponents(random) : exponents(random) / 16;
      // Whole exponents, with negative bases.
      if (!special && n % 3 == 0)
        y[i] = std::round(y[i]);
    }
    lanes(x.data(), y.data(), z.data());
    scalar(x.data(), y.data(), s.data());
    ASSERT_EQ(std::memcmp(z.data(), s.data(), block * sizeof(float)), 0);
    for (int64_t i = 0; i < block; ++i) {
      double ulps =
          errorInUlps(z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
      if (ulps > worst.ulps) {
        worst = {ulps, x[i], z[i]};
        worstExponent = y[i];
      }
    }
  }
  EXPECT_LE(worst.ulps, 0.6) << "pow(" << worst.x << ", " << worstExponent << ") = " << worst.y;
  if (std::getenv("KILN_MATH_TABLE"))
    std::printf("| pow | %.2f | |\n", worst.ulps);
}

INSTANTIATE_TEST_SUITE_P(Processors, MathLowering, testing::Values("x86-64-v2", "x86-64-v3"),
                         [](const auto &info) { return std::string(info.param).substr(7); });

} // namespace
