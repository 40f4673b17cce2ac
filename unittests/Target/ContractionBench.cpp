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
  double before = peak(), seconds = secondsOf(text, symbols, cpu, 200), after = peak();
  double speed = flops / seconds * 1e-9, limit = std::max(before, after);
  std::printf("%-28s %9.1f us %8.1f GF/s  %5.1f %% of %.1f\n", name.c_str(), seconds * 1e6, speed,
              100 * speed / limit, limit);
  std::fflush(stdout);
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
  return 0;
}
