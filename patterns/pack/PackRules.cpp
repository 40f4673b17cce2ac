//===- PackRules.cpp - Compiles the built-in rules ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   kiln-pack-rules PACK DECLARATIONS RULE...
//
// Run when Kiln is built. A rule that is broken stops the build.
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/KilnDialect.h"
#include "kiln/Patterns/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kiln;

static int fail(StringRef file, const std::error_code &error) {
  llvm::errs() << "kiln-pack-rules: " << file << ": " << error.message() << "\n";
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "usage: kiln-pack-rules PACK DECLARATIONS RULE...\n";
    return 2;
  }
  auto declarations = llvm::MemoryBuffer::getFile(argv[2]);
  if (!declarations)
    return fail(argv[2], declarations.getError());
  DialectRegistry registry;
  registry.insert<KilnDialect>();
  registerRuleDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  NativeTable natives;
  registerNatives(natives);
  kiln::DiagnosticEngine diags;
  RuleList rules;
  compileRules(ArrayRef(argv + 3, argv + argc), context, natives, (*declarations)->getBuffer(),
               diags, rules);
  diags.printText(llvm::errs());
  if (!diags.all().empty())
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream os(argv[1], error);
  os << packRules((*declarations)->getBuffer(), rules);
  os.close();
  return error ? fail(argv[1], error) : 0;
}
