//===- BatcherStressTest.cpp - Everything at once -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BatcherSupport.h"

#include <thread>

using namespace kiln::test;

namespace {

class BatcherStress : public Batcher, public testing::WithParamInterface<uint32_t> {};

/// Threads that submit, wait, cancel and set deadlines at once; every answer is
/// right or says why there is none, and each request ends once.
TEST_P(BatcherStress, EveryRequestEndsOnce) {
  options.workers = 2;
  options.queue_limit = 24;
  options.max_batch = 8;
  options.max_wait_us = 100;
  options.flags = GetParam();
  start();
  constexpr int clients = 4, rounds = 400;
  std::atomic<uint64_t> submitted{0}, ended{0}, refused{0};
  std::vector<std::thread> threads;
  for (int c = 0; c != clients; ++c)
    threads.emplace_back([&, c] {
      uint32_t seed = uint32_t(c) * 7919 + 1;
      auto next = [&](uint32_t below) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 16) % below;
      };
      for (int i = 0; i != rounds; ++i) {
        Item item(1 + next(1000) % 11, 1 + int64_t(next(1000) % 5), uint32_t(i),
                  next(1000) % 4 ? 1.0f : 2.0f);
        item.how.priority = next(1000) % 3;
        item.how.block_us = next(1000) % 2 ? 100000 : 0;
        item.how.deadline_us = next(1000) % 8 ? 0 : 200 + next(1000) % 500;
        uint32_t kind = next(1000) % 4;
        kiln_status_t status;
        if (kind == 0) {
          status = item.run(batcher);
        } else {
          status = item.submit(batcher);
          if (status == KILN_OK) {
            if (kind == 1)
              kiln_batcher_cancel(batcher, item.ticket);
            while ((status = kiln_batcher_wait(batcher, item.ticket, 50)) == KILN_BUSY) {
            }
          }
        }
        if (status == KILN_OVERLOADED) {
          ++refused;
          continue;
        }
        ++submitted;
        ASSERT_TRUE(status == KILN_OK || status == KILN_CANCELLED || status == KILN_DEADLINE)
            << status;
        if (status == KILN_OK)
          item.check();
        ++ended;
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(submitted, ended);
  kiln_batcher_stats s = stats();
  EXPECT_EQ(s.waiting, 0u);
  EXPECT_EQ(s.accepted, s.completed + s.failed + s.cancelled + s.expired);
  EXPECT_EQ(s.accepted + s.refused_deadline, submitted);
  EXPECT_EQ(s.refused_full, refused);
  EXPECT_EQ(s.failed, 0u);
  EXPECT_LE(s.waiting_peak, 24u);
}

INSTANTIATE_TEST_SUITE_P(WorkersAndCallers, BatcherStress,
                         testing::Values(0u, uint32_t(KILN_BATCHER_CALLERS_WORK),
                                         uint32_t(KILN_BATCHER_PIN)));

} // namespace
