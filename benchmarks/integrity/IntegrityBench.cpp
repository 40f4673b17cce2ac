//===- IntegrityBench.cpp - What checks of weights cost -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// integrity-bench ARTEFACT [PUBLIC.pem]
//
// Writes one JSON object: speeds of a read loop, of checksums and of keyed tags on
// memory that is resident; the time of a run without checks and with each; the time
// to open the artefact, plain, copied and, with a key, signed.
//
//===----------------------------------------------------------------------===//
#include "Crc32c.h"
#include "SipHash.h"
#include "kiln-c/Loader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

namespace {

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void check(kiln_status_t status, const char *what) {
  if (status == KILN_OK)
    return;
  std::fprintf(stderr, "integrity-bench: %s: %s\n", what, kiln_status_name(status));
  std::exit(1);
}

uint64_t sink = 0;

/// GB a second of CPU time, the best of many: what others do is not the check's.
template <typename Work> double speed(uint64_t bytes, Work work) {
  double best = 0;
  uint64_t repeats = std::max<uint64_t>((uint64_t(64) << 20) / bytes, 1);
  for (int attempt = 0; attempt != 15; ++attempt) {
    double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i != repeats; ++i)
      sink += work();
    double time = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    best = std::max(best, double(bytes * repeats) / time * 1e-9);
  }
  return best;
}

void writeSpeeds() {
  std::vector<uint64_t> data((uint64_t(64) << 20) / 8);
  for (size_t i = 0; i != data.size(); ++i)
    data[i] = i * 0x9e3779b97f4a7c15u;
  kiln::rt::Crc32c crc32c;
  kiln::rt::SipTag tag;
  kiln::rt::SipKey key = kiln::rt::SipKey::random();
  struct Place {
    const char *name;
    uint64_t bytes;
  } const places[] = {{"memory", uint64_t(64) << 20}, {"cache", uint64_t(256) << 10}};
  for (const Place &place : places) {
    auto read = [&] {
      uint64_t sums[8] = {};
      for (uint64_t i = 0; i != place.bytes / 8; i += 8)
        for (int lane = 0; lane != 8; ++lane)
          sums[lane] += data[i + uint64_t(lane)];
      return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
    };
    std::printf(
        "  \"%s\": {\"read\": %.2f, \"crc32c\": %.2f, \"tag\": %.2f, \"siphash13\": %.2f},\n",
        place.name, speed(place.bytes, read),
        speed(place.bytes, [&] { return crc32c(data.data(), place.bytes); }),
        speed(place.bytes, [&] { return tag(key, data.data(), place.bytes, 1); }),
        speed(place.bytes, [&] { return kiln::rt::sipHash13(key, data.data(), place.bytes); }));
  }
}

//===----------------------------------------------------------------------===//
// Runs and opening
//===----------------------------------------------------------------------===//

struct Inputs {
  std::vector<std::vector<uint8_t>> data;
  std::vector<std::vector<int64_t>> dims;
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor *> pointers;

  explicit Inputs(const kiln_model *model) {
    for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i) {
      uint64_t bytes = spec->dtype.bits / 8;
      dims.emplace_back();
      for (uint32_t axis = 0; axis != spec->rank; ++axis) {
        int64_t size = spec->dims[axis].size;
        dims.back().push_back(size >= 0 ? size : std::max<int64_t>(spec->dims[axis].lo, 1));
        bytes *= uint64_t(dims.back().back());
      }
      data.emplace_back(bytes);
    }
    for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i)
      tensors.push_back({data[i].data(),
                         {kDLCPU, 0},
                         int32_t(spec->rank),
                         spec->dtype,
                         dims[i].data(),
                         nullptr,
                         0});
    for (const DLTensor &tensor : tensors)
      pointers.push_back(&tensor);
  }
};

struct Watched {
  const char *name;
  uint32_t rate, flags;
};

/// `control` is `none` once more: how far two equal sessions are apart.
constexpr Watched kinds[] = {
    {"none", KILN_CHECK_NEVER, 0},
    {"control", KILN_CHECK_NEVER, 0},
    {"rolling", KILN_CHECK_ROLLING, 0},
    {"background", KILN_CHECK_BACKGROUND, 0},
    {"every_run", KILN_CHECK_EVERY_RUN, 0},
    {"every_run_keyed", KILN_CHECK_EVERY_RUN, KILN_INTEGRITY_KEYED},
};

/// Of these, whose checks are not of everything.
constexpr size_t kCheap = 4;

/// A model in one way of being watched.
struct Subject {
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  std::vector<float> times;

