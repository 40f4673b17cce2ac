//===- SessionReports.cpp - Profile and memory plan of a session ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

#include <cstring>

namespace kiln::rt {

template <typename Body> kiln_status_t Session::withProfile(Body body) {
  return locked([&](Session &session) {
    session.error.clear();
    if (!session.profiles)
      return session.error.fail(KILN_UNSUPPORTED,
                                "the session was made without KILN_SESSION_PROFILE");
    body(session.profile);
    return KILN_OK;
  });
}

kiln_status_t Session::copyProfile(kiln_profile_row *rows, uint32_t capacity, uint32_t &count) {
  count = 0;
  return withProfile([&](Profile &profile) {
    count = profile.numRows();
    for (uint32_t i = 0; i != count && i != capacity; ++i)
      rows[i] = profile.firstRow()[i];
  });
}

kiln_status_t Session::copyTrace(kiln_trace_event *events, uint32_t capacity, uint32_t &count) {
  count = 0;
  return withProfile([&](Profile &profile) { count = profile.copyEvents(events, capacity); });
}

kiln_status_t Session::resetProfile() {
  return withProfile([](Profile &profile) { profile.reset(); });
}

/// Launches whose step is before this one.
static uint32_t launchesBefore(const kiln_module &module, uint32_t step) {
  const uint32_t *steps = module.launch_steps;
  return steps ? uint32_t(std::lower_bound(steps, steps + module.num_launches, step) - steps)
               : std::min(step, module.num_launches);
}

kiln_status_t Session::describePlan(kiln_memory_plan &out, kiln_plan_buffer *buffers,
                                    uint32_t capacity) {
  return locked(
      [&](Session &session) { return session.describeLatestPlan(out, buffers, capacity); });
}

kiln_status_t Session::describeLatestPlan(kiln_memory_plan &out, kiln_plan_buffer *buffers,
                                          uint32_t capacity) {
  error.clear();
  const Plan *plan = plans.latestPlan();
  if (!plan)
    return error.fail(KILN_UNSUPPORTED, "no run has made a plan yet");
  module.sizes(plan->symbols, sizes.get());
  kiln_memory_plan summary = {};
  summary.struct_size = std::min(out.struct_size, sizeof summary);
  summary.arena_bytes = plan->arenaBytes;
  summary.scratch_bytes = plan->totalBytes - plan->arenaBytes;
  summary.num_buffers = module.num_buffers;
  summary.num_launches = module.num_launches;
  // The largest sum is reached where a buffer begins to live.
  for (uint32_t i = 0; i != module.num_buffers; ++i) {
    uint64_t live = 0;
    for (uint32_t other = 0; other != module.num_buffers; ++other)
      if (module.buffers[other].first <= module.buffers[i].first &&
          module.buffers[other].last >= module.buffers[i].first)
        live += alignUp(sizes[other], kAlignment);
    summary.lower_bound = std::max(summary.lower_bound, live);
  }
  for (uint32_t i = 0; i != module.num_buffers && i != capacity; ++i) {
    const kiln_module_buffer &buffer = module.buffers[i];
    kiln_plan_buffer &row = buffers[i];
    row = {};
    uint32_t writer = module.buffer_writers ? module.buffer_writers[i] : module.num_launches;
    bool known = writer < module.num_launches;
    row.kernel = known ? module.launches[writer].kernel : "";
    row.nodes = known ? module.launches[writer].nodes : "";
    row.offset = plan->offsets[i];
    row.bytes = sizes[i];
    row.first = launchesBefore(module, buffer.first);
    row.last = std::max(launchesBefore(module, buffer.last + 1), row.first + 1) - 1;
  }
  std::memcpy(&out, &summary, summary.struct_size);
  return KILN_OK;
}

} // namespace kiln::rt
