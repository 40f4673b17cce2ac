//===- TrialLoweringTest.cpp - Rules that crash libmlir -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Patterns/TrialLowering.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace mlir;
using namespace kiln;

static Trial tryText(StringRef text) {
  DialectRegistry registry;
  registry.insert<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
  return tryLowering(text, registry, /*seconds=*/10);
}

// A text is as good as bytecode for the parser.
TEST(TrialLowering, tells_what_lowers) {
  EXPECT_EQ(tryText(R"(
    pdl.pattern @fine : benefit(1) {
      %type = type
      %root = operation "a.b" -> (%type : !pdl.type)
      rewrite %root { erase %root }
    })"),
            Trial::Lowers);
  EXPECT_EQ(tryText("this is no module"), Trial::Fails);
}

// Verifies, and createConvertPDLToPDLInterpPass of LLVM 22 reads through a null
// pointer: two ops that only a native constraint connects.
TEST(TrialLowering, survives_a_crash_of_libmlir) {
  StringRef crash = R"(
    pdl.pattern @crash : benefit(1) {
      %type = type
      %a = operation "a.a" -> (%type : !pdl.type)
      %b = operation "b.b" -> (%type : !pdl.type)
      apply_native_constraint "Same"(%a, %b : !pdl.operation, !pdl.operation)
      rewrite %a { apply_native_rewrite "Fuse"(%a : !pdl.operation) }
    })";
  for (int i = 0; i != 3; ++i)
    EXPECT_EQ(tryText(crash), Trial::Crashes);
  EXPECT_EQ(tryText("module {}"), Trial::Lowers);
}
