//===- Threads.cpp - Sleeping, waking, starting threads -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Threads.h"

#include "Cpu.h"

#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::rt {

void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint64_t nanoseconds) {
  constexpr uint64_t second = 1000000000;
  const timespec limit = {time_t(nanoseconds / second), long(nanoseconds % second)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nanoseconds == kForever ? nullptr : &limit,
          nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

bool startThread(pthread_t &thread, void *(*body)(void *), void *argument) {
  constexpr size_t stackBytes = size_t(2) << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setstacksize(&attributes, stackBytes);
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  bool started = pthread_create(&thread, &attributes, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

void pinThread(uint32_t index) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0)
    return;
  uint32_t wanted = index % uint32_t(CPU_COUNT(&mask));
  for (int cpu = 0; cpu != CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask) || wanted-- != 0)
      continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

void Mutex::lockSlowly() {
  constexpr int patience = 100;
  for (int i = 0; i != patience; ++i) {
    uint32_t expected = 0;
    if (word.load(std::memory_order_relaxed) == 0 &&
        word.compare_exchange_weak(expected, 1, std::memory_order_acquire))
      return;
    pauseCpu();
  }
  while (word.exchange(2, std::memory_order_acquire) != 0)
    futexWait(word, 2);
}

} // namespace kiln::rt
