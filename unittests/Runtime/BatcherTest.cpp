//===- BatcherTest.cpp - Requests that share runs -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BatchModel.h"
#include "BatcherSupport.h"

#include <chrono>
#include <cmath>
#include <sys/resource.h>
#include <thread>

using namespace kiln::test;

namespace {

TEST_F(Batcher, OneRequestIsARun) {
  start();
  Item item(3, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  item.check();
  kiln_batcher_stats s = stats();
  EXPECT_EQ(s.accepted, 1u);
  EXPECT_EQ(s.completed, 1u);
  EXPECT_EQ(s.batches, 1u);
  EXPECT_EQ(s.rows, 3u);
  // Nothing was copied.
  EXPECT_EQ(s.direct, 1u);
}

TEST_F(Batcher, RequestsShareARun) {
  options.max_batch = 16;
  start();
  Plug plug(*this);
  std::vector<std::unique_ptr<Item>> items;
  for (uint32_t i = 0; i != 6; ++i) {
    items.push_back(std::make_unique<Item>(1 + i % 3, 7, i));
    ASSERT_EQ(items.back()->submit(batcher), KILN_OK);
  }
  uint64_t runs = test_runs;
  plug.pull();
  for (auto &item : items) {
    EXPECT_EQ(item->wait(batcher), KILN_OK);
    item->check();
  }
  EXPECT_EQ(test_runs - runs, 1u);
}

TEST_F(Batcher, OtherLengthsAndSharedInputsStayApart) {
  start();
  Plug plug(*this);
  Item a(2, 4, 1), b(2, 4, 2), longer(2, 9, 3), biased(2, 4, 4, 0.5f), like(1, 4, 5, 0.5f);
  for (Item *item : {&a, &longer, &biased, &b, &like})
    ASSERT_EQ(item->submit(batcher), KILN_OK);
  uint64_t runs = test_runs;
  plug.pull();
  for (Item *item : {&a, &b, &longer, &biased, &like}) {
    EXPECT_EQ(item->wait(batcher), KILN_OK);
    item->check();
  }
  // {a, b}, {longer}, {biased, like}.
  EXPECT_EQ(test_runs - runs, 3u);
}

TEST_F(Batcher, ViewsReachTheCallback) {
  start();
  Plug plug(*this);
  struct Seen {
    Item *item;
    std::atomic<int> calls{0};
    bool right = false;
  };
  std::vector<std::unique_ptr<Item>> items;
  std::vector<std::unique_ptr<Seen>> seen;
  for (uint32_t i = 0; i != 4; ++i) {
    items.push_back(std::make_unique<Item>(2, 6, i));
    seen.push_back(std::make_unique<Seen>());
    seen.back()->item = items.back().get();
    auto done = [](void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *outputs,
                   uint32_t count) {
      auto &self = *static_cast<Seen *>(user);
      self.right = status == KILN_OK && count == 4 && self.item->matches(outputs);
      ++self.calls;
    };
    ASSERT_EQ(items.back()->submitViews(batcher, done, seen.back().get()), KILN_OK);
  }
  plug.pull();
  ASSERT_EQ(kiln_batcher_drain(batcher, 10000000), KILN_OK);
  for (auto &one : seen) {
    EXPECT_EQ(one->calls, 1);
    EXPECT_TRUE(one->right);
  }
}

TEST_F(Batcher, LongRequestsRunInParts) {
  options.max_batch = 4;
  start();
  Item item(11, 5, 9), small(2, 5, 1);
  ASSERT_EQ(item.submit(batcher), KILN_OK);
  ASSERT_EQ(small.submit(batcher), KILN_OK);
  EXPECT_EQ(item.wait(batcher), KILN_OK);
  EXPECT_EQ(small.wait(batcher), KILN_OK);
  item.check();
  small.check();
  EXPECT_GE(stats().batches, 3u);
  // Views cannot be put together again.
  auto done = [](void *, kiln_ticket, kiln_status_t, const DLTensor *const *, uint32_t) {};
  EXPECT_EQ(item.submitViews(batcher, done, nullptr), KILN_INVALID_SHAPE);
}

TEST_F(Batcher, ABadRequestFailsAlone) {
  start();
  Plug plug(*this);
  Item good(2, 5, 1), bad(2, 5, 2), other(1, 5, 3);
  bad.x.values[3] = 666;
  Item small(1, 5, 4);
  small.y.shape[1] = 4;
  for (Item *item : {&good, &bad, &other, &small})
    ASSERT_EQ(item->submit(batcher), KILN_OK);
  plug.pull();
  EXPECT_EQ(good.wait(batcher), KILN_OK);
  EXPECT_EQ(bad.wait(batcher), KILN_CONSTRAINT);
  EXPECT_EQ(other.wait(batcher), KILN_OK);
  EXPECT_EQ(small.wait(batcher), KILN_INVALID_SHAPE);
  good.check();
  other.check();
  EXPECT_EQ(stats().retries, 4u);
}

TEST_F(Batcher, ASizeThatTheModelRefusesIsNoReasonToFail) {
  options.max_batch = 16;
  start();
  Plug plug(*this);
  std::vector<std::unique_ptr<Item>> items;
  for (uint32_t i = 0; i != 13; ++i) {
    items.push_back(std::make_unique<Item>(1, 3, i));
    ASSERT_EQ(items.back()->submit(batcher), KILN_OK);
  }
  plug.pull();
  for (auto &item : items) {
    EXPECT_EQ(item->wait(batcher), KILN_OK);
    item->check();
  }
}

TEST_F(Batcher, CancelTakesWaitingRequestsOnly) {
  start();
  Plug plug(*this);
  Item a(1, 5, 1), b(1, 5, 2);
  ASSERT_EQ(a.submit(batcher), KILN_OK);
  ASSERT_EQ(b.submit(batcher), KILN_OK);
  EXPECT_EQ(kiln_batcher_cancel(batcher, plug.ticket()), KILN_BUSY);
  EXPECT_EQ(kiln_batcher_cancel(batcher, a.ticket), KILN_OK);
  EXPECT_EQ(kiln_batcher_cancel(batcher, a.ticket), KILN_CANCELLED);
  EXPECT_EQ(a.wait(batcher), KILN_CANCELLED);
  // Used up.
  EXPECT_EQ(a.wait(batcher), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_cancel(batcher, a.ticket), KILN_INVALID_ARGUMENT);
  plug.pull();
  EXPECT_EQ(b.wait(batcher), KILN_OK);
  EXPECT_EQ(kiln_batcher_cancel(batcher, b.ticket), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_cancel(batcher, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_cancel(batcher, ~uint64_t(0)), KILN_INVALID_ARGUMENT);
  b.check();
  EXPECT_EQ(stats().cancelled, 1u);
}

TEST_F(Batcher, DeadlinesAreMetOrGivenUp) {
  options.flags |= KILN_BATCHER_NO_TRIAL_RUNS;
  start();
  {
    Plug plug(*this);
    Item late(1, 5, 1), patient(1, 5, 2);
    late.how.deadline_us = 50000;
    ASSERT_EQ(late.submit(batcher), KILN_OK);
    ASSERT_EQ(patient.submit(batcher), KILN_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    plug.pull();
    EXPECT_EQ(late.wait(batcher), KILN_DEADLINE);
    EXPECT_EQ(patient.wait(batcher), KILN_OK);
    EXPECT_EQ(stats().expired, 1u);
  }
  // What the last runs took says that this cannot be.
  test_fixed_ns = 20000000;
  Item first(1, 5, 3), second(1, 5, 4);
  EXPECT_EQ(first.run(batcher), KILN_OK);
  for (int i = 0; i != 20; ++i)
    EXPECT_EQ(first.run(batcher), KILN_OK);
  second.how.deadline_us = 5000;
  EXPECT_EQ(second.submit(batcher), KILN_DEADLINE);
  EXPECT_EQ(stats().refused_deadline, 1u);
}

TEST_F(Batcher, WhatOverranItsPredictionIsTold) {
  test_fixed_ns = 1000000;
  start();
  Item item(1, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  // As if something else had the CPU for a while.
  test_fixed_ns = 30000000;
  item.how.deadline_us = 10000;
  EXPECT_EQ(item.run(batcher), KILN_OK);
  EXPECT_EQ(stats().late, 1u);
  EXPECT_EQ(stats().late_overrun, 1u);
}

TEST_F(Batcher, AnswersAreTheSameWithoutSpinning) {
  options.flags = KILN_BATCHER_NO_SPIN;
  for (int round = 0; round != 2; ++round) {
    start();
    Item item(1, 5, 1);
    for (int i = 0; i != 200; ++i)
      ASSERT_EQ(item.run(batcher), KILN_OK);
    item.check();
    EXPECT_EQ(kiln_batcher_close(batcher, KILN_CLOSE_DRAIN), KILN_OK);
    batcher = nullptr;
    options.flags = 0;
  }
}

TEST_F(Batcher, AFullQueuePushesBack) {
  options.queue_limit = 3;
  start();
  Plug plug(*this);
  Item a(1, 5, 1), b(1, 5, 2), c(1, 5, 3);
  ASSERT_EQ(a.submit(batcher), KILN_OK);
  ASSERT_EQ(b.submit(batcher), KILN_OK);
  EXPECT_EQ(c.submit(batcher), KILN_OVERLOADED);
  c.how.block_us = 2000;
  EXPECT_EQ(c.submit(batcher), KILN_OVERLOADED);
  c.how.block_us = 10000000;
  std::thread blocked([&] { EXPECT_EQ(c.submit(batcher), KILN_OK); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  plug.pull();
  EXPECT_EQ(a.wait(batcher), KILN_OK);
  blocked.join();
  EXPECT_EQ(b.wait(batcher), KILN_OK);
  EXPECT_EQ(c.wait(batcher), KILN_OK);
  c.check();
  EXPECT_EQ(stats().refused_full, 2u);
}

TEST_F(Batcher, TheRateIsKept) {
  options.rate = 1;
  options.burst = 4;
  start();
  Item item(1, 5, 1);
  int admitted = 0;
  for (int i = 0; i != 10; ++i) {
    kiln_status_t status = item.run(batcher);
    admitted += status == KILN_OK;
    EXPECT_TRUE(status == KILN_OK || status == KILN_OVERLOADED);
  }
  // A slow machine may win one or two in between.
  EXPECT_GE(admitted, 4);
  EXPECT_LE(admitted, 6);
  EXPECT_EQ(stats().refused_rate, uint64_t(10 - admitted));
}

TEST_F(Batcher, PrioritiesGoFirstAndSlowOnesLast) {
  options.max_batch = 1;
  options.slow_elements = 100;
  start();
  Plug plug(*this);
  Item low(1, 5, 1), normal(1, 5, 2), high(1, 5, 3), slow(1, 200, 4);
  low.how.priority = KILN_PRIORITY_LOW;
  high.how.priority = KILN_PRIORITY_HIGH;
  slow.how.priority = KILN_PRIORITY_HIGH;
  std::vector<int> order;
  struct Note {
    std::vector<int> *order;
    int number;
  } notes[] = {{&order, 0}, {&order, 1}, {&order, 2}, {&order, 3}};
  auto done = [](void *user, kiln_ticket, kiln_status_t, const DLTensor *const *, uint32_t) {
    auto &note = *static_cast<Note *>(user);
    note.order->push_back(note.number);
  };
  ASSERT_EQ(slow.submitViews(batcher, done, &notes[3]), KILN_OK);
  ASSERT_EQ(low.submitViews(batcher, done, &notes[2]), KILN_OK);
  ASSERT_EQ(normal.submitViews(batcher, done, &notes[1]), KILN_OK);
  ASSERT_EQ(high.submitViews(batcher, done, &notes[0]), KILN_OK);
  plug.pull();
  ASSERT_EQ(kiln_batcher_drain(batcher, 10000000), KILN_OK);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(stats().slow_batches, 1u);
}

TEST_F(Batcher, LongBatchesAreSplit) {
  test_row_ns = 1000000;
  options.max_batch = 16;
  options.max_exec_us = 4500;
  start();
  // Costs are learnt by shape.
  Item first(1, 5, 0);
  EXPECT_EQ(first.run(batcher), KILN_OK);
  Plug plug(*this);
  std::vector<std::unique_ptr<Item>> items;
  for (uint32_t i = 0; i != 12; ++i) {
    items.push_back(std::make_unique<Item>(1, 5, i));
    ASSERT_EQ(items.back()->submit(batcher), KILN_OK);
  }
  plug.pull();
  for (auto &item : items)
    EXPECT_EQ(item->wait(batcher), KILN_OK);
  kiln_batcher_stats s = stats();
  EXPECT_GE(s.splits, 1u);
  // 8 rows take 8 ms.
  EXPECT_EQ(s.batch_sizes[3], 0u);
  EXPECT_EQ(s.batch_sizes[4], 0u);
}

// How levels come and go: BatchPolicyTest.cpp, which has a clock of its own.
TEST_F(Batcher, StressMakesBatchesSmaller) {
  options.max_batch = 16;
  options.cooldown_ms = 3600000;
  start();
  EXPECT_EQ(stats().batch_limit, 16u);
  ASSERT_EQ(kiln_batcher_set_load(batcher, 0.95, 0), KILN_OK);
  EXPECT_EQ(stats().batch_limit, 8u);
  ASSERT_EQ(kiln_batcher_set_load(batcher, 0.5, 0.5), KILN_OK);
  EXPECT_EQ(stats().batch_limit, 4u);
  EXPECT_EQ(stats().level, 1u);
  EXPECT_EQ(stats().degradations, 1u);
  EXPECT_EQ(kiln_batcher_set_load(batcher, NAN, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_set_load(batcher, 0, 2), KILN_INVALID_ARGUMENT);
}

TEST_F(Batcher, LateAnswersMakeRequestsRunAlone) {
  test_fixed_ns = 2000000;
  options.max_batch = 8;
  options.target_p99_us = 500;
  options.cooldown_ms = 3600000;
  start();
  Item item(1, 5, 1);
  for (int i = 0; i != 4; ++i)
    EXPECT_EQ(item.run(batcher), KILN_OK);
  EXPECT_EQ(stats().batch_limit, 1u);
}

TEST_F(Batcher, ATwinRunsUnderStress) {
  kiln_model *twin = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &twin), KILN_OK);
  options.twin = twin;
  start();
  Item item(2, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  EXPECT_EQ(stats().twin_batches, 0u);
  ASSERT_EQ(kiln_batcher_set_load(batcher, 0.95, 0), KILN_OK);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  item.check();
  EXPECT_EQ(stats().twin_batches, 1u);
  EXPECT_EQ(kiln_model_close(twin), KILN_BUSY);
  EXPECT_EQ(kiln_batcher_close(batcher, KILN_CLOSE_DRAIN), KILN_OK);
  batcher = nullptr;
  EXPECT_EQ(kiln_model_close(twin), KILN_OK);
}

TEST_F(Batcher, IdleWorkersSleep) {
  options.workers = 2;
  start();
  Item item(1, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  auto cpu = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  double before = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu() - before, 2000);
}

TEST_F(Batcher, CloseDrainsOrCancels) {
  for (uint32_t how : {KILN_CLOSE_DRAIN, KILN_CLOSE_CANCEL}) {
    start();
    std::atomic<int> done{0}, cancelled{0};
    struct Count {
      std::atomic<int> *done, *cancelled;
    } count = {&done, &cancelled};
    auto callback = [](void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *,
                       uint32_t) {
      auto &self = *static_cast<Count *>(user);
      ++*(status == KILN_OK ? self.done : self.cancelled);
    };
    {
      Plug plug(*this);
      std::vector<std::unique_ptr<Item>> items;
      for (uint32_t i = 0; i != 5; ++i) {
        items.push_back(std::make_unique<Item>(1, 5, i));
        ASSERT_EQ(items.back()->submitViews(batcher, callback, &count), KILN_OK);
      }
      std::thread closer([&, b = batcher] { EXPECT_EQ(kiln_batcher_close(b, how), KILN_OK); });
      std::this_thread::sleep_for(std::chrono::milliseconds(how == KILN_CLOSE_CANCEL ? 20 : 2));
      plug.release();
      closer.join();
      batcher = nullptr;
    }
    EXPECT_EQ(done, how == KILN_CLOSE_DRAIN ? 5 : 0);
    EXPECT_EQ(cancelled, how == KILN_CLOSE_DRAIN ? 0 : 5);
  }
}

TEST_F(Batcher, CallbacksSubmitButDoNotClose) {
  start();
  struct Chain {
    kiln_batcher *batcher;
    Item *item;
    std::atomic<int> left{50};
    std::atomic<kiln_status_t> closed{KILN_OK}, drained{KILN_OK};
    static void done(void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *,
                     uint32_t) {
      auto &self = *static_cast<Chain *>(user);
      EXPECT_EQ(status, KILN_OK);
      self.closed = kiln_batcher_close(self.batcher, KILN_CLOSE_DRAIN);
      self.drained = kiln_batcher_drain(self.batcher, 0);
      if (--self.left)
        EXPECT_EQ(self.item->submitViews(self.batcher, done, user), KILN_OK);
    }
  };
  Item item(1, 5, 1);
  Chain chain{batcher, &item};
  ASSERT_EQ(item.submitViews(batcher, Chain::done, &chain), KILN_OK);
  ASSERT_EQ(kiln_batcher_drain(batcher, 20000000), KILN_OK);
  EXPECT_EQ(chain.left, 0);
  EXPECT_EQ(chain.closed, KILN_BUSY);
  EXPECT_EQ(chain.drained, KILN_BUSY);
}

TEST_F(Batcher, WaitTimesOut) {
  start();
  Plug plug(*this);
  Item item(1, 5, 1);
  ASSERT_EQ(item.submit(batcher), KILN_OK);
  EXPECT_EQ(kiln_batcher_wait(batcher, item.ticket, 1000), KILN_BUSY);
  EXPECT_EQ(kiln_batcher_drain(batcher, 1000), KILN_BUSY);
  plug.pull();
  EXPECT_EQ(item.wait(batcher), KILN_OK);
  EXPECT_EQ(item.wait(batcher), KILN_INVALID_ARGUMENT);
}

TEST_F(Batcher, SubmittingAllocatesNothing) {
  start();
  Item item(2, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
  uint64_t before = allocations;
  for (int i = 0; i != 50; ++i)
    EXPECT_EQ(item.run(batcher), KILN_OK);
  EXPECT_EQ(allocations - before, 0u);
}

} // namespace
