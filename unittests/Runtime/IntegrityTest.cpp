//===- IntegrityTest.cpp - Damage is found, mended or refused -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Breaker.h"
#include "Finite.h"
#include "SipHash.h"
#include "TestSupport.h"

#include "kiln-c/ModuleABI.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln::rt;
using namespace kiln::test;

extern "C" const kiln_api *kiln_model_query(uint32_t abi);
extern "C" const kiln_module kiln_generated_module;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

TEST(SipHash, MatchesPublishedVectors) {
  // Of the reference implementation (github.com/veorq/SipHash): the key is 0..15,
  // the message 0..length-1.
  const SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  uint8_t message[64];
  for (uint8_t i = 0; i != 64; ++i)
    message[i] = i;
  struct {
    uint64_t length, of13, of24;
  } const vectors[] = {
      {0, 0xabac0158050fc4dc, 0x726fdb47dd0e0e31},  {1, 0xc9f49bf37d57ca93, 0x74f839c593dc67fd},
      {7, 0xd3927d989bb11140, 0xab0200f58b01d137},  {8, 0x369095118d299a8e, 0x93f5f5799a932462},
      {15, 0xd320d86d2a519956, 0xa129ca6149be45e5}, {16, 0xcc4fdd1a7d908b66, 0x3f2acc7f57c29bdb},
      {63, 0x9d199062b7bbb3a8, 0x958a324ceb064572},
  };
  for (const auto &vector : vectors) {
    EXPECT_EQ(sipHash13(key, message, vector.length), vector.of13) << vector.length;
    EXPECT_EQ(sipHash24(key, message, vector.length), vector.of24) << vector.length;
  }
  EXPECT_EQ(sipHash13(SipKey(), message, 0), 0xd1fba762150c532cu);
}

TEST(SipHash, TagSeesEveryBitAndThePlace) {
  SipTag tag;
  SipKey key = SipKey::random(), other = SipKey::random();
  EXPECT_TRUE(key.k0 != other.k0 || key.k1 != other.k1);
  std::vector<uint8_t> data(200);
  for (size_t size : {0, 1, 63, 64, 65, 128, 200}) {
    uint64_t expected = tag(key, data.data(), size, 7);
    EXPECT_NE(tag(other, data.data(), size, 7), expected);
    EXPECT_NE(tag(key, data.data(), size, 8), expected);
    if (size)
      EXPECT_NE(tag(key, data.data(), size - 1, 7), expected);
    for (size_t bit = 0; bit != size * 8; ++bit) {
      data[bit / 8] ^= uint8_t(1 << bit % 8);
      ASSERT_NE(tag(key, data.data(), size, 7), expected) << bit;
      data[bit / 8] ^= uint8_t(1 << bit % 8);
    }
  }
}

TEST(SipHash, TagsAreTheSameOnEveryCpu) {
  SipKey key = SipKey::random();
  std::vector<uint8_t> data(5000);
  for (size_t i = 0; i != data.size(); ++i)
    data[i] = uint8_t(i * 29);
  SipTag baseline(SipTag::Way::Baseline);
  for (SipTag::Way way : {SipTag::Way::Avx2, SipTag::Way::Avx512}) {
    SipTag tag(way);
    for (size_t size : {0u, 7u, 64u, 640u, 5000u})
      EXPECT_EQ(tag(key, data.data(), size, 3), baseline(key, data.data(), size, 3)) << size;
  }
}

TEST(Finite, FindsTheFirst) {
  constexpr kiln_module_dtype float32 = {kDLFloat, 32, 1}, float64 = {kDLFloat, 64, 1},
                              float16 = {kDLFloat, 16, 1}, bfloat16 = {kDLBfloat, 16, 1};
  EXPECT_FALSE(hasNotFinite({kDLInt, 32, 1}));
  std::vector<float> values(2000, std::numeric_limits<float>::max());
  EXPECT_EQ(findNotFinite(float32, values.data(), 2000), 2000u);
  values[1999] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(findNotFinite(float32, values.data(), 2000), 1999u);
  values[600] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(findNotFinite(float32, values.data(), 2000), 600u);
  double doubles[] = {1e308, -0.0, std::nan("")};
  EXPECT_EQ(findNotFinite(float64, doubles, 3), 2u);
  uint16_t halves[] = {0x7bff, 0x7f80, 0xfc00};
  EXPECT_EQ(findNotFinite(float16, halves, 3), 1u);
  EXPECT_EQ(findNotFinite(bfloat16, halves, 3), 1u);
  EXPECT_EQ(findNotFinite(bfloat16, halves, 1), 1u);
  EXPECT_EQ(findNotFinite(float32, nullptr, 0), 0u);
}

