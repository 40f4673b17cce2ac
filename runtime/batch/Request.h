//===- Request.h - Places for requests, and their way in ----- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batcher has a fixed number of places. Whoever submits takes one that is free,
// fills it and puts it on the intake, all behind one door and without memory from
// the heap; whoever picks the next batch empties the intake.
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
  /// Of a request that nobody waits for.
  void useUp() {
    uint32_t next = generation.load(std::memory_order_relaxed) + 1;
    generation.store(next ? next : 1, std::memory_order_release);
  }
};

/// The time of requests that come in one upon the other. Behind the door.
class StampClock {
public:
  /// As nanoseconds(), or up to a microsecond earlier.
  uint64_t read() {
#ifdef __x86_64__
    // The counter says for half the cost of the clock that hardly any time has passed. It
    // runs at 1 to 5 GHz; one that jumps back looks as if much had.
    constexpr uint64_t few = 1000;
    uint64_t ticks = __builtin_ia32_rdtsc();
    if (ticks - lastTicks < few)
      return lastTime;
    lastTicks = ticks;
#endif
    return lastTime = nanoseconds();
  }

private:
  uint64_t lastTicks = 0, lastTime = 0;
};

/// Places that are free, the last one first. Behind the door.
class FreeList {
public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void push(Request &request) {
    request.nextFree = head;
    head = request.index;
    count.add(1);
  }
  uint32_t pop(Array<Request> &places) {
    uint32_t index = head;
    if (index != kNone) {
      head = places[index].nextFree;
      count.add(uint64_t(-1));
    }
    return index;
  }
  bool empty() const { return head == kNone; }
  /// May be called from elsewhere.
  uint64_t size() const { return count.get(); }

private:
  uint32_t head = kNone;
  Counter count;
};

/// Oldest first. Behind the door.
class Intake {
public:
  void push(Request &request) {
    request.next = nullptr;
    (newest ? newest->next : oldest) = &request;
    newest = &request;
  }
  /// Linked by `next`.
  Request *takeAll() {
    newest = nullptr;
    return std::exchange(oldest, nullptr);
  }
  bool empty() const { return !oldest; }

private:
  Request *oldest = nullptr, *newest = nullptr;
};

/// The tensors of a model, looked up once.
struct Interface {
  Array<const kiln_tensor_spec *> inputs, outputs;

  bool read(const kiln_model *model) {
    auto fill = [&](auto *lookUp, Array<const kiln_tensor_spec *> &specs) {
      uint32_t count = 0;
      while (lookUp(model, count))
        ++count;
      if (!specs.allocate(count))
        return false;
      for (uint32_t i = 0; i != count; ++i)
        specs[i] = lookUp(model, i);
      return true;
    };
    return fill(kiln_model_input, inputs) && fill(kiln_model_output, outputs);
  }
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_REQUEST_H
