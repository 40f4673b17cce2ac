//===- Bench.cpp - Kiln's batcher beside plain front ends -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// batcher-bench ARTEFACT [--seconds S] [--max-batch N] [--max-wait US]
//               [--lengths A,B] [--workers N] [--only PART]
//
// Writes one JSON object. Front ends that are compared take turns, so that all of them
// see the same machine; their figures are the medians of these rounds. Its parts:
//   offline    rows a second of kiln_run for batches of 1, 2, 4 ...
//   overhead   a client alone: kiln_batcher_run less kiln_run, us
//   saturated  64 requests under way: requests a second of each front end
//   open       Poisson and bursts at 50, 80 and 300 % of the batcher's saturated rate, as
//              far as a generator can send them on time
//   steady     100,000 requests a second from many clients, if the model can: what the
//              batcher adds to a request over the run of its batch, us
//   deadlines  at 80 %, each request with a deadline of a few batches: those that were
//              admitted and came late, and of these the ones whose batch overran twice
//              its prediction
//   idle       share of one CPU that a batcher burns 2 ms after its last request
//
//===----------------------------------------------------------------------===//
#include "Load.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/resource.h>
#include <thread>
#include <utility>

using namespace bench;

namespace {

/// Requests a second: more than one generator can send on time would measure the
/// generator.
constexpr double mostOffered = 600000;

struct Arguments {
  const char *artefact = nullptr, *only = nullptr;
  double seconds = 2;
  Settings settings;
  std::vector<int64_t> lengths = {1};
};

Arguments parse(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    auto value = [&](const char *name) {
      bool is = std::strcmp(argv[i], name) == 0 && i + 1 < argc;
      i += is;
      return is;
    };
    if (value("--seconds"))
      arguments.seconds = std::atof(argv[i]);
    else if (value("--max-batch"))
      arguments.settings.maxBatch = uint32_t(std::atoi(argv[i]));
    else if (value("--max-wait"))
      arguments.settings.maxWaitUs = uint32_t(std::atoi(argv[i]));
    else if (value("--only"))
      arguments.only = argv[i];
    else if (value("--workers"))
      arguments.settings.workers = uint32_t(std::atoi(argv[i]));
    else if (value("--lengths")) {
      arguments.lengths.clear();
      for (char *next = argv[i]; *next; next += *next == ',')
        arguments.lengths.push_back(std::strtoll(next, &next, 10));
    } else
      arguments.artefact = argv[i];
  }
  if (!arguments.artefact) {
    std::fprintf(stderr, "batcher-bench: no artefact\n");
    std::exit(2);
  }
  return arguments;
}

/// The best of rows a second over a few tries.
double offlineRate(const Model &model, int64_t rows, int64_t length) {
  kiln_session *session = model.session();
  auto ins = model.inputs(rows, length), outs = model.outputs(rows, length);
  std::vector<const DLTensor *> inputs;
  std::vector<DLTensor *> outputs;
  for (auto &tensor : ins)
    inputs.push_back(&tensor->view);
  for (auto &tensor : outs)
    outputs.push_back(&tensor->view);
  double best = 0;
  for (int attempt = 0; attempt != 5; ++attempt) {
    uint64_t start = nanoseconds(), now = start, runs = 0;
    for (; now - start < 60000000; now = nanoseconds(), ++runs)
      check(kiln_run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                     uint32_t(outputs.size()), nullptr),
            "run");
    best = std::max(best, double(runs) * double(rows) / (double(now - start) * 1e-9));
  }
  kiln_session_destroy(session);
  return best;
}