TEST(Breaker, OpensProbesAndCloses) {
  Breaker breaker;
  breaker.configure(2, 1000, 100);
  EXPECT_FALSE(breaker.noteDamage(10000, false));
  EXPECT_FALSE(breaker.noteDamage(11001, false)) << "too far apart";
  EXPECT_EQ(breaker.state(), KILN_BREAKER_CLOSED);
  EXPECT_TRUE(breaker.noteDamage(11500, false));
  EXPECT_EQ(breaker.state(), KILN_BREAKER_OPEN);
  EXPECT_FALSE(breaker.mayProbe(11599));
  EXPECT_TRUE(breaker.mayProbe(11600));
  EXPECT_EQ(breaker.state(), KILN_BREAKER_HALF_OPEN);
  EXPECT_FALSE(breaker.mayProbe(12000)) << "one probe at a time";
  breaker.endProbe(12000, false);
  EXPECT_EQ(breaker.state(), KILN_BREAKER_OPEN);
  EXPECT_FALSE(breaker.mayProbe(12050));
  EXPECT_TRUE(breaker.mayProbe(12100));
  breaker.endProbe(12100, true);
  EXPECT_EQ(breaker.state(), KILN_BREAKER_CLOSED);
  EXPECT_EQ(breaker.openings(), 2u);
  EXPECT_TRUE(breaker.noteDamage(12200, true)) << "damage that stays opens at once";
  // A clock that jumps back: it waits no longer than the counter's wrap, and a
  // probe decides.
  EXPECT_TRUE(breaker.mayProbe(5));
}

//===----------------------------------------------------------------------===//
// In a session
//===----------------------------------------------------------------------===//

namespace {

class Integrity : public testing::Test {
protected:
  void SetUp() override {
    api = kiln_model_query(KILN_ABI_VERSION);
    before = api->live_objects();
    weights = const_cast<uint8_t *>(kiln_generated_module.weights);
    pristine.assign(weights, weights + kiln_generated_module.weights_size);
    options.struct_size = sizeof options;
    options.reload = reload;
    options.reload_user = this;
  }
  void TearDown() override {
    restore();
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    EXPECT_EQ(api->live_objects(), before);
  }

  kiln_status_t open() {
    kiln_model_options modelOptions = {};
    modelOptions.struct_size = sizeof modelOptions;
    modelOptions.integrity = &options;
    modelOptions.on_event = [](void *user, const kiln_event *event) {
      static_cast<Integrity *>(user)->events.push_back(event->kind);
    };
    modelOptions.on_event_user = this;
    modelOptions.error = error;
    modelOptions.error_size = sizeof error;
    kiln_status_t status = kiln_model_open(api, &modelOptions, &model);
    if (status == KILN_OK)
      status = kiln_session_create(model, nullptr, &session);
    return status;
  }

  void unprotect() {
    auto page = uintptr_t(weights) & ~uintptr_t(4095);
    size_t size = uintptr_t(weights) + pristine.size() - page;
    ASSERT_EQ(mprotect(reinterpret_cast<void *>(page), size, PROT_READ | PROT_WRITE), 0);
  }
  void flip(size_t bit) {
    unprotect();
    weights[bit / 8] ^= uint8_t(1 << bit % 8);
  }
  void restore() {
    unprotect();
    std::memcpy(weights, pristine.data(), pristine.size());
  }

