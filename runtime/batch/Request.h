//===- Request.h - Places for requests, and their way in ----- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batcher has a fixed number of places. A submitting thread takes one off the
// free list, fills it and puts it on the intake, without a lock and without
// memory from the heap; whoever picks the next batch empties the intake.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_REQUEST_H
#define KILN_RUNTIME_BATCH_REQUEST_H

#include "Support.h"
#include "Threads.h"
#include "kiln-c/Batcher.h"

namespace kiln::rt {

enum class RequestState : uint32_t {
  Free,
  Arriving, ///< in the intake
  Waiting,  ///< in a bucket
  Running,  ///< in batches
  Done,     ///< `status` says how; the place waits for its waiter or callback
};

struct Request {
  // Of the request itself; constant from submission on.
  DLTensor *inputs = nullptr;   ///< num_inputs of them; data NULL where left out
  DLTensor **outputs = nullptr; ///< num_outputs of them
  bool hasOutputs = false;
  bool isSlow = false;
  uint8_t priority = 0; ///< 0 goes first
  uint32_t rows = 0;
  uint64_t arrival = 0;
  uint64_t deadline = 0; ///< kForever: none
  kiln_batch_done_fn callback = nullptr;
  void *user = nullptr;

  // Under the batcher's lock.
  Request *previous = nullptr, *next = nullptr; ///< in a bucket; `next` also in the intake
  int32_t bucket = -1;
  uint32_t rowsTaken = 0;

  std::atomic<RequestState> state{RequestState::Free};
  /// Rows whose results are not there yet.
  std::atomic<uint32_t> rowsLeft{0};
  /// The worst of its parts.
  std::atomic<kiln_status_t> status{KILN_OK};
  /// 0 pending, 1 pending and somebody sleeps, 2 done.
  std::atomic<uint32_t> done{0};
  /// Counts the uses of the place: an old ticket does not fit.
  std::atomic<uint32_t> generation{1};
  /// Where its callback runs.
  std::atomic<uint64_t> callbackThread{0};
  uint32_t index = 0;
  uint32_t nextFree = 0;

  kiln_ticket ticket() const {
    return uint64_t(generation.load(std::memory_order_relaxed)) << 32 | index;
  }
  /// Makes the ticket void; false when somebody did so before.
  bool useUp(uint32_t expected) {
    // Never 0, so that no ticket is.
    uint32_t next = expected + 1 ? expected + 1 : 1;
    return generation.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
  }
  void useUp() { useUp(generation.load(std::memory_order_relaxed)); }
};

/// A stack of places by number. The head carries a count of its changes, so
/// that a place that went and came back meanwhile is noticed.
class FreeList {
public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void push(Array<Request> &places, uint32_t index) {
    uint64_t seen = head.load(std::memory_order_relaxed);
    do
      __atomic_store_n(&places[index].nextFree, uint32_t(seen), __ATOMIC_RELAXED);
    while (!head.compare_exchange_weak(seen, changed(seen, index), std::memory_order_seq_cst));
  }
  uint32_t pop(Array<Request> &places) {
    uint64_t seen = head.load(std::memory_order_acquire);
    for (;;) {
      uint32_t index = uint32_t(seen);
      if (index == kNone)
        return kNone;
      uint32_t next = __atomic_load_n(&places[index].nextFree, __ATOMIC_RELAXED);
      if (head.compare_exchange_weak(seen, changed(seen, next), std::memory_order_seq_cst))
        return index;
    }
  }
  bool empty() const { return uint32_t(head.load(std::memory_order_seq_cst)) == kNone; }

private:
  static uint64_t changed(uint64_t seen, uint32_t index) {
    return ((seen >> 32) + 1) << 32 | index;
  }
  std::atomic<uint64_t> head{kNone};
};

/// Newest first; taken as a whole.
class Intake {
public:
  void push(Request &request) {
    Request *seen = newest.load(std::memory_order_relaxed);
    do
      request.next = seen;
    while (!newest.compare_exchange_weak(seen, &request, std::memory_order_seq_cst));
  }
  /// Oldest first, linked by `next`.
  Request *takeAll() {
    if (empty())
      return nullptr;
    Request *from = newest.exchange(nullptr, std::memory_order_acquire), *oldest = nullptr;
    while (from) {
      Request *after = from->next;
      from->next = oldest;
      oldest = from;
      from = after;
    }
    return oldest;
  }

  bool empty() const { return !newest.load(std::memory_order_seq_cst); }

private:
  std::atomic<Request *> newest{nullptr};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_REQUEST_H
