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

/// Digits at `text`, which moves behind them; false when there are none, or no CPU has
/// that number.
static bool parseCpu(const char *&text, uint32_t &cpu) {
  const char *begin = text;
  for (cpu = 0; *text >= '0' && *text <= '9' && cpu < CPU_SETSIZE; ++text)
    cpu = cpu * 10 + uint32_t(*text - '0');
  return text != begin && cpu < CPU_SETSIZE;
}

bool CpuList::parse(const char *text) {
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return false;
  if (!text || !*text)
    return true;
  cpu_set_t named;
  CPU_ZERO(&named);
  for (;; ++text) {
    uint32_t first, last;
    if (!parseCpu(text, first))
      return false;
    last = first;
    if (*text == '-' && (!parseCpu(++text, last) || last < first))
      return false;
    for (uint32_t cpu = first; cpu <= last; ++cpu)
      CPU_SET(cpu, &named);
    if (*text != ',')
      break;
  }
  CPU_AND(&set, &set, &named);
  // As files end that the kernel writes.
  return (*text == 0 || (*text == '\n' && text[1] == 0)) && CPU_COUNT(&set) != 0;
}

void CpuList::pin(uint32_t index) const {
  uint32_t wanted = index % uint32_t(CPU_COUNT(&set));
  for (int cpu = 0; cpu != CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set) || wanted-- != 0)
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