  static kiln_status_t reload(void *user, uint64_t offset, uint64_t size, void *into) {
    auto &self = *static_cast<Integrity *>(user);
    if (self.reloadFails)
      return KILN_IO;
    std::memcpy(into, self.pristine.data() + offset, size);
    if (self.fileIsDamaged)
      *static_cast<uint8_t *>(into) ^= 4;
    return KILN_OK;
  }

  /// KILN_OK only with the right results.
  kiln_status_t run() {
    Tensor x({16, 8}), y({16, 4}), z({32, 4});
    x.fill(7);
    DLTensor late = {};
    const DLTensor *inputs[] = {&x.view};
    DLTensor *outputs[] = {&y.view, &z.view, &late};
    kiln_status_t status = kiln_run(session, inputs, 1, outputs, 3, nullptr);
    if (status == KILN_OK) {
      Expected expected(x.values);
      EXPECT_EQ(y.values, expected.y);
      EXPECT_EQ(z.values, expected.z);
    }
    return status;
  }
  kiln_integrity_stats stats() {
    kiln_integrity_stats stats = {};
    stats.struct_size = sizeof stats;
    EXPECT_EQ(kiln_model_get_integrity(model, &stats), KILN_OK);
    return stats;
  }
  bool saw(kiln_event_kind kind) const {
    return std::find(events.begin(), events.end(), uint32_t(kind)) != events.end();
  }

  const kiln_api *api = nullptr;
  uint64_t before = 0;
  uint8_t *weights = nullptr;
  std::vector<uint8_t> pristine;
  kiln_integrity_options options = {};
  bool reloadFails = false, fileIsDamaged = false;
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  std::vector<uint32_t> events;
  char error[512] = "";
};

} // namespace

TEST_F(Integrity, RefusesAbsurdOptions) {
  auto refused = [&](const char *why) {
    EXPECT_EQ(open(), KILN_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(error, why), nullptr) << error;
    EXPECT_EQ(model, nullptr);
    options = {};
    options.struct_size = sizeof options;
  };
  options.rate = 4;
  refused("rate");
  options.background_round_ms = 86400001;
  refused("background");
  options.flags = 2;
  refused("flags");
  options.breaker_threshold = 1000001;
  refused("breaker_threshold");
  options.breaker_open_ms = 86400001;
  refused("breaker");
  options.num_finite_outputs = 1;
  refused("finite_outputs: NULL");
  const char *names[] = {"nothing", nullptr, "positive"};
  options.num_finite_outputs = 1;
  options.finite_outputs = names;
  refused("no output 'nothing'");
  options.num_finite_outputs = 1;
  options.finite_outputs = names + 1;
  refused("NULL");
  options.num_finite_outputs = 1;
  options.finite_outputs = names + 2;
  refused("always finite");
  options.struct_size = 1;
  refused("struct_size");
}

