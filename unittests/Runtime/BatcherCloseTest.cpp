//===- BatcherCloseTest.cpp - Closing while requests come -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BatcherSupport.h"

#include <thread>

using namespace kiln::test;

namespace {

class BatcherClose : public Batcher, public testing::WithParamInterface<uint32_t> {
protected:
  void close() {
    EXPECT_EQ(kiln_batcher_close(std::exchange(batcher, nullptr), GetParam()), KILN_OK);
  }
  bool maySay(kiln_status_t status) const {
    return status == KILN_OK || (GetParam() == KILN_CLOSE_CANCEL && status == KILN_CANCELLED);
  }
};

/// A client that sends its next request from the callback of the last, until it is
/// refused.
struct Chain {
  BatcherClose &test;
  kiln_batcher *batcher;
  Item item;
  std::atomic<uint64_t> sent{0}, ended{0}, wrong{0};
  std::atomic<kiln_status_t> refusal{KILN_OK};

  Chain(BatcherClose &test, kiln_batcher *batcher, uint32_t seed)
      : test(test), batcher(batcher), item(1 + seed % 3, 4, seed) {}
  void send() {
    ++sent;
    kiln_status_t status = item.submitViews(batcher, done, this);
    if (status != KILN_OK) {
      --sent;
      refusal = status;
    }
  }
  static void done(void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *outputs,
                   uint32_t) {
    auto &self = *static_cast<Chain *>(user);
    ++self.ended;
    if (status == KILN_OK ? !self.item.matches(outputs) : status != KILN_CANCELLED)
      ++self.wrong;
    self.send();
  }
};

TEST_P(BatcherClose, RefusesWhatCallbacksSend) {
  options.workers = 2;
  options.max_batch = 4;
  for (int round = 0; round != 20; ++round) {
    start();
    std::vector<std::unique_ptr<Chain>> chains;
    for (uint32_t i = 0; i != 12; ++i)
      chains.push_back(std::make_unique<Chain>(*this, batcher, i));
    for (auto &chain : chains)
      chain->send();
    std::this_thread::sleep_for(std::chrono::microseconds(200 * (round % 5)));
    close();
    for (auto &chain : chains) {
      EXPECT_EQ(chain->sent, chain->ended);
      EXPECT_EQ(chain->wrong, 0u);
      EXPECT_EQ(chain->refusal, KILN_CLOSED);
    }
  }
}

TEST_P(BatcherClose, SendsAwayWhoWaitsForAPlace) {
  options.queue_limit = 2;
  options.max_batch = 1;
  start();
  constexpr int clients = 6;
  std::atomic<int> answered{0}, refused{0}, wrong{0};
  {
    Plug plug(*this);
    std::vector<std::thread> threads;
    kiln_batcher *shared = batcher;
    for (int c = 0; c != clients; ++c)
      threads.emplace_back([&, c] {
        Item item(1, 3, uint32_t(c));
        item.how.block_us = 60000000;
        kiln_status_t status = item.run(shared);
        ++(status == KILN_CLOSED ? refused : maySay(status) ? answered : wrong);
        if (status == KILN_OK)
          item.check();
      });
    // All wait, one of them in the place that is left.
    while (stats().waiting != 1)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::thread closer([&] { close(); });
    while (refused != clients - 1)
      std::this_thread::yield();
    plug.pull();
    closer.join();
    for (auto &thread : threads)
      thread.join();
  }
  EXPECT_EQ(refused, clients - 1);
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(wrong, 0);
}

/// Closed while others submit, of whom some wait for a place: what was accepted is
/// answered once, before close returns, and what was not is told so.
TEST_P(BatcherClose, WhatWasAcceptedIsAnsweredOnce) {
  constexpr int rounds = 30;
  constexpr size_t clients = 4, perClient = 400;
  options.workers = 2;
  options.queue_limit = 48;
  options.max_batch = 8;
  uint64_t accepted = 0, closed = 0;
  for (int round = 0; round != rounds; ++round) {
    struct Answer {
      std::atomic<uint32_t> count{0};
      std::atomic<kiln_status_t> status{KILN_OK};
    };
    std::vector<Answer> answers(clients * perClient);
    std::vector<kiln_status_t> results(clients * perClient, KILN_BUSY);
    std::atomic<size_t> submitted{0}, leaving{0};
    test_fixed_ns = 20000;
    start();
    auto done = [](void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *,
                   uint32_t) {
      auto &self = *static_cast<Answer *>(user);
      self.status = status;
      ++self.count;
    };
    // The plug keeps the batcher there until nobody can submit any more.
    auto plug = std::make_unique<Plug>(*this);
    std::vector<std::thread> threads;
    // Read until the last answer.
    std::vector<std::unique_ptr<Item>> items;
    for (size_t c = 0; c != clients; ++c)
      items.push_back(std::make_unique<Item>(1, 5, uint32_t(c)));
    for (size_t c = 0; c != clients; ++c)
      threads.emplace_back([&, c, b = batcher] {
        Item &item = *items[c];
        item.how.block_us = c % 2 ? 1000000 : 0;
        for (size_t i = c * perClient; i != (c + 1) * perClient; ++i) {
          results[i] = item.submitViews(b, done, &answers[i]);
          ++submitted;
          if (results[i] == KILN_CLOSED)
            break;
        }
        ++leaving;
        leaving.notify_all();
      });
    while (submitted < size_t(round) * 8)
      std::this_thread::yield();
    std::thread closer(
        [b = batcher, how = GetParam()] { EXPECT_EQ(kiln_batcher_close(b, how), KILN_OK); });
    for (size_t seen = leaving; seen != clients; seen = leaving)
      leaving.wait(seen);
    plug->release();
    closer.join();
    batcher = nullptr;
    plug.reset();
    for (auto &thread : threads)
      thread.join();
    for (size_t i = 0; i != results.size(); ++i) {
      kiln_status_t result = results[i], status = answers[i].status;
      ASSERT_TRUE(result == KILN_OK || result == KILN_OVERLOADED || result == KILN_CLOSED ||
                  result == KILN_BUSY)
          << result;
      ASSERT_EQ(answers[i].count, result == KILN_OK ? 1u : 0u) << i;
      ASSERT_TRUE(status == KILN_OK ||
                  (status == KILN_CANCELLED && GetParam() == KILN_CLOSE_CANCEL))
          << status;
      accepted += result == KILN_OK;
      closed += result == KILN_CLOSED;
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(closed, 0u);
}

INSTANTIATE_TEST_SUITE_P(DrainsAndCancels, BatcherClose,
                         testing::Values(uint32_t(KILN_CLOSE_DRAIN), uint32_t(KILN_CLOSE_CANCEL)));

} // namespace