  Subject(const kiln_api *api, const Watched &kind) {
    kiln_integrity_options watch = {};
    watch.struct_size = sizeof watch;
    watch.rate = kind.rate;
    watch.flags = kind.flags;
    kiln_model_options options = {};
    options.struct_size = sizeof options;
    options.integrity = kind.rate ? &watch : nullptr;
    check(kiln_model_open(api, &options, &model), "model");
    kiln_session_options alone = {};
    alone.struct_size = sizeof alone;
    alone.threads = 1;
    check(kiln_session_create(model, &alone, &session), "session");
  }
  Subject(Subject &&other) noexcept
      : model(std::exchange(other.model, nullptr)), session(std::exchange(other.session, nullptr)) {
  }
  ~Subject() {
    kiln_session_destroy(session);
    kiln_model_close(model);
  }
  void run(Inputs &inputs) {
    kiln_model_info info = {};
    info.struct_size = sizeof info;
    kiln_model_get_info(model, &info);
    std::vector<DLTensor> results(info.num_outputs);
    std::vector<DLTensor *> outputs;
    for (DLTensor &result : results)
      outputs.push_back(&result);
    double start = seconds(CLOCK_MONOTONIC);
    check(kiln_run(session, inputs.pointers.data(), uint32_t(inputs.pointers.size()),
                   outputs.data(), info.num_outputs, nullptr),
          "run");
    times.push_back(float((seconds(CLOCK_MONOTONIC) - start) * 1e6));
  }
};

void writeRuns(const kiln_artefact *artefact) {
  std::vector<Subject> subjects;
  for (const Watched &kind : kinds)
    subjects.emplace_back(kiln_artefact_api(artefact), kind);
  Inputs inputs(subjects[0].model);
  // Alternating, so that all see the same machine, in an order that changes: who runs
  // behind a full check finds other things in the caches. First the cheap ones among
  // themselves.
  std::mt19937 random(1);
  auto take = [&](size_t first, size_t count, double length, size_t least) {
    std::vector<Subject *> order;
    for (size_t i = first; i != first + count; ++i)
      order.push_back(&subjects[i]);
    double start = seconds(CLOCK_MONOTONIC);
    while (seconds(CLOCK_MONOTONIC) - start < length ||
           subjects[first + count - 1].times.size() < least) {
      std::shuffle(order.begin(), order.end(), random);
      for (Subject *subject : order)
        subject->run(inputs);
    }
  };
  take(0, kCheap, 8, 40);
  take(kCheap, subjects.size() - kCheap, 2, 20);
  std::printf("  \"run_us\": {");
  for (size_t i = 0; i != subjects.size(); ++i) {
    std::vector<float> &times = subjects[i].times;
    std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
    std::printf("%s\"%s\": %.2f", i ? ", " : "", kinds[i].name, double(times[times.size() / 2]));
  }
  std::printf("},\n");
}

double openTime(const char *path, uint32_t flags, const uint8_t *key) {
  double best = 1e9;
  for (int attempt = 0; attempt != 7; ++attempt) {
    kiln_open_options options = {};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.trusted_keys = key;
    options.num_trusted_keys = key ? 1 : 0;
    kiln_artefact *artefact = nullptr;
    double start = seconds(CLOCK_MONOTONIC);
    check(kiln_open(path, &options, &artefact), path);
    best = std::min(best, seconds(CLOCK_MONOTONIC) - start);
    kiln_close(artefact);
  }
  return best * 1e3;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: integrity-bench ARTEFACT [PUBLIC.pem]\n");
    return 2;
  }
  kiln_artefact *artefact = nullptr;
  check(kiln_open(argv[1], nullptr, &artefact), argv[1]);
  std::printf("{\n");
  writeSpeeds();
  writeRuns(artefact);
  kiln_close(artefact);
  std::array<uint8_t, 32> key;
  if (argc > 2)
    check(kiln_public_key_read(argv[2], key.data(), nullptr, 0), argv[2]);
  std::printf("  \"open_ms\": {\"trusted_weights\": %.3f, \"checked\": %.3f, \"copied\": %.3f",
              openTime(argv[1], KILN_OPEN_TRUST_WEIGHTS, nullptr), openTime(argv[1], 0, nullptr),
              openTime(argv[1], KILN_OPEN_COPY_WEIGHTS, nullptr));
  if (argc > 2)
    std::printf(", \"signed\": %.3f", openTime(argv[1], 0, key.data()));
  std::printf("}\n}\n");
  return sink == 1;
}
