//===- InstanceTest.cpp - Graphs that rules are measured on ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Instance.h"
#include "dialects/Kiln/IR/KilnDialect.h"
#include "kiln/Patterns/Passes.h"
#include "kiln/Patterns/Records.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace kiln;

namespace {
class Instances : public ::testing::Test {
protected:
  Instances() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<KilnDialect, mlir::func::FuncDialect>();
    registerRuleDialects(registry);
    return registry;
  }

  /// The first draw that fits; null when none of some does.
  mlir::OwningOpRef<mlir::ModuleOp> make(const Rule &rule, const std::string &pattern,
                                         InstanceSize size, const char *dtype) {
    for (uint64_t seed = 0; seed < 8; ++seed)
      if (auto made = makeInstance(rule, pattern, {size, dtype, seed}, context))
        return made;
    return nullptr;
  }

  static Bucket bucketOfInstance(mlir::ModuleOp instance) {
    auto main = *instance.getOps<mlir::func::FuncOp>().begin();
    llvm::SmallVector<mlir::Operation *> ops;
    for (mlir::Operation &op : main.getBody().front().without_terminator())
      if (!op.hasTrait<mlir::OpTrait::ConstantLike>())
        ops.push_back(&op);
    return bucketOf(ops);
  }

  static std::string textOf(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    return text;
  }

  mlir::MLIRContext context;
  RuleLibrary library{builtInRulePack()};
};
} // namespace

TEST_F(Instances, EveryPatternHasThreeBuckets) {
  ASSERT_FALSE(library.builtIn().empty());
  for (const auto &rule : library.builtIn())
    for (const std::string &pattern : patternNames(*rule)) {
      std::optional<Bucket> last;
      for (InstanceSize size : allInstanceSizes) {
        auto instance = make(*rule, pattern, size, "f32");
        ASSERT_TRUE(instance) << rule->name << " " << pattern << " " << sizeName(size).str();
        Bucket bucket = bucketOfInstance(*instance);
        EXPECT_EQ(bucket.dtype, "f32");
        if (last) {
          EXPECT_GE(bucket.distance(*last), 2u) << rule->name << " " << pattern;
          EXPECT_GT(bucket.flops, last->flops);
        }
        last = bucket;
      }
    }
}

/// Also in another context, which numbers constants from the start.
TEST_F(Instances, AreTheSameAgain) {
  for (const auto &rule : library.builtIn()) {
    std::string pattern = patternNames(*rule).front(), texts[2];
    for (std::string &text : texts) {
      mlir::MLIRContext fresh(registry(), mlir::MLIRContext::Threading::DISABLED);
      fresh.loadAllAvailableDialects();
      if (auto made = makeInstance(*rule, pattern, {InstanceSize::Small, "f32", 3}, fresh))
        text = textOf(*made);
    }
    EXPECT_EQ(texts[0], texts[1]) << rule->name;
  }
}

TEST_F(Instances, UnknownPatternsHaveNone) {
  EXPECT_FALSE(makeInstance(*library.builtIn().front(), "Nonsense", {}, context));
}

TEST_F(Instances, SizesHaveNames) {
  for (InstanceSize size : allInstanceSizes)
    EXPECT_EQ(sizeNamed(sizeName(size)), size);
  EXPECT_FALSE(sizeNamed("huge"));
}
