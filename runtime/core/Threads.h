//===- Threads.h - Sleeping, waking, starting threads -------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_THREADS_H
#define KILN_RUNTIME_CORE_THREADS_H

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <sched.h>

namespace kiln::rt {

inline constexpr uint64_t kForever = UINT64_MAX;

/// Sleeps while `word` is `value`, for at most `nanoseconds`; may wake for no
/// reason.
void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint64_t nanoseconds = kForever);
void futexWake(std::atomic<uint32_t> &word, int count);

/// A thread with a small stack that leaves all signals to the host's threads.
bool startThread(pthread_t &thread, void *(*body)(void *), void *argument);

/// CPUs that threads are bound to, one each.
class CpuList {
public:
  /// In the kernel's notation, "0-3,8"; null or "": all that the process may use.
  /// False when it is no such list, or the process may use none of it.
  bool parse(const char *text);
  /// Binds the calling thread to the `index`-th of them, modulo their number.
  void pin(uint32_t index) const;

private:
  cpu_set_t set = {};
};

/// A lock that spins for the few hundred nanoseconds that its owners need, then
/// sleeps.
class Mutex {
public:
  void lock() {
    uint32_t expected = 0;
    if (!word.compare_exchange_strong(expected, 1, std::memory_order_acquire)) [[unlikely]]
      lockSlowly();
  }
  void unlock() {
    if (word.exchange(0, std::memory_order_release) == 2) [[unlikely]]
      futexWake(word, 1);
  }

private:
  void lockSlowly();

  /// 0 free, 1 taken, 2 taken and somebody sleeps.
  std::atomic<uint32_t> word{0};
};

class Locked {
public:
  explicit Locked(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Locked() { mutex.unlock(); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

private:
  Mutex &mutex;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_THREADS_H
