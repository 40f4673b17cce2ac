//===- MetricsTest.cpp - Counts, times, profile, memory plan --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PrometheusText.h"
#include "TestSupport.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

using namespace kiln::test;

namespace {

class Metrics : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(kiln_model_open(kiln_model_query(KILN_ABI_VERSION), nullptr, &model), KILN_OK);
  }
  void TearDown() override {
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
  }
  kiln_status_t create(uint32_t flags, uint32_t traceEvents = 0, uint32_t threads = 1) {
    kiln_session_options options = {};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.trace_events = traceEvents;
    options.threads = threads;
    return kiln_session_create(model, &options, &session);
  }
  kiln_status_t run(int64_t n) {
    Tensor x({n, 8});
    const DLTensor *inputs[] = {&x.view};
    DLTensor y = {}, z = {}, late = {};
    DLTensor *outputs[] = {&y, &z, &late};
    return kiln_run(session, inputs, 1, outputs, 3, nullptr);
  }
  kiln_metrics metrics() {
    kiln_metrics metrics = {};
    metrics.struct_size = sizeof metrics;
    EXPECT_EQ(kiln_model_get_metrics(model, &metrics), KILN_OK);
    return metrics;
  }

  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
};

} // namespace

TEST_F(Metrics, CountRunsFailuresAndPlans) {
  ASSERT_EQ(create(0), KILN_OK);
  for (int64_t n : {4, 4, 7, 4})
    EXPECT_EQ(run(n), KILN_OK);
  EXPECT_EQ(run(13), KILN_CONSTRAINT);
  EXPECT_EQ(run(65), KILN_INVALID_SHAPE);
  EXPECT_EQ(kiln_run(session, nullptr, 9, nullptr, 3, nullptr), KILN_INVALID_ARGUMENT);
  DLManagedTensorVersioned *managed[3];
  EXPECT_EQ(kiln_run_managed(session, nullptr, 0, managed, 1, nullptr), KILN_INVALID_ARGUMENT);
  kiln_metrics now = metrics();
  EXPECT_EQ(now.runs, 8u);
  EXPECT_EQ(now.plans, 2u);
  EXPECT_EQ(now.sessions, 1u);
  EXPECT_EQ(now.failures[KILN_CONSTRAINT], 1u);
  EXPECT_EQ(now.failures[KILN_INVALID_SHAPE], 1u);
  EXPECT_EQ(now.failures[KILN_INVALID_ARGUMENT], 2u);
  EXPECT_EQ(now.timed_runs, 0u);
  // Sessions that are gone still count.
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  session = nullptr;
  EXPECT_EQ(metrics().runs, 8u);
  EXPECT_EQ(metrics().sessions, 0u);
}

TEST_F(Metrics, TimeRunsWhenAsked) {
  ASSERT_EQ(create(KILN_SESSION_TIME_RUNS), KILN_OK);
  for (int i = 0; i != 10; ++i)
    EXPECT_EQ(run(60), KILN_OK);
  kiln_metrics now = metrics();
  EXPECT_EQ(now.timed_runs, 10u);
  EXPECT_GE(now.run_time_ns, now.longest_ns);
  EXPECT_GT(now.longest_ns, 0u);
  EXPECT_EQ(std::accumulate(std::begin(now.times), std::end(now.times), uint64_t(0)), 10u);
}

