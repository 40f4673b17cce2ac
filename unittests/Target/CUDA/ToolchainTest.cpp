//===- ToolchainTest.cpp - Architectures and what ptxas says --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/Toolchain.h"
#include "gtest/gtest.h"

using namespace kiln;

TEST(CudaToolchain, ReadsTheReportOfPtxas) {
  auto found = parseKernelResources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    48 bytes stack frame, 40 bytes spill stores, 56 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 512 bytes smem, 400 bytes cmem[0]\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->registers, 255u);
  EXPECT_EQ(found->stackBytes, 48u);
  EXPECT_EQ(found->spillBytes, 96u);
  EXPECT_EQ(found->staticSharedBytes, 512u);
  EXPECT_FALSE(parseKernelResources(""));
  EXPECT_FALSE(parseKernelResources("ptxas warning : something else"));
}

TEST(CudaToolchain, KnowsArchitecturesAndTheirPtx) {
  auto real = CudaArchitecture::parse("sm_90a");
  ASSERT_TRUE(static_cast<bool>(real));
  EXPECT_EQ(real->number, 90u);
  EXPECT_FALSE(real->isPtx);
  auto ptx = CudaArchitecture::parse("compute_120");
  ASSERT_TRUE(static_cast<bool>(ptx));
  EXPECT_EQ(ptx->number, 120u);
  EXPECT_TRUE(ptx->isPtx);
  EXPECT_EQ(ptx->firstNvcc, llvm::VersionTuple(12, 8));
  for (llvm::StringRef wrong :
       {"", "sm_", "90", "compute_", "compute_sm_90", "sm_90b", "compute_90a"})
    EXPECT_TRUE(llvm::errorToBool(CudaArchitecture::parse(wrong).takeError())) << wrong.str();
}
