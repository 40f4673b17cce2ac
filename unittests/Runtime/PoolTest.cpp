//===- PoolTest.cpp - Classes, slabs, limits, debug mode ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include "TestSupport.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln::rt;

namespace {

class PoolTest : public testing::Test {
protected:
  void TearDown() override {
    if (pool)
      EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
    EXPECT_EQ(liveObjects.load(), before);
  }
  void create(kiln_pool_options options = {}) {
    options.struct_size = sizeof options;
    ASSERT_EQ(Pool::create(&options, &pool), KILN_OK);
  }
  kiln_status_t tryToCreate(kiln_pool_options options) {
    options.struct_size = sizeof options;
    options.error = error;
    options.error_size = sizeof error;
    error[0] = 0;
    kiln_status_t status = Pool::create(&options, &pool);
    EXPECT_TRUE(status == KILN_OK || !pool);
    return status;
  }
  kiln_pool_stats stats() {
    kiln_pool_stats stats = {};
    stats.struct_size = sizeof stats;
    EXPECT_EQ(kiln_pool_get_stats(pool, &stats), KILN_OK);
    return stats;
  }
  void *allocate(uint64_t bytes) {
    void *memory = nullptr;
    EXPECT_EQ(kiln_pool_allocate(pool, bytes, &memory), KILN_OK);
    return memory;
  }

  uint64_t before = liveObjects.load();
  kiln_pool *pool = nullptr;
  char error[256] = "";
};

/// A source that counts, and that can be told to fail.
struct TestSource {
  std::map<void *, uint64_t> blocks;
  int64_t callsLeft = -1;
  bool misaligned = false;

  kiln_memory_source functions() {
    return {[](void *user, uint64_t bytes, uint64_t alignment) -> void * {
              auto &self = *static_cast<TestSource *>(user);
              if (self.callsLeft == 0)
                return nullptr;
              if (self.callsLeft > 0)
                --self.callsLeft;
              auto *memory = static_cast<uint8_t *>(
                  std::aligned_alloc(alignment, alignUp(bytes + 8, alignment)));
              if (!memory)
                return nullptr;
              memory += self.misaligned ? 8 : 0;
              self.blocks[memory] = bytes;
              return memory;
            },
            [](void *user, void *memory, uint64_t bytes) {
              auto &self = *static_cast<TestSource *>(user);
              EXPECT_EQ(self.blocks.at(memory), bytes);
              self.blocks.erase(memory);
              std::free(static_cast<uint8_t *>(memory) - (self.misaligned ? 8 : 0));
            },
            this};
  }
};

struct Events {
  std::vector<uint32_t> kinds;
  static void note(void *user, const kiln_event *event) {
    EXPECT_STRNE(event->text, "");
    static_cast<Events *>(user)->kinds.push_back(event->kind);
  }
  bool saw(kiln_event_kind kind) const {
    return std::find(kinds.begin(), kinds.end(), uint32_t(kind)) != kinds.end();
  }
};

} // namespace

