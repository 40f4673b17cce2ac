//===- PhaseTimer.cpp - Where the time of a compilation goes --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/PhaseTimer.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/resource.h>

using namespace kiln;

using Milliseconds = std::chrono::duration<double, std::milli>;

void PhaseTimer::begin(llvm::StringRef name) {
  list.push_back({name.str(), static_cast<unsigned>(open.size()), 0});
  open.push_back({list.size() - 1, Clock::now()});
}

void PhaseTimer::end() {
  list[open.back().entry].milliseconds = Milliseconds(Clock::now() - open.back().began).count();
  open.pop_back();
}

void PhaseTimer::annotate(llvm::StringRef text) {
  list[open.back().entry].name += " (" + text.str() + ")";
}

void PhaseTimer::add(llvm::StringRef name, double milliseconds) {
  list.push_back({name.str(), static_cast<unsigned>(open.size()), milliseconds});
}

void PhaseTimer::print(llvm::raw_ostream &os) const {
  double total = Milliseconds(Clock::now() - made).count(), other = total;
  auto row = [&](double milliseconds, unsigned depth, llvm::StringRef name) {
    double share = total > 0 ? 100 * milliseconds / total : 0;
    os << llvm::format("%10.1f %6.1f  ", milliseconds, share);
    os.indent(2 * depth) << name << '\n';
  };
  os << "        ms      %  phase\n";
  for (const Entry &entry : list) {
    row(entry.milliseconds, entry.depth, entry.name);
    if (entry.depth == 0)
      other -= entry.milliseconds;
  }
  row(other, 0, "other");
  row(total, 0, "total");
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    os << llvm::format("%10.1f         peak memory, MiB\n", usage.ru_maxrss / 1024.0);
}
