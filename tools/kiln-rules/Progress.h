//===- Progress.h - How far a long measurement is ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_PROGRESS_H
#define KILN_TOOLS_KILN_RULES_PROGRESS_H

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>
#include <unistd.h>

namespace kiln {

/// On a terminal one line that changes, else a line a rule.
class Progress {
public:
  explicit Progress(size_t total) : total(total), terminal(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }

  void start(llvm::StringRef rule, llvm::StringRef job) {
    bool isNewRule = rule != lastRule;
    lastRule = rule.str();
    ++at;
    if (!terminal && !isNewRule)
      return;
    llvm::errs() << (terminal ? "\r\033[K" : "") << "[" << at << "/" << total << "] "
                 << (terminal ? job : rule) << timeLeft() << (terminal ? "" : "\n");
  }
  void clear() const {
    if (terminal)
      llvm::errs() << "\r\033[K";
  }
  /// What was skipped says nothing about the time that the rest takes.
  void skipped() {
    ++skips;
    begin = at == skips ? std::time(nullptr) : begin;
  }

private:
  std::string timeLeft() const {
    auto done = static_cast<double>(at - 1 - skips);
    if (done < 3)
      return "";
    double seconds =
        std::difftime(std::time(nullptr), begin) / done * static_cast<double>(total - at + 1);
    return seconds < 90 ? llvm::formatv(", {0:F0} s left", seconds).str()
                        : llvm::formatv(", {0:F0} min left", seconds / 60).str();
  }

  size_t total, at = 0, skips = 0;
  bool terminal;
  std::string lastRule;
  std::time_t begin = std::time(nullptr);
};

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_PROGRESS_H
