//===- OutOfMemoryTest.cpp - Every allocation may fail --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Allocations.h"
#include "TestSupport.h"

#include <cstddef>
#include <gtest/gtest.h>

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

using namespace kiln::test;

/// Opens, runs in all three ways and closes; whether it came to the end.
static bool live(const kiln_api *api, Tensor &x, Tensor &y, Tensor &z) {
  auto fine = [](kiln_status_t status) {
    EXPECT_TRUE(status == KILN_OK || status == KILN_OUT_OF_MEMORY) << status;
    return status == KILN_OK;
  };
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  kiln_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 2;
  bool reached = fine(kiln_model_open(api, nullptr, &model)) &&
                 fine(kiln_session_create(model, &options, &session));
  if (reached) {
    const DLTensor *inputs[] = {&x.view};
    DLTensor own = {}, late = {};
    DLTensor *outputs[] = {&y.view, &z.view, &late};
    reached &= fine(kiln_run(session, inputs, 1, outputs, 3, nullptr));
    outputs[0] = &own;
    late = {};
    reached &= fine(kiln_run(session, inputs, 1, outputs, 3, nullptr));
    DLManagedTensorVersioned *managed[3] = {};
    bool made = fine(kiln_run_managed(session, inputs, 1, managed, 3, nullptr));
    for (int i = 0; made && i != 3; ++i)
      managed[i]->deleter(managed[i]);
    reached &= made;
  }
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
  return reached;
}

TEST(OutOfMemory, IsAStatusAtEveryAllocation) {
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  uint64_t before = api->live_objects();
  Tensor x({10, 8}), y({10, 4}), z({20, 4});
  // Misaligned, so that copies are made as well.
  std::vector<uint8_t> bytes(10 * 8 * 4 + 1);
  x.view.data = bytes.data();
  x.view.byte_offset = 1;
  bool reached = false;
  int64_t count = 0;
  for (; !reached && count != 200; ++count) {
    allocationsLeft = count;
    reached = live(api, x, y, z);
    allocationsLeft = -1;
    ASSERT_EQ(api->live_objects(), before) << count;
  }
  EXPECT_TRUE(reached);
  EXPECT_GT(count, 15);
}
