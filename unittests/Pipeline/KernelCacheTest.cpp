//===- KernelCacheTest.cpp - Objects of kernels that were compiled --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/KernelCache.h"
#include "kiln/Pipeline/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

using namespace kiln;
namespace fs = llvm::sys::fs;

namespace {
class KernelCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(fs::createUniqueDirectory("kiln-cache", made));
    folder = std::string(made);
  }
  void TearDown() override { fs::remove_directories(folder); }

  /// A key in shard `first`.
  static std::string key(char first, unsigned number) {
    std::string digits = std::to_string(number);
    return first + std::string(63 - digits.size(), '0') + digits;
  }
  std::string pathOf(const std::string &key) const {
    return folder + "/" + key.substr(0, 1) + "/" + key.substr(1);
  }
  static CompiledKernel kernel(const std::string &name, size_t bytes = 1000) {
    CompiledKernel kernel;
    kernel.name = name;
    kernel.facts.units = Expr::symbol("s0") * Expr(3);
    kernel.facts.picosecondsPerUnit = 250;
    kernel.facts.scratchBytes = Expr::max(Expr::symbol("%s1"), Expr(0));
    kernel.facts.vectorize = true;
    kernel.object.assign(bytes, 'x');
    kernel.object[bytes / 2] = '\0';
    return kernel;
  }
  void setAge(const std::string &key, int hours) {
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = ::time(nullptr) - hours * 3600;
    ASSERT_EQ(::utimensat(AT_FDCWD, pathOf(key).c_str(), times, 0), 0);
  }

  std::string folder;
};
} // namespace

TEST_F(KernelCacheTest, GivesBackWhatWasStored) {
  KernelCache cache(folder);
  std::string a = key('a', 1);
  EXPECT_FALSE(cache.load(a));
  cache.store(a, kernel("kiln_f32_relu_0"));
  EXPECT_EQ(cache.problem(), "");
  auto found = KernelCache(folder).load(a);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "kiln_f32_relu_0");
  EXPECT_EQ(found->facts.units.str(), "3*s0");
  EXPECT_EQ(found->facts.picosecondsPerUnit.str(), "250");
  EXPECT_EQ(found->facts.scratchBytes.str(), "max(%s1, 0)");
  EXPECT_TRUE(found->facts.vectorize);
  EXPECT_EQ(found->object, kernel("").object);
  struct stat status;
  ASSERT_EQ(::stat(pathOf(a).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077u, 0u) << "others have no access";
}

TEST_F(KernelCacheTest, PassesOverDamage) {
  KernelCache cache(folder);
  std::string a = key('a', 1);
  cache.store(a, kernel("k"));
  uint64_t size;
  ASSERT_FALSE(fs::file_size(pathOf(a), size));
  // Every byte counts, and so does every length.
  for (uint64_t at = 0; at < size; at += 37) {
    cache.store(a, kernel("k"));
    int fd = ::open(pathOf(a).c_str(), O_RDWR);
    char byte;
    ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(at)), 1);
    byte ^= 4;
    ASSERT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(at)), 1);
    ::close(fd);
    EXPECT_FALSE(cache.load(a)) << "byte " << at;
    cache.store(a, kernel("k"));
    ASSERT_EQ(::truncate(pathOf(a).c_str(), static_cast<off_t>(at)), 0);
    EXPECT_FALSE(cache.load(a)) << "length " << at;
  }
}

TEST_F(KernelCacheTest, PassesOverEntriesOfAnotherName) {
  KernelCache cache(folder);
  cache.store(key('a', 1), kernel("k"));
  ASSERT_FALSE(fs::copy_file(pathOf(key('a', 1)), pathOf(key('a', 2))));
  EXPECT_FALSE(cache.load(key('a', 2)));
}

TEST_F(KernelCacheTest, KeepsWhatWasUsedLast) {
  // Three entries fit into a shard.
  KernelCache cache(folder, 16 * 4000);
  for (unsigned i = 0; i < 4; ++i) {
    cache.store(key('a', i), kernel("k", 900));
    setAge(key('a', i), 5 - static_cast<int>(i));
  }
  cache.store(key('b', 0), kernel("k", 900));
  setAge(key('b', 0), 100);
  // The oldest one is used.
  EXPECT_TRUE(cache.load(key('a', 0)));
  cache.trim();
  EXPECT_TRUE(fs::exists(pathOf(key('a', 0))));
  EXPECT_FALSE(fs::exists(pathOf(key('a', 1))));
  EXPECT_TRUE(fs::exists(pathOf(key('a', 3))));
  EXPECT_TRUE(fs::exists(pathOf(key('b', 0)))) << "its shard has room";
}

TEST_F(KernelCacheTest, ClearsAwayWhatKilledProcessesLeft) {
  KernelCache cache(folder);
  cache.store(key('a', 1), kernel("k"));
  std::string old = folder + "/a/.kiln-1-1", fresh = folder + "/a/.kiln-2-2";
  for (const std::string &path : {old, fresh})
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  timespec times[2] = {};
  ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  cache.trim();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "may be somebody's now";
}

TEST_F(KernelCacheTest, SaysWhyItCannotStore) {
  KernelCache cache("/dev/null/cache");
  cache.store(key('a', 1), kernel("k"));
  EXPECT_NE(cache.problem().find("/dev/null/cache"), llvm::StringRef::npos);
  EXPECT_FALSE(cache.load(key('a', 1)));
  cache.trim();
}

TEST_F(KernelCacheTest, ServesManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      KernelCache cache(folder, 16 * 3000);
      for (unsigned i = 0; i < 50; ++i) {
        std::string name = "k" + std::to_string(i % 5);
        cache.store(key('c', i % 5), kernel(name));
        auto found = cache.load(key('c', i % 5));
        wrong += found && found->name != name;
        wrong += !cache.problem().empty();
        cache.trim();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

TEST(KernelCacheKey, HoldsAllThatCodeDependsOn) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto parse = [&](llvm::StringRef body) {
    std::string text =
        "plan.kernel @k attributes {family = \"loop\", layouts = [\"\"], symbols = []} "
        "{\n^bb0(%x: tensor<4xf32>):\n" +
        body.str() + "\nkiln.yield %y : tensor<4xf32>\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  };
  auto relu = parse("%y = kiln.relu %x : (tensor<4xf32>) -> tensor<4xf32>");
  auto neg = parse("%y = kiln.neg %x : (tensor<4xf32>) -> tensor<4xf32>");
  auto resource = parse("%c = kiln.constant dense_resource<w> : tensor<4xf32>\n"
                        "%y = kiln.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>");
  auto keyOf = [](mlir::OwningOpRef<mlir::ModuleOp> &module, llvm::StringRef cpu, unsigned level) {
    auto target = CPUTarget::create(cpu);
    return KernelCache::keyOf(*module->getOps<plan::KernelOp>().begin(), *target, level);
  };
  std::string key = keyOf(relu, "x86-64-v3", 2);
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(key, keyOf(relu, "x86-64-v3", 2));
  EXPECT_NE(key, keyOf(relu, "x86-64-v4", 2));
  EXPECT_NE(key, keyOf(relu, "x86-64-v3", 1));
  EXPECT_NE(key, keyOf(neg, "x86-64-v3", 2));
  EXPECT_EQ(keyOf(resource, "x86-64-v3", 2), "") << "its text does not say its elements";
}
