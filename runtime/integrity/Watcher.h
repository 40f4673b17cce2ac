//===- Watcher.h - A thread that does a little now and then -- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_WATCHER_H
#define KILN_RUNTIME_INTEGRITY_WATCHER_H

#include "ForkGuard.h"

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace kiln::rt {

/// Calls `work(argument)` every `interval` nanoseconds until its end, which waits
/// for a call under way; on a busy machine it comes later, for its priority is the
/// lowest that there is. A child after fork has no such thread.
class Watcher {
public:
  ~Watcher() { stop(); }

  /// Once; false when there is no thread to be had.
  bool start(void (*work)(void *), void *argument, uint64_t interval);
  void stop();

private:
  static void *enter(void *self);

  void (*work)(void *) = nullptr;
  void *argument = nullptr;
  uint64_t interval = 0;
  ForkGuard guard;
  uint64_t born = 0;
  pthread_t thread = {};
  bool isRunning = false;
  std::atomic<uint32_t> stopping{0};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_WATCHER_H