TEST_F(Metrics, TextIsWhatPrometheusReads) {
  ASSERT_EQ(create(KILN_SESSION_TIME_RUNS), KILN_OK);
  EXPECT_EQ(run(5), KILN_OK);
  std::string text = expectPrometheusText(
      [&](char *out, size_t size) { return kiln_model_metrics_text(model, out, size); });
  EXPECT_NE(text.find("kiln_runs_total{model=\"test\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("kiln_run_seconds_bucket{model=\"test\",le=\"+Inf\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("kiln_breaker_state{model=\"test\"} 0\n"), std::string::npos);
  EXPECT_EQ(kiln_model_metrics_text(nullptr, nullptr, 0), 0u);
}

TEST_F(Metrics, ProfileNamesEveryLaunch) {
  for (uint32_t threads : {1u, 2u}) {
    ASSERT_EQ(create(KILN_SESSION_PROFILE, 4, threads), KILN_OK);
    for (int i = 0; i != 5; ++i)
      EXPECT_EQ(run(32), KILN_OK);
    kiln_profile_row rows[8];
    uint32_t count = 0;
    ASSERT_EQ(kiln_session_profile(session, rows, 8, &count), KILN_OK);
    ASSERT_EQ(count, 3u);
    EXPECT_STREQ(rows[0].kernel, "matmul");
    EXPECT_STREQ(rows[2].nodes, "Mul_3,Add_4,Concat_5");
    for (uint32_t i = 0; i != count; ++i) {
      EXPECT_EQ(rows[i].launches, 5u);
      EXPECT_LE(rows[i].shortest_ns, rows[i].longest_ns);
      EXPECT_GE(rows[i].total_ns, rows[i].longest_ns);
    }
    // The latest four of fifteen launches.
    kiln_trace_event events[8];
    ASSERT_EQ(kiln_session_trace(session, events, 8, &count), KILN_OK);
    ASSERT_EQ(count, 4u);
    EXPECT_EQ(events[0].row, 2u);
    EXPECT_EQ(events[1].row, 0u);
    EXPECT_EQ(events[1].chunks, 16u);
    for (int i = 1; i != 4; ++i)
      EXPECT_GE(events[i].start_ns, events[i - 1].start_ns + events[i - 1].duration_ns);
    EXPECT_EQ(kiln_session_reset_profile(session), KILN_OK);
    EXPECT_EQ(kiln_session_profile(session, rows, 1, &count), KILN_OK);
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(rows[0].launches, 0u);
    EXPECT_EQ(kiln_session_trace(session, nullptr, 0, &count), KILN_OK);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    session = nullptr;
  }
}

TEST_F(Metrics, RefuseWhatCannotBe) {
  EXPECT_EQ(create(16), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(create(KILN_SESSION_PROFILE, (1u << 24) + 1), KILN_INVALID_ARGUMENT);
  ASSERT_EQ(create(0), KILN_OK);
  uint32_t count;
  EXPECT_EQ(kiln_session_profile(session, nullptr, 0, &count), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_reset_profile(session), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_profile(session, nullptr, 1, &count), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_session_trace(session, nullptr, 0, nullptr), KILN_INVALID_ARGUMENT);
  kiln_memory_plan plan = {};
  EXPECT_EQ(kiln_session_memory_plan(session, &plan, nullptr, 0), KILN_INVALID_ARGUMENT);
  plan.struct_size = sizeof plan;
  EXPECT_EQ(kiln_session_memory_plan(session, &plan, nullptr, 0), KILN_UNSUPPORTED);
  kiln_metrics metrics = {};
  EXPECT_EQ(kiln_model_get_metrics(model, &metrics), KILN_INVALID_ARGUMENT);
}

TEST_F(Metrics, MemoryPlanIsTheOneInUse) {
  ASSERT_EQ(create(0), KILN_OK);
  EXPECT_EQ(run(20), KILN_OK);
  kiln_memory_plan plan = {};
  plan.struct_size = sizeof plan;
  kiln_plan_buffer buffers[4];
  ASSERT_EQ(kiln_session_memory_plan(session, &plan, buffers, 4), KILN_OK);
  EXPECT_EQ(plan.num_buffers, 2u);
  EXPECT_EQ(plan.num_launches, 3u);
  EXPECT_EQ(buffers[0].bytes, 20u * 16);
  EXPECT_STREQ(buffers[0].kernel, "matmul");
  EXPECT_STREQ(buffers[1].kernel, "relu");
  EXPECT_STREQ(buffers[1].nodes, "Relu_2");
  EXPECT_EQ(buffers[0].first, 0u);
  EXPECT_EQ(buffers[0].last, 1u);
  EXPECT_EQ(buffers[1].first, 1u);
  EXPECT_EQ(buffers[1].last, 2u);
  // Both live at the second launch.
  EXPECT_EQ(plan.lower_bound, 2u * 320);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
}

TEST_F(Metrics, TrimmedSessionsGiveBackWhatTheyDoNotNeed) {
  ASSERT_EQ(create(0), KILN_OK);
  kiln_pool *pool = kiln_session_pool(session);
  kiln_pool_stats stats = {};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(run(64), KILN_OK);
  EXPECT_EQ(kiln_pool_get_stats(pool, &stats), KILN_OK);
  uint64_t peak = stats.static_used;
  EXPECT_EQ(run(1), KILN_OK);
  EXPECT_EQ(kiln_pool_get_stats(pool, &stats), KILN_OK);
  EXPECT_EQ(stats.static_used, peak) << "kept for the next large one";
  EXPECT_EQ(kiln_pool_trim(pool, 0), KILN_OK);
  EXPECT_EQ(run(1), KILN_OK);
  EXPECT_EQ(kiln_pool_get_stats(pool, &stats), KILN_OK);
  EXPECT_LT(stats.static_used, peak / 4);
  EXPECT_EQ(run(64), KILN_OK);
}

TEST_F(Metrics, SessionsLiveInAPoolOfTheCallers) {
  kiln_pool *pool = nullptr;
  kiln_pool_options options = {};
  options.struct_size = sizeof options;
  options.flags = KILN_POOL_DEBUG;
  ASSERT_EQ(kiln_pool_create(model->api, &options, &pool), KILN_OK);
  kiln_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.threads = 1;
  sessionOptions.pool = pool;
  ASSERT_EQ(kiln_session_create(model, &sessionOptions, &session), KILN_OK);
  EXPECT_EQ(kiln_session_pool(session), pool);
  EXPECT_EQ(kiln_pool_destroy(pool), KILN_BUSY);
  for (int64_t n : {1, 64, 3, 20})
    EXPECT_EQ(run(n), KILN_OK);
  Tensor x({9, 8});
  const DLTensor *inputs[] = {&x.view};
  DLManagedTensorVersioned *managed[3];
  EXPECT_EQ(kiln_run_managed(session, inputs, 1, managed, 3, nullptr), KILN_OK);
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  session = nullptr;
  EXPECT_EQ(kiln_pool_destroy(pool), KILN_BUSY) << "managed outputs live there";
  for (DLManagedTensorVersioned *output : managed)
    output->deleter(output);
  kiln_pool_stats stats = {};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(kiln_pool_get_stats(pool, &stats), KILN_OK);
  EXPECT_EQ(stats.damaged, 0u);
  EXPECT_EQ(stats.used, 0u);
  EXPECT_EQ(stats.static_used, 0u);
  EXPECT_GT(stats.static_allocations, 0u);
  EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
}

TEST_F(Metrics, AHardLimitIsAStatusOfTheRun) {
  kiln_pool *pool = nullptr;
  kiln_pool_options options = {};
  options.struct_size = sizeof options;
  options.hard_limit = 1000;
  ASSERT_EQ(kiln_pool_create(model->api, &options, &pool), KILN_OK);
  kiln_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.threads = 1;
  sessionOptions.pool = pool;
  ASSERT_EQ(kiln_session_create(model, &sessionOptions, &session), KILN_OK);
  EXPECT_EQ(run(64), KILN_OUT_OF_MEMORY);
  EXPECT_STRNE(kiln_session_error(session), "");
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  session = nullptr;
  EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
}

TEST_F(Metrics, OlderArtefactsLackTheCallsButDoNotCrash) {
  ASSERT_EQ(create(0), KILN_OK);
  // As one of version 1.0 would be.
  kiln_api old = *session->api;
  old.struct_size = offsetof(kiln_api, batcher_create);
  std::memset(reinterpret_cast<char *>(&old) + old.struct_size, 0, sizeof old - old.struct_size);
  kiln_session oldSession = {&old};
  kiln_model oldModel = {&old};
  uint32_t count;
  kiln_pool *pool;
  kiln_memory_plan plan = {};
  plan.struct_size = sizeof plan;
  kiln_metrics now = {};
  now.struct_size = sizeof now;
  kiln_integrity_stats stats = {};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(kiln_pool_create(&old, nullptr, &pool), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_pool(&oldSession), nullptr);
  EXPECT_EQ(kiln_session_profile(&oldSession, nullptr, 0, &count), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_trace(&oldSession, nullptr, 0, &count), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_reset_profile(&oldSession), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_session_memory_plan(&oldSession, &plan, nullptr, 0), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_model_check(&oldModel, 0), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_model_get_metrics(&oldModel, &now), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_model_get_integrity(&oldModel, &stats), KILN_UNSUPPORTED);
  EXPECT_EQ(kiln_model_metrics_text(&oldModel, nullptr, 0), 0u);
}
