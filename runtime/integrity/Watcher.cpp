//===- Watcher.cpp - A thread that does a little now and then -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Watcher.h"

#include "Threads.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::rt {

bool Watcher::start(void (*workFn)(void *), void *workArgument, uint64_t pause) {
  work = workFn;
  argument = workArgument;
  interval = pause;
  if (!guard.create())
    return false;
  born = guard.generation();
  isRunning = startThread(thread, enter, this);
  return isRunning;
}

void Watcher::stop() {
  if (!isRunning)
    return;
  isRunning = false;
  if (guard.generation() != born)
    return;
  stopping.store(1, std::memory_order_release);
  futexWake(stopping, 1);
  pthread_join(thread, nullptr);
}

void *Watcher::enter(void *opaque) {
  auto &self = *static_cast<Watcher *>(opaque);
  // Only when a CPU has nothing else to do; where that is refused, it is short.
  const sched_param none = {};
  syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none);
  while (!self.stopping.load(std::memory_order_acquire)) {
    futexWait(self.stopping, 0, self.interval);
    if (!self.stopping.load(std::memory_order_acquire))
      self.work(self.argument);
  }
  return nullptr;
}

} // namespace kiln::rt
