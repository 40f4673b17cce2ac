//===- ForkTest.cpp - A child makes its workers anew ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

using namespace kiln::test;

static bool runsRight(kiln_session *session, uint32_t seed) {
  Tensor x({64, 8}), y({64, 4}), z({128, 4});
  x.fill(seed);
  DLTensor late = {};
  const DLTensor *inputs[] = {&x.view};
  DLTensor *outputs[] = {&y.view, &z.view, &late};
  if (kiln_run(session, inputs, 1, outputs, 3, nullptr) != KILN_OK)
    return false;
  Expected expected(x.values);
  return y.values == expected.y && z.values == expected.z;
}

TEST(Fork, ChildRunsWithThreadsOfItsOwn) {
#ifdef KILN_UNDER_TSAN
  GTEST_SKIP() << "the sanitizer's own threads do not survive a fork";
#endif
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  kiln_model *model = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
  kiln_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 3;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln_session_create(model, &options, &session), KILN_OK);
  ASSERT_TRUE(runsRight(session, 1));
  for (uint32_t i = 0; i != 5; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      bool right = true;
      for (uint32_t run = 0; run != 50; ++run)
        right &= runsRight(session, i * 100 + run);
      // A grandchild as well.
      pid_t grandchild = fork();
      if (grandchild == 0)
        _exit(runsRight(session, 5) && kiln_session_destroy(session) == KILN_OK ? 0 : 1);
      int status = 1;
      waitpid(grandchild, &status, 0);
      right &= status == 0;
      right &= kiln_session_destroy(session) == KILN_OK && kiln_model_close(model) == KILN_OK;
      _exit(right ? 0 : 1);
    }
    EXPECT_TRUE(runsRight(session, i));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}