TEST_F(PoolTest, RefusesAbsurdOptions) {
  TestSource source;
  kiln_pool_options options = {};
  options.flags = 0x80;
  EXPECT_EQ(tryToCreate(options), KILN_INVALID_ARGUMENT);
  EXPECT_STRNE(error, "");
  options = {};
  options.reserved = 1;
  EXPECT_EQ(tryToCreate(options), KILN_INVALID_ARGUMENT);
  options = {};
  options.soft_limit = 2;
  options.hard_limit = 1;
  EXPECT_EQ(tryToCreate(options), KILN_INVALID_ARGUMENT);
  options = {};
  options.source.allocate = source.functions().allocate;
  EXPECT_EQ(tryToCreate(options), KILN_INVALID_ARGUMENT);
  options.source = source.functions();
  options.flags = KILN_POOL_MMAP;
  EXPECT_EQ(tryToCreate(options), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(Pool::create(nullptr, nullptr), KILN_INVALID_ARGUMENT);
  options = {};
  options.struct_size = 3;
  EXPECT_EQ(Pool::create(&options, &pool), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_pool_allocate(nullptr, 1, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_pool_release(nullptr, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_pool_trim(nullptr, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_pool_destroy(nullptr), KILN_OK);
}

TEST_F(PoolTest, BlocksAreAlignedAndApart) {
  for (uint32_t flags : {0u, uint32_t(KILN_POOL_MMAP), uint32_t(KILN_POOL_DEBUG),
                         uint32_t(KILN_POOL_MMAP | KILN_POOL_PREFAULT)}) {
    kiln_pool_options options = {};
    options.flags = flags;
    create(options);
    std::mt19937_64 random(flags + 1);
    struct Held {
      uint8_t *memory;
      uint64_t bytes;
      uint8_t value;
    };
    std::vector<Held> held;
    for (int i = 0; i != 20000; ++i) {
      if (held.empty() || random() % 100 < 53) {
        uint64_t bytes = uint64_t(1) << random() % (i % 500 ? 14 : 22);
        bytes += random() % bytes;
        auto *memory = static_cast<uint8_t *>(allocate(bytes));
        ASSERT_TRUE(memory);
        ASSERT_EQ(uintptr_t(memory) % kAlignment, 0u);
        auto value = uint8_t(random());
        std::memset(memory, value, bytes);
        held.push_back({memory, bytes, value});
        continue;
      }
      size_t at = random() % held.size();
      Held gone = held[at];
      held[at] = held.back();
      held.pop_back();
      ASSERT_EQ(gone.memory[0], gone.value);
      ASSERT_EQ(gone.memory[gone.bytes - 1], gone.value);
      ASSERT_EQ(kiln_pool_release(pool, gone.memory), KILN_OK);
    }
    EXPECT_EQ(kiln_pool_destroy(pool), KILN_BUSY);
    for (const Held &left : held)
      EXPECT_EQ(kiln_pool_release(pool, left.memory), KILN_OK);
    EXPECT_EQ(stats().used, 0u);
    EXPECT_EQ(stats().damaged, 0u);
    EXPECT_EQ(kiln_pool_trim(pool, 0), KILN_OK);
    EXPECT_EQ(stats().reserved, 0u);
    EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
    pool = nullptr;
  }
}

TEST_F(PoolTest, FindsWhatIsNotItsBlock) {
  create();
  for (uint64_t bytes : {uint64_t(100), uint64_t(100000), uint64_t(1) << 27}) {
    auto *memory = static_cast<uint8_t *>(allocate(bytes));
    int local = 0;
    EXPECT_EQ(kiln_pool_release(pool, &local), KILN_INVALID_ARGUMENT);
    EXPECT_EQ(kiln_pool_release(pool, memory + 64), KILN_INVALID_ARGUMENT);
    EXPECT_EQ(kiln_pool_release(pool, memory + 1), KILN_INVALID_ARGUMENT);
    EXPECT_EQ(kiln_pool_release(pool, reinterpret_cast<void *>(64)), KILN_INVALID_ARGUMENT);
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_INVALID_ARGUMENT) << "given back twice";
  }
  EXPECT_EQ(stats().invalid_releases, 15u);
  EXPECT_EQ(stats().used, 0u);
}

TEST_F(PoolTest, AbsurdSizesAreAStatus) {
  create();
  void *memory = &memory;
  for (uint64_t bytes : {UINT64_MAX, uint64_t(1) << 62, (uint64_t(1) << 46) + 1}) {
    EXPECT_EQ(kiln_pool_allocate(pool, bytes, &memory), KILN_OUT_OF_MEMORY);
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(pool->api->allocate_static(pool, bytes), nullptr);
  }
  kiln_pool_cache *cache = pool->api->cache_create(pool);
  EXPECT_EQ(cache->api->cache_allocate(cache, UINT64_MAX), nullptr);
  cache->api->cache_destroy(cache);
  EXPECT_EQ(stats().failures, 7u);
  void *least = allocate(0);
  EXPECT_EQ(kiln_pool_release(pool, least), KILN_OK);
  EXPECT_EQ(kiln_pool_release(pool, nullptr), KILN_OK);
}

TEST_F(PoolTest, LimitsAreKept) {
  Events events;
  kiln_pool_options options = {};
  options.soft_limit = 4 << 20;
  options.hard_limit = 8 << 20;
  options.on_event = Events::note;
  options.on_event_user = &events;
  create(options);
  std::vector<void *> blocks;
  for (void *memory; kiln_pool_allocate(pool, 300000, &memory) == KILN_OK;)
    blocks.push_back(memory);
  // As many as fit, but for what is lost by rounding to spans.
  EXPECT_GE(blocks.size(), 22u);
  EXPECT_LE(stats().reserved, options.hard_limit);
  EXPECT_TRUE(events.saw(KILN_EVENT_MEMORY_SOFT_LIMIT));
  EXPECT_TRUE(events.saw(KILN_EVENT_MEMORY_EXHAUSTED));
  EXPECT_GT(stats().failures, 0u);
  // Free memory of one kind is given back before another is refused.
  for (void *memory : blocks)
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
  void *arena = pool->api->allocate_static(pool, 7 << 20);
  EXPECT_NE(arena, nullptr);
  EXPECT_EQ(stats().static_used, uint64_t(7) << 20);
  pool->api->release_static(pool, arena, 7 << 20);
  EXPECT_LE(stats().peak_reserved, options.hard_limit);
}

TEST_F(PoolTest, HolesAreNoReasonToRefuse) {
  kiln_pool_options options = {};
  options.flags = KILN_POOL_MMAP;
  options.hard_limit = 8 << 20;
  create(options);
  constexpr uint64_t small = 128 << 10, large = 768 << 10;
  std::vector<void *> kept, gone;
  for (int i = 0; i != 64; ++i)
    (i % 2 ? kept : gone).push_back(allocate(small));
  for (void *memory : gone)
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
  // 4 MiB are free, in holes that are all too small.
  for (int i = 0; i != 5; ++i) {
    kept.push_back(allocate(large));
    std::memset(kept.back(), 1, large);
  }
  EXPECT_EQ(stats().failures, 0u);
  EXPECT_LE(stats().peak_reserved, options.hard_limit);
  EXPECT_EQ(stats().used, 32 * small + 5 * large);
  void *more;
  EXPECT_EQ(kiln_pool_allocate(pool, large, &more), KILN_OUT_OF_MEMORY);
  // What lost its memory is usable again.
  for (size_t i = 32; i != kept.size(); ++i)
    EXPECT_EQ(kiln_pool_release(pool, kept[i]), KILN_OK);
  kept.resize(32);
  for (int i = 0; i != 30; ++i) {
    kept.push_back(allocate(small));
    std::memset(kept.back(), 2, small);
  }
  for (void *memory : kept)
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
  EXPECT_EQ(kiln_pool_trim(pool, 0), KILN_OK);
  EXPECT_EQ(stats().reserved, 0u);
}

TEST_F(PoolTest, ABlockThatStaysKeepsNoMoreThanItself) {
  kiln_pool_options options = {};
  options.retain = 1 << 20;
  create(options);
  std::vector<void *> blocks;
  for (int i = 0; i != 200; ++i)
    blocks.push_back(allocate(100000));
  // One in a hundred stays, so that no region is empty.
  for (size_t i = 0; i != blocks.size(); ++i)
    if (i % 100)
      EXPECT_EQ(kiln_pool_release(pool, blocks[i]), KILN_OK);
  kiln_pool_stats now = stats();
  EXPECT_LE(now.reserved, now.used + now.cached + options.retain);
  EXPECT_LE(now.cached, uint64_t(1) << 20);
  for (size_t i = 0; i < blocks.size(); i += 100)
    EXPECT_EQ(kiln_pool_release(pool, blocks[i]), KILN_OK);
}

TEST_F(PoolTest, SourceThatFailsAtAnyCallIsAStatus) {
  for (int64_t calls = 0; calls != 12; ++calls) {
    TestSource source;
    source.callsLeft = calls;
    kiln_pool_options options = {};
    options.source = source.functions();
    create(options);
    std::vector<void *> blocks;
    kiln_status_t status = KILN_OK;
    for (int i = 0; i != 200 && status == KILN_OK; ++i) {
      void *memory;
      status = kiln_pool_allocate(pool, 700000, &memory);
      if (memory)
        blocks.push_back(memory);
    }
    EXPECT_EQ(status, KILN_OUT_OF_MEMORY) << calls;
    EXPECT_EQ(blocks.empty(), calls == 0);
    for (void *memory : blocks)
      EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
    source.callsLeft = -1;
    void *again = allocate(1 << 20);
    EXPECT_EQ(kiln_pool_release(pool, again), KILN_OK);
    EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
    pool = nullptr;
    EXPECT_TRUE(source.blocks.empty());
  }
}

TEST_F(PoolTest, SourceThatBreaksItsPromiseIsNoMemory) {
  TestSource source;
  source.misaligned = true;
  kiln_pool_options options = {};
  options.source = source.functions();
  create(options);
  void *memory;
  EXPECT_EQ(kiln_pool_allocate(pool, 1000, &memory), KILN_OUT_OF_MEMORY);
  EXPECT_TRUE(source.blocks.empty());
}

TEST_F(PoolTest, DebugModeFindsStrayWrites) {
  Events events;
  kiln_pool_options options = {};
  options.flags = KILN_POOL_DEBUG;
  options.on_event = Events::note;
  options.on_event_user = &events;
  create(options);
  auto *memory = static_cast<uint8_t *>(allocate(1000));
  // What was never written is not a number.
  float fresh;
  std::memcpy(&fresh, memory, sizeof fresh);
  EXPECT_NE(fresh, fresh);
  memory[1000] ^= 1;
  EXPECT_EQ(kiln_pool_release(pool, memory), KILN_DAMAGED);
  memory = static_cast<uint8_t *>(allocate(1000));
  memory[-1] ^= 1;
  EXPECT_EQ(kiln_pool_release(pool, memory), KILN_DAMAGED);
  EXPECT_EQ(stats().damaged, 2u);

  memory = static_cast<uint8_t *>(allocate(1000));
  EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
  memory[500] = 1;
  auto *same = static_cast<uint8_t *>(allocate(1000));
  EXPECT_EQ(same, memory);
  EXPECT_EQ(stats().damaged, 3u);
  EXPECT_EQ(kiln_pool_release(pool, same), KILN_OK);
  EXPECT_TRUE(events.saw(KILN_EVENT_MEMORY_DAMAGED));

  // What a session has goes the same way.
  kiln_pool_cache *cache = pool->api->cache_create(pool);
  auto *block = static_cast<uint8_t *>(cache->api->cache_allocate(cache, 64));
  block[64] = 0;
  cache->api->cache_release(cache, block, 64);
  EXPECT_EQ(stats().damaged, 4u);
  block = static_cast<uint8_t *>(cache->api->cache_allocate(cache, 64));
  cache->api->cache_release(cache, block, 64);
  cache->api->cache_release(cache, block, 64);
  EXPECT_EQ(stats().damaged, 5u) << "given back twice";
  cache->api->cache_destroy(cache);
  auto *arena = static_cast<uint8_t *>(pool->api->allocate_static(pool, 100));
  arena[100] = 0;
  pool->api->release_static(pool, arena, 100);
  EXPECT_EQ(stats().damaged, 6u);
}

TEST_F(PoolTest, FiguresAreExact) {
  create();
  kiln_pool_cache *cache = pool->api->cache_create(pool);
  const kiln_pool_api &api = *cache->api;
  void *a = api.cache_allocate(cache, 100);  // 128
  void *b = api.cache_allocate(cache, 5000); // 5120
  kiln_pool_stats now = stats();
  EXPECT_EQ(now.used, 128u + 5120u);
  EXPECT_EQ(now.requested_total, 5100u);
  EXPECT_EQ(now.given_total, 5248u);
  EXPECT_EQ(now.slab_hits, 2u);
  EXPECT_EQ(now.cache_hits, 0u);
  EXPECT_EQ(now.sizes[7], 1u);
  EXPECT_EQ(now.sizes[12], 1u);
  api.cache_release(cache, a, 100);
  void *again = api.cache_allocate(cache, 128);
  EXPECT_EQ(again, a) << "the same class, the same block";
  EXPECT_EQ(stats().cache_hits, 1u);
  api.cache_release(cache, a, 128);
  EXPECT_EQ(stats().used, 5120u);
  EXPECT_EQ(stats().cached, 128u);
  EXPECT_EQ(stats().peak_used, 5248u);
  // Another thread's release goes through the ring.
  std::thread([&] { api.release_shared(pool, b, 5000); }).join();
  EXPECT_EQ(stats().used, 0u);
  EXPECT_EQ(api.cache_allocate(cache, 5100), b);
  EXPECT_EQ(stats().ring_hits, 1u);
  EXPECT_EQ(stats().releases, 3u);
  api.cache_release(cache, b, 5100);
  api.cache_destroy(cache);
  now = stats();
  EXPECT_EQ(now.used, 0u);
  EXPECT_EQ(now.cached, 0u);
  EXPECT_EQ(now.free_bytes, now.reserved);
  EXPECT_EQ(now.requested_total, 5100u + 128u + 5100u);
}

TEST_F(PoolTest, ReturnsMemoryAfterAPeak) {
  kiln_pool_options options = {};
  options.retain = 2 << 20;
  create(options);
  std::vector<void *> blocks;
  for (int i = 0; i != 100; ++i)
    blocks.push_back(allocate(500000));
  EXPECT_GT(stats().reserved, uint64_t(50000000));
  for (void *memory : blocks)
    EXPECT_EQ(kiln_pool_release(pool, memory), KILN_OK);
  // What the ring keeps holds regions; a trim empties it.
  EXPECT_EQ(kiln_pool_trim(pool, 1 << 20), KILN_OK);
  EXPECT_LE(stats().reserved, options.retain);
  EXPECT_EQ(stats().trims, 1u);
  EXPECT_EQ(stats().used, 0u);
}

TEST_F(PoolTest, CachesStayWithinTheirBudget) {
  create();
  kiln_pool_cache *cache = pool->api->cache_create(pool);
  std::vector<std::pair<void *, uint64_t>> blocks;
  for (uint64_t bytes = 64; bytes <= (4 << 20); bytes += bytes / 5)
    for (int i = 0; i != 10; ++i)
      blocks.push_back({cache->api->cache_allocate(cache, bytes), bytes});
  for (auto [memory, bytes] : blocks)
    cache->api->cache_release(cache, memory, bytes);
  EXPECT_LE(stats().cached, uint64_t(8) << 20);
  cache->api->cache_destroy(cache);
}

TEST_F(PoolTest, ThreadsShareIt) {
  create();
#ifdef KILN_UNDER_TSAN
  constexpr int rounds = 2000;
#else
  constexpr int rounds = 40000;
#endif
  // Every thread gives back what others took, too.
  std::atomic<void *> handed[64] = {};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t != 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      kiln_pool_cache *cache = pool->api->cache_create(pool);
      for (int i = 0; i != rounds; ++i) {
        uint64_t bytes = uint64_t(64) << random() % 12;
        auto *own = static_cast<uint64_t *>(cache->api->cache_allocate(cache, bytes));
        *own = bytes;
        void *other = handed[random() % 64].exchange(own);
        if (!other)
          continue;
        uint64_t size = *static_cast<uint64_t *>(other);
        if (random() % 2)
          cache->api->cache_release(cache, other, size);
        else
          pool->api->release_shared(pool, other, size);
        void *shared;
        if (i % 8 == 0 && kiln_pool_allocate(pool, bytes, &shared) == KILN_OK)
          EXPECT_EQ(kiln_pool_release(pool, shared), KILN_OK);
      }
      cache->api->cache_destroy(cache);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (std::atomic<void *> &slot : handed)
    if (void *left = slot.load())
      pool->api->release_shared(pool, left, *static_cast<uint64_t *>(left));
  EXPECT_EQ(stats().used, 0u);
}

TEST_F(PoolTest, ChildMayUseItWhileOthersDid) {
#ifdef KILN_UNDER_TSAN
  GTEST_SKIP() << "the sanitizer's own threads do not survive a fork";
#endif
  kiln_pool_options options = {};
  options.flags = KILN_POOL_MMAP; // malloc's own locks are the C library's care
  create(options);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      void *memory;
      if (kiln_pool_allocate(pool, 200000, &memory) == KILN_OK)
        kiln_pool_release(pool, memory);
    }
  });
  for (int i = 0; i != 12; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(120);
      bool fine = true;
      for (int k = 0; k != 30; ++k) {
        void *memory;
        fine &= kiln_pool_allocate(pool, 100000, &memory) == KILN_OK;
        std::memset(memory, 1, 100000);
        fine &= kiln_pool_release(pool, memory) == KILN_OK;
      }
      _exit(fine ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}
