//===- ContractionBench.cpp - Speed of contraction kernels ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ContractionBench [cpu] [filter]: GFLOP/s of one thread on known shapes beside
// the peak of a loop of independent FMAs, measured around each. Not a test.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "RegionText.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <cstdio>

using namespace kiln;

/// GFLOP/s of twelve chains of FMAs that touch no memory.
static double peak() {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    constexpr int64_t steps = 200000;
    int64_t n = steps;
    asm volatile("1:\n"
#define FMA(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n"
                 FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7) FMA(8) FMA(9) FMA(10)
                     FMA(11) "dec %0\n jnz 1b\n"
                 : "+r"(n)
                 :
                 : "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9",
                   "ymm10", "ymm11", "cc");
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(steps) * 12 * 16 / time.count() * 1e-9);
  }
  return best;
}

static void report(const std::string &name, const std::string &text, double flops,
                   const std::string &cpu, const std::map<std::string, int64_t> &symbols = {}) {
  double before = peak();
  Timing timing = timeKernel(text, symbols, cpu, 200);
  double speed = flops / timing.run * 1e-9, limit = std::max(before, peak());
  std::printf("%-28s %9.1f us %8.1f GF/s  %5.1f %% of %.1f  compile %5.1f ms, object %zu\n",
              name.c_str(), timing.run * 1e6, speed, 100 * speed / limit, limit,
              timing.compile * 1e3, timing.objectBytes);
  std::fflush(stdout);
}

struct ConvShape {
  const char *name;
  int64_t channels, outputs, size, kernel, stride, group;
};

static const ConvShape convShapes[] = {
    {"3x3 64@56", 64, 64, 56, 3, 1, 1},
    {"3x3 128@28", 128, 128, 28, 3, 1, 1},
    {"3x3 256@14", 256, 256, 14, 3, 1, 1},
    {"3x3 512@7", 512, 512, 7, 3, 1, 1},
    {"3x3 s2 128->256@28", 128, 256, 28, 3, 2, 1},
    {"1x1 64@56", 64, 64, 56, 1, 1, 1},
    {"1x1 256->64@56", 256, 64, 56, 1, 1, 1},
    {"1x1 64->256@56", 64, 256, 56, 1, 1, 1},
    {"1x1 256@14", 256, 256, 14, 1, 1, 1},
    {"1x1 512@7", 512, 512, 7, 1, 1, 1},
    {"1x1 s2 256->512@56", 256, 512, 56, 1, 2, 1},
    {"7x7 s2 3->64@224", 3, 64, 224, 7, 2, 1},
    {"3x3 s2 3->32@224", 3, 32, 224, 3, 2, 1},
    {"dw3x3 144@56", 144, 144, 56, 3, 1, 144},
    {"dw3x3 192@28", 192, 192, 28, 3, 1, 192},
    {"dw3x3 384@14", 384, 384, 14, 3, 1, 384},
    {"dw3x3 960@7", 960, 960, 7, 3, 1, 960},
    {"dw3x3 s2 144@56", 144, 144, 56, 3, 2, 144},
    {"dw5x5 240@28", 240, 240, 28, 5, 1, 240},
};

static void benchConv(const ConvShape &shape, const std::string &cpu) {
  auto text = [](int64_t value) { return std::to_string(value); };
  ConvCase c;
  c.x = {"1", text(shape.channels), text(shape.size), text(shape.size)};
  c.w = {text(shape.outputs), text(shape.channels / shape.group), text(shape.kernel),
         text(shape.kernel)};
  c.strides = {shape.stride, shape.stride};
  c.pads.assign(4, text(shape.kernel / 2));
  c.group = shape.group;
  auto result = convResult(c);
  double products = static_cast<double>(shape.outputs * (shape.channels / shape.group) *
                                        shape.kernel * shape.kernel) *
                    std::stod(result[2]) * std::stod(result[3]);
  report(shape.name, convText(c), 2 * products, cpu);
}

int main(int argc, char **argv) {
  std::string cpu = argc > 1 ? argv[1] : "native";
  llvm::StringRef filter = argc > 2 ? argv[2] : "";
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 768, 768},
                         {128, 3072, 768},
                         {128, 768, 3072},
                         {3136, 64, 64},
                         {196, 256, 256},
                         {512, 512, 512},
                         {1024, 1024, 1024},
                         {64, 64, 64},
                         {13, 768, 768},
                         {4, 1024, 1024},
                         {1, 1024, 1024},
                         {1, 512, 784}})
    for (bool dynamic : {false, true}) {
      auto text = [](int64_t value) { return std::to_string(value); };
      std::string name = (dynamic ? "mm? " : "mm ") + text(m) + "x" + text(n) + "x" + text(k);
      if (!llvm::StringRef(name).contains(filter))
        continue;
      MatMulCase c;
      std::string rows = dynamic ? "s0" : text(m);
      c.a = {rows, text(k)}, c.b = {text(k), text(n)}, c.y = {rows, text(n)};
      c.constantB = true;
      std::map<std::string, int64_t> symbols;
      if (dynamic)
        symbols["s0"] = m;
      report(name, matMulText(c), 2.0 * static_cast<double>(m * n * k), cpu, symbols);
    }
  // Both products of attention: 12 heads of 64, none a constant.
  for (bool scores : {true, false})
    for (bool dynamic : {false, true})
      for (int64_t length : {128, 384}) {
        std::string name = std::string(scores ? "scores" : "values") + (dynamic ? "? " : " ") +
                           std::to_string(length);
        if (!llvm::StringRef(name).contains(filter))
          continue;
        std::string sequence = dynamic ? "s0" : std::to_string(length);
        MatMulCase c;
        c.a = {"12", sequence, scores ? "64" : sequence};
        c.b = {"12", sequence, "64"};
        c.y = {"12", sequence, scores ? sequence : "64"};
        c.transB = scores;
        std::map<std::string, int64_t> symbols;
        if (dynamic)
          symbols["s0"] = length;
        report(name, matMulText(c), 2.0 * 12 * 64 * static_cast<double>(length * length), cpu,
               symbols);
      }
  for (const ConvShape &shape : convShapes)
    if (llvm::StringRef(shape.name).contains(filter))
      benchConv(shape, cpu);
  return 0;
}
