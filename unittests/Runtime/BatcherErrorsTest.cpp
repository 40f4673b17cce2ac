//===- BatcherErrorsTest.cpp - Bad input, no memory, forks ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BatcherSupport.h"
#include "PrometheusText.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace kiln::test;

namespace {

TEST_F(Batcher, AChildOnlyCloses) {
#ifdef KILN_UNDER_TSAN
  GTEST_SKIP() << "the sanitizer's own threads do not survive a fork";
#endif
  start();
  Plug plug(*this);
  Item item(1, 5, 1);
  ASSERT_EQ(item.submit(batcher), KILN_OK);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    Item own(1, 5, 2);
    bool right = own.run(batcher) == KILN_UNSUPPORTED && own.submit(batcher) == KILN_UNSUPPORTED &&
                 item.wait(batcher) == KILN_UNSUPPORTED &&
                 kiln_batcher_drain(batcher, UINT64_MAX) == KILN_UNSUPPORTED &&
                 kiln_batcher_close(batcher, KILN_CLOSE_DRAIN) == KILN_OK;
    // A new one works.
    kiln_batcher *fresh = nullptr;
    right = right && kiln_batcher_create(model, nullptr, &fresh) == KILN_OK &&
            own.run(fresh) == KILN_OK && kiln_batcher_close(fresh, KILN_CLOSE_DRAIN) == KILN_OK;
    _exit(right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  plug.pull();
  EXPECT_EQ(item.wait(batcher), KILN_OK);
  item.check();
}

TEST_F(Batcher, FiguresAsPrometheusReadsThem) {
  start();
  for (uint32_t i = 0; i != 3; ++i)
    ASSERT_EQ(Item(2, 5, i).run(batcher), KILN_OK);
  EXPECT_EQ(Item(13, 5, 1).run(batcher), KILN_CONSTRAINT);
  EXPECT_EQ(kiln_batcher_drain(batcher, UINT64_MAX), KILN_OK);
  std::string text = expectPrometheusText(
      [&](char *out, size_t size) { return kiln_batcher_metrics_text(batcher, out, size); });
  for (const char *line :
       {"requests_total{model=\"batch\",result=\"completed\"} 3",
        "requests_total{model=\"batch\",result=\"failed\"} 1",
        "batch_rows_bucket{model=\"batch\",le=\"1\"} 0",
        "batch_rows_bucket{model=\"batch\",le=\"3\"} 3",
        "batch_rows_bucket{model=\"batch\",le=\"+Inf\"} 4", "batch_rows_sum{model=\"batch\"} 19",
        "request_seconds_count{model=\"batch\"} 3"})
    EXPECT_NE(text.find("kiln_batcher_" + std::string(line) + "\n"), std::string::npos)
        << line << "\n"
        << text;
  kiln_batcher_stats now = stats();
  EXPECT_GE(now.total_ns, now.queue_ns / 2);
  EXPECT_GT(now.queue_ns, 0u);
  // Of an older artefact, whose table ends before this call.
  kiln_batcher_api oldTable = *batcher->api;
  oldTable.struct_size = offsetof(kiln_batcher_api, metrics_text);
  kiln_batcher old = {&oldTable};
  EXPECT_EQ(kiln_batcher_metrics_text(&old, nullptr, 0), 0u);
  EXPECT_EQ(kiln_batcher_metrics_text(nullptr, nullptr, 0), 0u);
}

TEST_F(Batcher, BadInputIsAStatus) {
  options.max_batch = 100000;
  EXPECT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "max_batch: expected 0 to 65536, got 100000");
  options.max_batch = 0;
  options.workers = 65;
  EXPECT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_INVALID_ARGUMENT);
  options.workers = 0;
  for (uint32_t kiln_batcher_options::*number :
       {&kiln_batcher_options::session_threads, &kiln_batcher_options::max_batch,
        &kiln_batcher_options::queue_limit, &kiln_batcher_options::max_wait_us,
        &kiln_batcher_options::max_exec_us, &kiln_batcher_options::spin_us,
        &kiln_batcher_options::flags, &kiln_batcher_options::rate, &kiln_batcher_options::burst,
        &kiln_batcher_options::target_p99_us, &kiln_batcher_options::cooldown_ms}) {
    options.*number = UINT32_MAX;
    EXPECT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_INVALID_ARGUMENT) << error;
    options.*number = 0;
  }
  options.cpus = "4-";
  EXPECT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "cpus: '4-' is no list of CPUs that may be used");
  options.cpus = nullptr;
  options.struct_size = 3;
  EXPECT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_INVALID_ARGUMENT);
  options.struct_size = sizeof options;
  EXPECT_EQ(kiln_batcher_create(model, &options, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_create(nullptr, &options, &batcher), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(batcher, nullptr);
  start();
  Item item(2, 5, 1);
  const DLTensor *inputs[] = {&item.x.view, nullptr, nullptr};
  DLTensor *outputs[] = {&item.y.view, &item.t.view, &item.ends.view, &item.shared.view};
  auto submit = [&](uint32_t numInputs, uint32_t numOutputs, bool withOutputs = true) {
    return kiln_batcher_submit(batcher, inputs, numInputs, withOutputs ? outputs : nullptr,
                               numOutputs, nullptr, &item.ticket);
  };
  EXPECT_EQ(submit(3, 4), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(submit(0, 4), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(submit(1, 3), KILN_INVALID_ARGUMENT);
  // Neither memory for outputs nor a callback that would see them.
  EXPECT_EQ(submit(1, 0, false), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_submit(batcher, inputs, 1, outputs, 4, nullptr, nullptr),
            KILN_INVALID_ARGUMENT);
  outputs[1] = nullptr;
  EXPECT_EQ(submit(1, 4), KILN_INVALID_ARGUMENT);
  outputs[1] = &item.t.view;
  kiln_submit_options how = {};
  EXPECT_EQ(kiln_batcher_submit(batcher, inputs, 1, outputs, 4, &how, &item.ticket),
            KILN_INVALID_ARGUMENT);
  how.struct_size = sizeof how;
  how.priority = 3;
  EXPECT_EQ(kiln_batcher_submit(batcher, inputs, 1, outputs, 4, &how, &item.ticket),
            KILN_INVALID_ARGUMENT);
  how.priority = 0;
  how.reserved = 1;
  EXPECT_EQ(kiln_batcher_submit(batcher, inputs, 1, outputs, 4, &how, &item.ticket),
            KILN_INVALID_ARGUMENT);
  auto with = [&](auto change) {
    DLTensor kept = item.x.view;
    change(item.x.view);
    kiln_status_t status = submit(1, 4);
    item.x.view = kept;
    return status;
  };
  EXPECT_EQ(with([](DLTensor &x) { x.data = nullptr; }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(with([](DLTensor &x) { x.ndim = 1; }), KILN_INVALID_SHAPE);
  EXPECT_EQ(with([](DLTensor &x) { x.ndim = -1; }), KILN_INVALID_SHAPE);
  EXPECT_EQ(with([](DLTensor &x) { x.shape = nullptr; }), KILN_INVALID_SHAPE);
  EXPECT_EQ(with([](DLTensor &x) { x.dtype.bits = 64; }), KILN_INVALID_TYPE);
  EXPECT_EQ(with([](DLTensor &x) { x.device.device_type = kDLCUDA; }), KILN_UNSUPPORTED);
  int64_t strides[] = {1, 2}, zeroRows[] = {0, 5}, huge[] = {2, int64_t(1) << 62},
          beyond[] = {2, 513}, negative[] = {-1, 5};
  EXPECT_EQ(with([&](DLTensor &x) { x.strides = strides; }), KILN_INVALID_SHAPE);
  for (int64_t *shape : {zeroRows, huge, beyond, negative})
    EXPECT_EQ(with([&](DLTensor &x) { x.shape = shape; }), KILN_INVALID_SHAPE);
  EXPECT_EQ(kiln_batcher_close(batcher, 7), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_close(nullptr, 0), KILN_OK);
  EXPECT_EQ(kiln_batcher_wait(batcher, 12345, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_drain(nullptr, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_batcher_get_stats(batcher, nullptr), KILN_INVALID_ARGUMENT);
  // As it was.
  EXPECT_EQ(item.run(batcher), KILN_OK);
  item.check();
  EXPECT_EQ(kiln_model_close(model), KILN_BUSY);
}

TEST_F(Batcher, EveryAllocationMayFail) {
  uint64_t before = api->live_objects();
  bool reached = false;
  int64_t count = 0;
  for (; !reached && count != 300; ++count) {
    allocationsLeft = count;
    kiln_status_t status = kiln_batcher_create(model, &options, &batcher);
    allocationsLeft = -1;
    ASSERT_TRUE(status == KILN_OK || status == KILN_OUT_OF_MEMORY) << status;
    reached = status == KILN_OK;
    if (!reached) {
      ASSERT_EQ(batcher, nullptr);
      ASSERT_EQ(api->live_objects(), before) << count;
    }
  }
  EXPECT_TRUE(reached);
  EXPECT_GT(count, 10);
  Item item(1, 5, 1);
  EXPECT_EQ(item.run(batcher), KILN_OK);
}

/// Whichever allocation of a run fails, its request is told, and the next is none the worse.
TEST_F(Batcher, EveryAllocationOfARunMayFail) {
  // The caller itself runs the request, in parts, so that rows are copied.
  options.flags = KILN_BATCHER_CALLERS_WORK | KILN_BATCHER_NO_SPIN | KILN_BATCHER_NO_TRIAL_RUNS;
  options.max_batch = 4;
  bool reached = false, failed = false;
  for (int64_t count = 0; !reached && count != 100; ++count) {
    start();
    Item a(11, 5, 1);
    allocationsLeft = count;
    kiln_status_t status = a.run(batcher);
    allocationsLeft = -1;
    ASSERT_TRUE(status == KILN_OK || status == KILN_OUT_OF_MEMORY) << status;
    failed |= status == KILN_OUT_OF_MEMORY;
    // A worker that is just starting may have been quicker.
    reached = status == KILN_OK && stats().by_callers == 3;
    if (status == KILN_OK)
      a.check();
    EXPECT_EQ(stats().failed, status == KILN_OK ? 0u : 1u);
    Item b(11, 5, 2);
    ASSERT_EQ(b.run(batcher), KILN_OK);
    b.check();
    ASSERT_EQ(kiln_batcher_close(batcher, KILN_CLOSE_DRAIN), KILN_OK);
    batcher = nullptr;
  }
  EXPECT_TRUE(reached);
  EXPECT_TRUE(failed);
}

} // namespace