TEST_F(Integrity, AThreadChecksWhileNothingRuns) {
#ifdef KILN_UNDER_TSAN
  GTEST_SKIP() << "the damage itself would be a race";
#endif
  options.rate = KILN_CHECK_BACKGROUND;
  options.background_round_ms = 5;
  ASSERT_EQ(open(), KILN_OK) << error;
  auto waitFor = [&](auto condition) {
    for (int i = 0; i != 5000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  };
  uint64_t checked = stats().checked_bytes;
  EXPECT_TRUE(waitFor([&] { return stats().checked_bytes >= checked + 3 * (128 + 16); }));
  flip(77);
  EXPECT_TRUE(waitFor([&] { return stats().reloaded == 1; }));
  EXPECT_EQ(run(), KILN_OK);
  // What cannot be mended opens the breaker, although nothing runs.
  reloadFails = true;
  flip(78);
  EXPECT_TRUE(waitFor([&] { return stats().breaker == KILN_BREAKER_OPEN; }));
  EXPECT_EQ(run(), KILN_CIRCUIT_OPEN);
  // A model with a thread closes at once, also in a child that has none.
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    bool closed = kiln_session_destroy(session) == KILN_OK && kiln_model_close(model) == KILN_OK;
    _exit(closed ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Integrity, EveryFlippedBitIsMendedBeforeAResultIsGivenOut) {
  for (uint32_t flags : {0u, uint32_t(KILN_INTEGRITY_KEYED)}) {
    options.rate = KILN_CHECK_EVERY_RUN;
    options.flags = flags;
    options.breaker_threshold = 1000000;
    ASSERT_EQ(open(), KILN_OK) << error;
    // W and the bias: what the table covers.
    uint64_t flips = 0;
    for (size_t bit = 0; bit < (128 + 16) * 8; bit += 5, ++flips) {
      flip(bit);
      ASSERT_EQ(run(), KILN_OK) << bit;
      ASSERT_EQ(std::memcmp(weights, pristine.data(), pristine.size()), 0) << bit;
    }
    EXPECT_EQ(stats().damaged, flips);
    EXPECT_EQ(stats().reloaded, flips);
    EXPECT_EQ(stats().recomputed_runs, flips);
    EXPECT_EQ(stats().breaker, uint32_t(KILN_BREAKER_CLOSED));
    EXPECT_TRUE(saw(KILN_EVENT_WEIGHT_DAMAGED));
    EXPECT_TRUE(saw(KILN_EVENT_WEIGHT_RELOADED));
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
  }
}

TEST_F(Integrity, DamageAtOpenIsRefused) {
  flip(100);
  EXPECT_EQ(open(), KILN_CORRUPT);
  EXPECT_NE(std::strstr(error, "'W'"), nullptr) << error;
}

TEST_F(Integrity, ManagedOutputsOfARecomputedRunDoNotLeak) {
  options.rate = KILN_CHECK_EVERY_RUN;
  ASSERT_EQ(open(), KILN_OK);
  flip(3);
  Tensor x({16, 8});
  const DLTensor *inputs[] = {&x.view};
  DLManagedTensorVersioned *outputs[3];
  ASSERT_EQ(kiln_run_managed(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  EXPECT_EQ(stats().recomputed_runs, 1u);
  for (DLManagedTensorVersioned *output : outputs)
    output->deleter(output);
  kiln_pool_stats pool = {};
  pool.struct_size = sizeof pool;
  kiln_pool_get_stats(kiln_session_pool(session), &pool);
  EXPECT_EQ(pool.used, 0u);
}

TEST_F(Integrity, DamageThatStaysOpensTheBreaker) {
  options.rate = KILN_CHECK_EVERY_RUN;
  options.breaker_open_ms = 30;
  for (int kind = 0; kind != 3; ++kind) {
    reloadFails = kind == 0;
    fileIsDamaged = kind == 1;
    options.reload = kind == 2 ? nullptr : reload;
    ASSERT_EQ(open(), KILN_OK);
    ASSERT_EQ(run(), KILN_OK);
    flip(40);
    EXPECT_EQ(run(), KILN_DAMAGED);
    EXPECT_NE(std::strstr(kiln_session_error(session), "'W'"), nullptr);
    EXPECT_EQ(run(), KILN_CIRCUIT_OPEN);
    EXPECT_EQ(stats().breaker, uint32_t(KILN_BREAKER_OPEN));
    EXPECT_TRUE(saw(KILN_EVENT_BREAKER));
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    EXPECT_EQ(run(), KILN_DAMAGED) << "the probe finds it again";
    EXPECT_EQ(run(), KILN_CIRCUIT_OPEN);
    restore();
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    EXPECT_EQ(run(), KILN_OK);
    EXPECT_EQ(stats().breaker, uint32_t(KILN_BREAKER_CLOSED));
    EXPECT_GE(stats().refused_runs, 2u);
    EXPECT_EQ(stats().breaker_openings, 2u);
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
    events.clear();
  }
}

TEST_F(Integrity, FrequentDamageOpensTheBreaker) {
  options.rate = KILN_CHECK_EVERY_RUN;
  options.breaker_threshold = 3;
  ASSERT_EQ(open(), KILN_OK);
  for (size_t i = 0; i != 3; ++i) {
    flip(i);
    EXPECT_EQ(run(), KILN_OK);
  }
  EXPECT_EQ(run(), KILN_CIRCUIT_OPEN);
}

TEST_F(Integrity, RollingChecksComeRound) {
  options.rate = KILN_CHECK_ROLLING;
  ASSERT_EQ(open(), KILN_OK);
  flip(9);
  // Runs of microseconds pay for a part now and then.
  kiln_status_t status = KILN_OK;
  Tensor x({64, 8}), y({64, 4}), z({128, 4});
  const DLTensor *inputs[] = {&x.view};
  for (int i = 0; i != 2000000 && status == KILN_OK && !stats().reloaded; ++i) {
    DLTensor late = {};
    DLTensor *outputs[] = {&y.view, &z.view, &late};
    status = kiln_run(session, inputs, 1, outputs, 3, nullptr);
  }
  EXPECT_EQ(status, KILN_OK);
  EXPECT_EQ(stats().reloaded, 1u);
  EXPECT_EQ(run(), KILN_OK);
}

TEST_F(Integrity, HostsMayCheckFromAThreadOfTheirs) {
  ASSERT_EQ(open(), KILN_OK);
  EXPECT_EQ(kiln_model_check(model, 0), KILN_OK);
  EXPECT_EQ(stats().checked_bytes, 144u);
  flip(1);
  EXPECT_EQ(kiln_model_check(model, 0), KILN_OK);
  EXPECT_EQ(stats().reloaded, 1u);
  reloadFails = true;
  flip(1);
  EXPECT_EQ(kiln_model_check(model, UINT64_MAX), KILN_DAMAGED);
  EXPECT_EQ(run(), KILN_CIRCUIT_OPEN);
  EXPECT_EQ(kiln_model_check(nullptr, 0), KILN_INVALID_ARGUMENT);
  kiln_model *plain = nullptr;
  restore();
  ASSERT_EQ(kiln_model_open(api, nullptr, &plain), KILN_OK);
  EXPECT_EQ(kiln_model_check(plain, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_model_close(plain), KILN_OK);
}

TEST_F(Integrity, RunsAreRightWhileWeightsAreDamagedAndMended) {
  options.rate = KILN_CHECK_EVERY_RUN;
  options.breaker_threshold = 1000000;
  ASSERT_EQ(open(), KILN_OK);
  std::atomic<bool> stop{false};
  // Races on the weights are the point; what is read is either right or found.
  std::vector<std::thread> threads;
#ifndef KILN_UNDER_TSAN
  for (int t = 0; t != 2; ++t)
    threads.emplace_back([&] {
      kiln_session *own = nullptr;
      EXPECT_EQ(kiln_session_create(model, nullptr, &own), KILN_OK);
      Tensor x({16, 8}), y({16, 4}), z({32, 4});
      x.fill(8);
      Expected expected(x.values);
      const DLTensor *inputs[] = {&x.view};
      while (!stop) {
        DLTensor late = {};
        DLTensor *outputs[] = {&y.view, &z.view, &late};
        kiln_status_t status = kiln_run(own, inputs, 1, outputs, 3, nullptr);
        EXPECT_TRUE(status == KILN_OK || status == KILN_DAMAGED);
        if (status == KILN_OK)
          EXPECT_EQ(y.values, expected.y);
      }
      EXPECT_EQ(kiln_session_destroy(own), KILN_OK);
    });
#endif
  for (size_t i = 0; i != 200; ++i) {
    flip(i % 1024);
    while (stats().reloaded <= i && run() == KILN_OK)
      ;
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(stats().damaged, 200u);
}

TEST_F(Integrity, GuardsOutputsAgainstNan) {
  const char *names[] = {"z"};
  options.finite_outputs = names;
  options.num_finite_outputs = 1;
  ASSERT_EQ(open(), KILN_OK);
  Tensor x({2, 8});
  const DLTensor *inputs[] = {&x.view};
  DLTensor y = {}, z = {}, late = {};
  DLTensor *outputs[] = {&y, &z, &late};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  x.values[9] = std::numeric_limits<float>::infinity();
  y = z = late = {};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_NOT_FINITE);
  EXPECT_NE(std::strstr(kiln_session_error(session), "'z'"), nullptr);
  EXPECT_EQ(stats().not_finite_runs, 1u);
  EXPECT_TRUE(saw(KILN_EVENT_NOT_FINITE));
}
