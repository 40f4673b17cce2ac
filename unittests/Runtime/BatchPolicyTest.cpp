//===- BatchPolicyTest.cpp - When batches close, and how large they are ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BatcherSupport.h"
#include "batch/Scheduler.h"

using namespace kiln::test;
using kiln::rt::Batch;
using kiln::rt::CostTable;
using kiln::rt::LoadControl;
using kiln::rt::Scheduler;

namespace {

constexpr uint64_t us = 1000, ms = 1000 * us;

TEST(CostTable, PredictsBetweenAndBeyondWhatItKnows) {
  CostTable costs;
  EXPECT_FALSE(costs.known());
  EXPECT_EQ(costs.predict(5), 0u);
  costs.note(4, 100 * us);
  EXPECT_EQ(costs.predict(4), 100 * us);
  // Not less for fewer rows, twice for twice as many.
  EXPECT_EQ(costs.predict(1), 100 * us);
  EXPECT_EQ(costs.predict(8), 200 * us);
  costs.note(8, 120 * us);
  EXPECT_EQ(costs.predict(6), 110 * us);
  EXPECT_EQ(costs.rowsWithin(115 * us, 64), 7u);
  EXPECT_EQ(costs.rowsWithin(1, 64), 1u);
  EXPECT_EQ(costs.rowsWithin(ms, 8), 8u);
}

TEST(CostTable, AnInterruptedRunCountsLittle) {
  CostTable costs;
  for (int i = 0; i != 8; ++i)
    costs.note(1, 100 * us);
  costs.note(1, 50 * ms);
  EXPECT_LE(costs.predict(1), 113 * us);
  for (int i = 0; i != 8; ++i)
    costs.note(1, 100 * us);
  EXPECT_LE(costs.predict(1), 103 * us);
}

TEST(LoadControl, MemoryHalvesAndRecoversByDoubling) {
  LoadControl load;
  load.configure(16, 0, 10 * ms);
  load.setSensors(0.95, 0);
  uint64_t now = ms;
  load.evaluate(now);
  EXPECT_EQ(load.limit(), 8u);
  // Not again before the cool-down is over.
  load.evaluate(now + 9 * ms);
  EXPECT_EQ(load.limit(), 8u);
  load.evaluate(now += 10 * ms);
  EXPECT_EQ(load.limit(), 4u);
  load.setSensors(0.5, 0);
  load.evaluate(now + 9 * ms);
  EXPECT_EQ(load.limit(), 4u);
  load.evaluate(now += 10 * ms);
  EXPECT_EQ(load.limit(), 8u);
  load.evaluate(now + 9 * ms);
  EXPECT_EQ(load.limit(), 8u);
  load.evaluate(now += 10 * ms);
  EXPECT_EQ(load.limit(), 16u);
  EXPECT_EQ(load.degradations, 2u);
  EXPECT_EQ(load.recoveries, 2u);
  load.setSensors(0, 0.75);
  EXPECT_EQ(load.limit(), 4u);
  load.setSensors(0, 1);
  EXPECT_EQ(load.limit(), 1u);
}

TEST(LoadControl, LateRequestsRunAlone) {
  LoadControl load;
  load.configure(16, ms, 10 * ms);
  // Two of 200 are within the 99th percentile.
  for (int i = 0; i != 200; ++i)
    load.noteRequest(i < 2 ? 2 * ms : ms / 2);
  load.evaluate(ms);
  EXPECT_EQ(load.limit(), 16u);
  for (int i = 0; i != 3; ++i)
    load.noteRequest(2 * ms);
  load.evaluate(2 * ms);
  EXPECT_EQ(load.limit(), 1u);
  // While it goes on there is no recovery.
  for (int i = 0; i != 3; ++i)
    load.noteRequest(2 * ms);
  load.evaluate(20 * ms);
  EXPECT_EQ(load.limit(), 1u);
  load.evaluate(30 * ms);
  EXPECT_EQ(load.limit(), 2u);
}

/// A scheduler on a clock of the test.
class BatchPolicy : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(kiln_model_open(kiln_model_query(KILN_ABI_VERSION), nullptr, &model), KILN_OK);
    options.max_batch = 8;
    options.max_wait_us = 1000;
    options.cooldown_ms = 1000;
    ASSERT_TRUE(batch.items.allocate(8));
  }
  void TearDown() override { EXPECT_EQ(kiln_model_close(model), KILN_OK); }

  void configure() { ASSERT_TRUE(scheduler.configure(model, options)); }

  struct Queued {
    Item item;
    DLTensor inputs[2] = {};
    kiln::rt::Request request;
    Queued(uint32_t rows, int64_t k) : item(rows, k, 1) {
      inputs[0] = item.x.view;
      request.inputs = inputs;
      request.rows = rows;
      request.priority = 1;
      request.deadline = kiln::rt::kForever;
    }
  };
  Queued &add(uint64_t arrival, uint32_t rows = 1, uint64_t deadline = kiln::rt::kForever) {
    queued.push_back(std::make_unique<Queued>(rows, 5));
    queued.back()->request.arrival = arrival;
    queued.back()->request.deadline = deadline;
    scheduler.add(queued.back()->request);
    return *queued.back();
  }
  /// Runs one batch of so many rows, so that its cost is known.
  void learn(uint32_t rows, uint64_t cost) {
    add(1, rows);
    ASSERT_EQ(scheduler.pick(2, true, batch), Scheduler::Pick::Take);
    scheduler.finished(batch, cost);
  }
  /// One row costs 100 us, two hardly more.
  void learnThatBatchesPay() {
    learn(1, 100 * us);
    learn(2, 105 * us);
    learn(4, 110 * us);
    learn(8, 120 * us);
  }

  kiln_model *model = nullptr;
  kiln_batcher_options options = {};
  Scheduler scheduler;
  Batch batch;
  std::vector<std::unique_ptr<Queued>> queued;
};