void writeOverhead(const Model &model, int64_t length) {
  kiln_session *session = model.session();
  kiln_batcher_options options = {};
  options.struct_size = sizeof options;
  options.flags = KILN_BATCHER_CALLERS_WORK;
  kiln_batcher *batcher = nullptr;
  check(kiln_batcher_create(model.model, &options, &batcher), "batcher");
  Request request(model, length);
  std::vector<float> direct, batched;
  constexpr int mostRounds = 20000;
  constexpr uint64_t longest = 4000000000;
  // Alternating, so that both see the same machine.
  uint64_t begin = nanoseconds();
  for (int i = 0; i != mostRounds && nanoseconds() - begin < longest; ++i) {
    uint64_t start = nanoseconds();
    check(kiln_run(session, request.inputs.data(), uint32_t(request.inputs.size()),
                   request.outputs.data(), uint32_t(request.outputs.size()), nullptr),
          "run");
    uint64_t middle = nanoseconds();
    check(kiln_batcher_run(batcher, request.inputs.data(), uint32_t(request.inputs.size()),
                           request.outputs.data(), uint32_t(request.outputs.size()), nullptr),
          "batched run");
    direct.push_back(float(middle - start) / 1000);
    batched.push_back(float(nanoseconds() - middle) / 1000);
  }
  double p50 = percentile(direct, 0.5), p99 = percentile(direct, 0.99);
  double b50 = percentile(batched, 0.5), b99 = percentile(batched, 0.99);
  std::printf("  \"overhead\": {\"direct_p50\": %.3f, \"direct_p99\": %.3f, \"batcher_p50\": %.3f, "
              "\"batcher_p99\": %.3f, \"added_p50\": %.3f, \"added_p99\": %.3f},\n",
              p50, p99, b50, b99, b50 - p50, b99 - p99);
  kiln_batcher_close(batcher, KILN_CLOSE_DRAIN);
  kiln_session_destroy(session);
}

/// Of what the batcher itself counted, while requests come at a fixed rate.
void writeSteady(const Model &model, const Settings &settings, double saturated, double seconds) {
  constexpr double rate = 100000;
  if (saturated < rate * 1.25) {
    std::printf("  \"steady\": null,\n");
    return;
  }
  auto frontEnd = makeFrontEnd("kiln", model, settings);
  OpenLoad load = {rate, seconds, false, {1}};
  Outcome outcome = runOpen(*frontEnd, model, load);
  kiln_batcher_stats stats = frontEnd->stats();
  double batches = double(std::max<uint64_t>(stats.batches, 1));
  std::printf(
      "  \"steady\": {\"goodput\": %.1f, \"p50\": %.2f, \"p99\": %.2f, \"rows_of_a_batch\": %.2f, "
      "\"run_us\": %.3f, \"queue_us\": %.3f, \"refused\": %llu},\n",
      outcome.goodput, outcome.p50, outcome.p99, double(stats.rows) / batches,
      double(stats.busy_ns) / batches / 1000,
      double(stats.queue_ns) / double(std::max<uint64_t>(stats.completed, 1)) / 1000,
      static_cast<unsigned long long>(outcome.refused));
}

/// Admitted requests that came late, at 80 % load.
void writeDeadlines(const Model &model, Settings settings, double saturated, double batchUs,
                    double seconds) {
  settings.deadlineUs = uint32_t(std::max(8 * batchUs, 2000.0));
  auto frontEnd = makeFrontEnd("kiln", model, settings);
  OpenLoad load = {std::min(saturated * 0.8, mostOffered), seconds, false, {1}};
  Outcome outcome = runOpen(*frontEnd, model, load);
  kiln_batcher_stats stats = frontEnd->stats();
  std::printf("  \"deadlines\": {\"deadline_us\": %u, \"completed\": %llu, \"late\": %llu, "
              "\"late_overrun\": %llu, \"given_up\": %llu, \"refused\": %llu, \"p99\": %.1f},\n",
              settings.deadlineUs, static_cast<unsigned long long>(stats.completed),
              static_cast<unsigned long long>(stats.late),
              static_cast<unsigned long long>(stats.late_overrun),
              static_cast<unsigned long long>(stats.expired),
              static_cast<unsigned long long>(stats.refused_deadline), outcome.p99);
}

void writeIdle(const Model &model, const Settings &settings) {
  auto frontEnd = makeFrontEnd("kiln", model, settings);
  runClosed(*frontEnd, model, 4, 0.05, {1});
  auto cpu = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  double before = cpu();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::printf("  \"idle\": %.5f\n", cpu() - before);
}

constexpr const char *kNames[] = {"kiln", "mutex", "fixed", "single"};

