//===- Load.cpp - Sending requests, and what became of them ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Load.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

namespace bench {

double percentile(std::vector<float> &values, double p) {
  if (values.empty())
    return 0;
  size_t at = std::min(values.size() - 1, size_t(double(values.size()) * p));
  std::nth_element(values.begin(), values.begin() + long(at), values.end());
  return double(values[at]);
}

namespace {

/// What finished; each thread of a front end writes its own places.
struct Recorder {
  explicit Recorder(size_t capacity) : times(capacity) {}
  std::vector<float> times;
  std::atomic<size_t> count{0};
  std::atomic<uint64_t> failed{0};

  void note(uint64_t from, kiln_status_t status) {
    if (status != KILN_OK) {
      ++failed;
      return;
    }
    size_t at = count.fetch_add(1, std::memory_order_relaxed);
    if (at < times.size())
      times[at] = float(nanoseconds() - from) / 1000;
  }
  void fill(Outcome &outcome) {
    times.resize(std::min(times.size(), count.load()));
    outcome.failed = failed;
    outcome.goodput = double(count) / outcome.seconds;
    outcome.p50 = percentile(times, 0.5);
    outcome.p99 = percentile(times, 0.99);
    outcome.p999 = percentile(times, 0.999);
  }
};

void sleepUntil(uint64_t due) {
  constexpr uint64_t slack = 100000;
  for (uint64_t now = nanoseconds(); now < due; now = nanoseconds()) {
    if (due - now < slack)
      continue;
    timespec time = {0, long(std::min<uint64_t>(due - now - slack, 100000000))};
    nanosleep(&time, nullptr);
  }
}

} // namespace

Outcome runOpen(FrontEnd &frontEnd, const Model &model, const OpenLoad &load) {
  std::mt19937_64 random(load.seed);
  std::exponential_distribution<double> gap(load.rate / (load.bursts ? 16 : 1));
  Recorder recorder(size_t(load.rate * load.seconds * 1.5) + 1000);
  // As many as may be under way; who finds none free is refused.
  constexpr size_t mostUnderWay = 8192;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<Request *> free;
  std::mutex lock;
  for (size_t i = 0; i != mostUnderWay; ++i) {
    requests.push_back(std::make_unique<Request>(model, load.lengths[i % load.lengths.size()]));
    requests.back()->done = [&](Request &self, kiln_status_t status) {
      recorder.note(self.due, status);
      std::lock_guard locked(lock);
      free.push_back(&self);
    };
    free.push_back(requests.back().get());
  }
  auto take = [&]() -> Request * {
    std::lock_guard locked(lock);
    if (free.empty())
      return nullptr;
    Request *request = free.back();
    free.pop_back();
    return request;
  };
  Outcome outcome;
  uint64_t start = nanoseconds();
  double at = 0;
  while (at < load.seconds) {
    at += gap(random);
    uint64_t due = start + uint64_t(at * 1e9);
    sleepUntil(due);
    for (int i = 0; i != (load.bursts ? 16 : 1); ++i) {
      Request *request = take();
      ++outcome.sent;
      if (request)
        request->due = due;
      if (!request || !frontEnd.submit(*request)) {
        ++outcome.refused;
        std::lock_guard locked(lock);
        if (request)
          free.push_back(request);
      }
    }
  }
  frontEnd.drain();
  outcome.seconds = double(nanoseconds() - start) * 1e-9;
  outcome.offered = double(outcome.sent) / outcome.seconds;
  recorder.fill(outcome);
  return outcome;
}

Outcome runClosed(FrontEnd &frontEnd, const Model &model, uint32_t clients, double seconds,
                  const std::vector<int64_t> &lengths) {
  Recorder recorder(20000000);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> sent{0};
  std::vector<std::unique_ptr<Request>> requests;
  for (uint32_t i = 0; i != clients; ++i) {
    requests.push_back(std::make_unique<Request>(model, lengths[i % lengths.size()]));
    requests.back()->done = [&](Request &self, kiln_status_t status) {
      recorder.note(self.due, status);
      if (stop.load(std::memory_order_relaxed))
        return;
      self.due = nanoseconds();
      ++sent;
      frontEnd.submit(self);
    };
  }
  Outcome outcome;
  uint64_t start = nanoseconds();
  for (auto &request : requests) {
    request->due = nanoseconds();
    frontEnd.submit(*request);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  frontEnd.drain();
  outcome.seconds = double(nanoseconds() - start) * 1e-9;
  outcome.sent = sent;
  recorder.fill(outcome);
  return outcome;
}

} // namespace bench