TEST_F(BatchPolicy, WithoutWaitWhatIsThereGoes) {
  options.max_wait_us = 0;
  configure();
  learnThatBatchesPay();
  add(10 * ms);
  add(10 * ms + 10 * us);
  EXPECT_EQ(scheduler.pick(10 * ms + 20 * us, false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(batch.rows, 2u);
}

TEST_F(BatchPolicy, UnknownCostsAndRatesAreNoReasonToWait) {
  configure();
  add(10 * ms);
  EXPECT_EQ(scheduler.pick(10 * ms + us, false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(scheduler.pick(10 * ms + us, false, batch), Scheduler::Pick::Nothing);
}

TEST_F(BatchPolicy, FastArrivalsHoldABatchOpen) {
  configure();
  learnThatBatchesPay();
  uint64_t now = 10 * ms;
  // Gaps shrink the mean from the long one at first.
  for (int i = 0; i != 60; ++i) {
    add(now += 10 * us);
    if (scheduler.waiting() == 8) {
      ASSERT_EQ(scheduler.pick(now, true, batch), Scheduler::Pick::Take);
      scheduler.finished(batch, 120 * us);
    }
  }
  while (scheduler.waiting()) {
    ASSERT_EQ(scheduler.pick(now, true, batch), Scheduler::Pick::Take);
    scheduler.finished(batch, 120 * us);
  }
  add(now += 10 * us);
  ASSERT_EQ(scheduler.pick(now, false, batch), Scheduler::Pick::Hold);
  EXPECT_GT(scheduler.holdUntil, now);
  EXPECT_LE(scheduler.holdUntil, now + 1000 * us);
  EXPECT_EQ(scheduler.holdRows, 7u);
  // Eager callers do not wait.
  add(now += 10 * us);
  uint64_t until = scheduler.holdUntil;
  // Nothing came for longer than was to be expected.
  EXPECT_EQ(scheduler.pick(std::max(until, now + 2 * ms), false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(batch.rows, 2u);
  scheduler.finished(batch, 105 * us);
  // A full batch goes at once.
  for (int i = 0; i != 8; ++i)
    add(now += 10 * us);
  EXPECT_EQ(scheduler.pick(now, false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(batch.rows, 8u);
}

TEST_F(BatchPolicy, AFutileHoldIsNotRepeatedSoon) {
  configure();
  learnThatBatchesPay();
  uint64_t now = 10 * ms;
  // A client that sends as soon as it has its answer.
  int holds = 0;
  for (int i = 0; i != 200; ++i) {
    add(now += 20 * us);
    if (scheduler.pick(now, false, batch) == Scheduler::Pick::Hold) {
      ++holds;
      now = scheduler.holdUntil;
      ASSERT_EQ(scheduler.pick(now, false, batch), Scheduler::Pick::Take);
    }
    scheduler.finished(batch, 100 * us);
  }
  EXPECT_GT(holds, 0);
  EXPECT_LT(holds, 20);
}

TEST_F(BatchPolicy, DeadlinesOrderAndExpire) {
  options.max_wait_us = 0;
  configure();
  learnThatBatchesPay();
  uint64_t now = 10 * ms;
  Queued &patient = add(now), &soon = add(now + 1, 1, now + 500 * us),
         &sooner = add(now + 2, 1, now + 300 * us), &hopeless = add(now + 3, 1, now + 50 * us);
  EXPECT_EQ(scheduler.takeExpired(now + 10), &hopeless.request);
  EXPECT_EQ(scheduler.takeExpired(now + 10), nullptr);
  ASSERT_EQ(scheduler.pick(now + 10, false, batch), Scheduler::Pick::Take);
  ASSERT_EQ(batch.count, 3u);
  EXPECT_EQ(batch.items[0].request, &sooner.request);
  EXPECT_EQ(batch.items[1].request, &soon.request);
  EXPECT_EQ(batch.items[2].request, &patient.request);
}

TEST_F(BatchPolicy, ABatchIsNoLargerThanItsDeadlinesAllow) {
  options.max_wait_us = 0;
  configure();
  for (uint32_t rows : {1, 2, 4, 8})
    learn(rows, rows * 100 * us);
  uint64_t now = 10 * ms;
  Queued &hurried = add(now, 1, now + 350 * us);
  for (int i = 0; i != 7; ++i)
    add(now);
  ASSERT_EQ(scheduler.pick(now, false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(batch.items[0].request, &hurried.request);
  EXPECT_EQ(batch.rows, 3u);
  EXPECT_EQ(batch.expected, 300 * us);
  scheduler.finished(batch, 300 * us);
  // Those that are left have time.
  ASSERT_EQ(scheduler.pick(now, false, batch), Scheduler::Pick::Take);
  EXPECT_EQ(batch.rows, 5u);
}

TEST_F(BatchPolicy, MoreShapesThanBucketsStillRun) {
  options.max_wait_us = 0;
  configure();
  for (int64_t k = 1; k <= 40; ++k) {
    queued.push_back(std::make_unique<Queued>(1, k));
    queued.back()->request.arrival = uint64_t(k);
    scheduler.add(queued.back()->request);
  }
  for (int64_t k = 1; k <= 40; ++k) {
    ASSERT_EQ(scheduler.pick(1000, false, batch), Scheduler::Pick::Take) << k;
    EXPECT_EQ(batch.count, 1u);
    scheduler.finished(batch, us);
  }
  EXPECT_EQ(scheduler.waiting(), 0u);
}

} // namespace