/// `run` serves a load through a front end. Of three rounds, the middle of each figure.
template <typename Run>
void writeRounds(const Model &model, const Settings &settings, double seconds, Run run) {
  constexpr size_t rounds = 3;
  Outcome outcomes[std::size(kNames)][rounds];
  for (size_t round = 0; round != rounds; ++round)
    for (size_t i = 0; i != std::size(kNames); ++i) {
      auto frontEnd = makeFrontEnd(kNames[i], model, settings);
      outcomes[i][round] = run(*frontEnd, seconds / rounds);
    }
  for (size_t i = 0; i != std::size(kNames); ++i) {
    auto middle = [&](auto Outcome::*figure) {
      std::nth_element(std::begin(outcomes[i]), &outcomes[i][rounds / 2], std::end(outcomes[i]),
                       [&](const Outcome &a, const Outcome &b) { return a.*figure < b.*figure; });
      return outcomes[i][rounds / 2].*figure;
    };
    auto number = [&](uint64_t Outcome::*figure) {
      return static_cast<unsigned long long>(middle(figure));
    };
    std::printf(
        "      \"%s\": {\"goodput\": %.1f, \"offered\": %.1f, \"p50\": %.1f, \"p99\": %.1f, "
        "\"p999\": %.1f, \"sent\": %llu, \"refused\": %llu, \"failed\": %llu}%s\n",
        kNames[i], middle(&Outcome::goodput), middle(&Outcome::offered), middle(&Outcome::p50),
        middle(&Outcome::p99), middle(&Outcome::p999), number(&Outcome::sent),
        number(&Outcome::refused), number(&Outcome::failed), i + 1 == std::size(kNames) ? "" : ",");
  }
}

/// Requests a second of Kiln's batcher, and microseconds of one of its batches.
struct Capacity {
  double rate, batchUs;
};

/// Of the round in the middle.
Capacity writeSaturated(const Model &model, const Arguments &arguments) {
  std::vector<Capacity> seen;
  std::printf("  \"saturated\": {\n");
  writeRounds(
      model, arguments.settings, arguments.seconds, [&](FrontEnd &frontEnd, double seconds) {
        Outcome outcome = runClosed(frontEnd, model, 64, seconds, arguments.lengths);
        if (kiln_batcher_stats stats = frontEnd.stats(); stats.batches)
          seen.push_back({outcome.goodput, double(stats.busy_ns) / double(stats.batches) / 1000});
        return outcome;
      });
  std::printf("  },\n");
  std::sort(seen.begin(), seen.end(),
            [](const Capacity &a, const Capacity &b) { return a.rate < b.rate; });
  Capacity capacity = seen[seen.size() / 2];
  std::printf("  \"batch_us\": %.2f,\n", capacity.batchUs);
  return capacity;
}

void writeOpen(const Model &model, const Arguments &arguments, double rate) {
  struct Case {
    const char *name;
    double share;
    bool bursts;
  } const cases[] = {{"poisson_50", 0.5, false},
                     {"poisson_80", 0.8, false},
                     {"bursts_50", 0.5, true},
                     {"overload_300", 3, false}};
  std::printf("  \"open\": {\n");
  bool isFirst = true;
  for (const Case &one : cases) {
    if (rate * one.share > mostOffered)
      continue;
    std::printf("%s    \"%s\": {\n", std::exchange(isFirst, false) ? "" : ",\n", one.name);
    writeRounds(model, arguments.settings, arguments.seconds,
                [&](FrontEnd &frontEnd, double seconds) {
                  return runOpen(frontEnd, model,
                                 {rate * one.share, seconds, one.bursts, arguments.lengths});
                });
    std::printf("    }");
  }
  std::printf("\n  },\n");
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments = parse(argc, argv);
  Model model(arguments.artefact);
  const Settings &settings = arguments.settings;
  int64_t length = arguments.lengths.front();
  auto wanted = [&](const char *part) {
    return !arguments.only || std::strcmp(arguments.only, part) == 0;
  };
  std::printf("{\n  \"max_wait_us\": %u,\n", settings.maxWaitUs);
  if (wanted("offline")) {
    std::printf("  \"offline\": {");
    for (uint32_t rows = 1; rows <= settings.maxBatch; rows *= 2)
      std::printf("%s\"%u\": %.1f", rows == 1 ? "" : ", ", rows, offlineRate(model, rows, length));
    std::printf("},\n");
  }
  if (wanted("overhead"))
    writeOverhead(model, length);
  // The loads of the parts that follow are shares of this.
  Capacity capacity = writeSaturated(model, arguments);
  if (wanted("open"))
    writeOpen(model, arguments, capacity.rate);
  if (wanted("steady"))
    writeSteady(model, settings, capacity.rate, arguments.seconds);
  if (wanted("deadlines"))
    writeDeadlines(model, settings, capacity.rate, capacity.batchUs, arguments.seconds);
  writeIdle(model, settings);
  std::printf("}\n");
  return 0;
}
