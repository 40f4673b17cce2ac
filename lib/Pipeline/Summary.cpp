//===- Summary.cpp - A graph's kernels before LLVM ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace mlir;
using namespace kiln;

std::optional<GraphSummary> Compilation::summarize() {
  complaints.clear();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
  GraphSummary summary;
  llvm::BLAKE3 hash;
  for (auto kernel : module->getOps<plan::KernelOp>()) {
    OwningOpRef<ModuleOp> code = ModuleOp::create(kernel.getLoc());
    auto facts = compiler.build(kernel, *code);
    if (failed(facts)) {
      fail(Diag::Internal, "a kernel could not be built");
      return std::nullopt;
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    code->print(os, OpPrintingFlags().useLocalScope());
    os << facts->units.str() << (facts->vectorize ? ", vectorize" : "");
    hash.update(withoutResourceNames(text));
  }
  module->walk([&](plan::LaunchOp launch) {
    ++summary.launches;
    for (Type buffer : launch->getOperandTypes())
      summary.trafficBytes +=
          bytesOf(buffer).evaluate([](StringRef) { return RuleReport::nominalSize; });
  });
  auto digest = hash.final();
  summary.kernelHash = llvm::toHex(ArrayRef(digest).take_front(16), /*LowerCase=*/true);
  return summary;
}
