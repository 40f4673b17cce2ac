//===- PassDetail.h - Base classes of the passes ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_PASSDETAIL_H
#define KILN_LIB_PATTERNS_PASSDETAIL_H

#include "kiln/Patterns/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

namespace kiln {
#define GEN_PASS_DECL
#define GEN_PASS_DEF_APPLYALGEBRAPASS
#define GEN_PASS_DEF_APPLYRULESPASS
#include "kiln/Patterns/Passes.h.inc"

/// Adds the processor time that this thread takes, until it is destroyed.
class ProcessorTime {
public:
  explicit ProcessorTime(double &milliseconds) : sum(milliseconds), began(now()) {}
  ~ProcessorTime() { sum += now() - began; }
  ProcessorTime(const ProcessorTime &) = delete;
  ProcessorTime &operator=(const ProcessorTime &) = delete;

private:
  static double now() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  }
  double &sum, began;
};

/// What both passes do with their options.
template <typename Base> struct RulePass : Base {
  RulePass(const RuleTables &tables, RuleReport *report) : tables(tables), shared(report) {}
  /// Passes are copied for each thread after initialize().
  RulePass(const RulePass &other) : Base(other), tables(other.tables), shared(other.shared) {
    own.rules = other.own.rules;
    ownEvidence = other.ownEvidence;
  }

  mlir::LogicalResult initialize(mlir::MLIRContext *context) final {
    if (shared)
      return mlir::success();
    RuleOptions options;
    llvm::append_range(options.folders, this->folders);
    llvm::append_range(options.only, this->only);
    llvm::append_range(options.disabled, this->disabled);
    DiagnosticEngine diags;
    bool good = tables.library.select(options, *context, {}, diags, own.rules);
    if (!this->recordFolders.empty())
      ownEvidence = std::make_shared<OwnEvidence>(*this, own.rules);
    diags.printText(llvm::errs());
    return mlir::success(good);
  }

protected:
  RuleReport &report() { return shared ? *shared : own; }
  Weigher *weigher() {
    return shared ? shared->weigher : ownEvidence ? &*ownEvidence->weigher : nullptr;
  }
  /// Only without a report of a pipeline.
  void explainOwn() {
    if (!shared && this->explain)
      own.printText(llvm::errs());
    own.matches.clear();
    own.switchedOff.clear();
  }

  RuleTables tables;

private:
  /// Records of the folders that options name, and no other.
  struct OwnEvidence {
    OwnEvidence(const RulePass &pass, const RuleList &rules) {
      RecordOptions options;
      options.device = pass.device;
      options.minSpeedup = pass.minSpeedup;
      for (const std::string &folder : pass.recordFolders)
        records.addFolder(folder, diags);
      weigher.emplace(records, options, "", nullptr, rules, diags);
    }
    ~OwnEvidence() { diags.printText(llvm::errs()); }

    DiagnosticEngine diags;
    RecordLibrary records;
    std::optional<Weigher> weigher;
  };

  RuleReport *shared;
  RuleReport own;
  std::shared_ptr<OwnEvidence> ownEvidence;
};

} // namespace kiln

#endif // KILN_LIB_PATTERNS_PASSDETAIL_H
