//===- Scheduler.cpp - Which requests run next, together ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduler.h"

#include "Tensors.h"

#include <cstring>

namespace kiln::rt {

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

bool Scheduler::configure(const kiln_model *model, const kiln_batcher_options &options) {
  constexpr uint64_t us = 1000;
  if (!specs.read(model))
    return false;
  for (const kiln_tensor_spec *spec : specs.inputs) {
    keySize += 1 + spec->rank;
    sharesInputs |= spec->batch_axis < 0;
  }
  maxBatch = options.max_batch;
  maxWait = options.max_wait_us * us;
  maxExec = options.max_exec_us * us;
  patience = std::max<uint64_t>(16 * maxWait, 100000 * us);
  load.configure(maxBatch, options.target_p99_us * us, us * 1000 * options.cooldown_ms);
  if (!keys.allocate(size_t(keySize) * (kBuckets + 1)))
    return false;
  for (uint32_t i = 0; i != kBuckets + 1; ++i)
    buckets[i].key = &keys[size_t(i) * keySize];
  return true;
}

bool Scheduler::matches(const Bucket &bucket, const Request &request) const {
  const int64_t *key = bucket.key;
  if (bucket.isSlow != request.isSlow)
    return false;
  for (uint32_t i = 0; i != specs.inputs.size(); ++i) {
    const kiln_tensor_spec &spec = *specs.inputs[i];
    const DLTensor &tensor = request.inputs[i];
    if (*key++ != (tensor.data != nullptr))
      return false;
    for (uint32_t axis = 0; axis != spec.rank; ++axis, ++key)
      if (tensor.data && int32_t(axis) != spec.batch_axis && *key != tensor.shape[axis])
        return false;
  }
  return true;
}

void Scheduler::writeKey(Bucket &bucket, const Request &request) const {
  int64_t *key = bucket.key;
  for (uint32_t i = 0; i != specs.inputs.size(); ++i) {
    const kiln_tensor_spec &spec = *specs.inputs[i];
    const DLTensor &tensor = request.inputs[i];
    *key++ = tensor.data != nullptr;
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      *key++ = tensor.data && int32_t(axis) != spec.batch_axis ? tensor.shape[axis] : 0;
  }
}

uint32_t Scheduler::findBucket(const Request &request) {
  uint32_t oldest = kStray;
  for (uint32_t i = 0; i != kBuckets; ++i) {
    const Bucket &bucket = buckets[i];
    if (bucket.inUse && matches(bucket, request))
      return i;
    bool older = oldest == kStray || bucket.lastUse < buckets[oldest].lastUse;
    if (!bucket.requests && !bucket.running && older)
      oldest = i;
  }
  if (oldest == kStray)
    return kStray;
  Bucket &bucket = buckets[oldest];
  int64_t *key = bucket.key;
  bucket = Bucket();
  bucket.key = key;
  bucket.inUse = true;
  bucket.isSlow = request.isSlow;
  writeKey(bucket, request);
  return oldest;
}

/// What orders requests of one class: the deadline, or when patience ends.
static uint64_t dueTime(const Request &request, uint64_t patience) {
  return std::min(request.deadline, request.arrival + patience);
}

void Scheduler::add(Request &request) {
  uint32_t index = findBucket(request);
  Bucket &bucket = buckets[index];
  request.bucket = int32_t(index);
  request.rowsTaken = 0;
  request.state.store(RequestState::Waiting, std::memory_order_relaxed);
  uint32_t c = request.priority;
  uint64_t due = dueTime(request, patience);
  Request *before = bucket.last[c];
  while (before && dueTime(*before, patience) > due)
    before = before->previous;
  request.previous = before;
  request.next = before ? before->next : bucket.first[c];
  (before ? before->next : bucket.first[c]) = &request;
  (request.next ? request.next->previous : bucket.last[c]) = &request;
  ++bucket.requests;
  bucket.rows += request.rows;
  bucket.deadlines += request.deadline != kForever;
  bucket.lastUse = request.arrival;
  ++numWaiting;
  if (bucket.lastArrival && request.arrival >= bucket.lastArrival) {
    // 0 would say that nothing is known.
    uint64_t gap = std::max<uint64_t>(request.arrival - bucket.lastArrival, 1);
    // A pause says nothing of the rate within bursts, but that the last one ended.
    bucket.meanGap = bucket.meanGap ? (bucket.meanGap * 7 + gap) / 8 : gap;
  }
  bucket.lastArrival = std::max(bucket.lastArrival, request.arrival);
}

void Scheduler::remove(Request &request) {
  Bucket &bucket = buckets[request.bucket];
  uint32_t c = request.priority;
  (request.previous ? request.previous->next : bucket.first[c]) = request.next;
  (request.next ? request.next->previous : bucket.last[c]) = request.previous;
  request.previous = request.next = nullptr;
  --bucket.requests;
  bucket.deadlines -= request.deadline != kForever;
  bucket.rows -= request.rows - request.rowsTaken;
  --numWaiting;
}

Request *Scheduler::takeExpired(uint64_t now) {
  for (Bucket &bucket : buckets) {
    uint64_t soonest = bucket.deadlines ? now + bucket.costs.predict(maxBatch) : 0;
    for (uint32_t c = 0; bucket.deadlines && c != kClasses; ++c)
      for (Request *request = bucket.first[c]; request; request = request->next) {
        // In order of what is due: none behind has an earlier deadline.
        if (dueTime(*request, patience) > soonest)
          break;
        // A part that runs already cannot be called back.
        if (request->deadline == kForever || request->rowsTaken)
          continue;
        if (now + bucket.costs.predict(std::min(request->rows, maxBatch)) <= request->deadline)
          continue;
        remove(*request);
        return request;
      }
  }
  return nullptr;
}

Request *Scheduler::takeAny() {
  for (Bucket &bucket : buckets)
    for (Request *head : bucket.first)
      for (Request *request = head; request; request = request->next)
        if (!request->rowsTaken) {
          remove(*request);
          return request;
        }
  return nullptr;
}

bool Scheduler::sharedInputsEqual(const Request &a, const Request &b) const {
  if (!sharesInputs)
    return true;
  for (uint32_t i = 0; i != specs.inputs.size(); ++i) {
    const kiln_tensor_spec &spec = *specs.inputs[i];
    const DLTensor &x = a.inputs[i], &y = b.inputs[i];
    if (spec.batch_axis >= 0 || !x.data || dataOf(x) == dataOf(y))
      continue;
    uint64_t bytes = spec.dtype.bits / 8;
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      bytes *= uint64_t(x.shape[axis]);
    if (std::memcmp(dataOf(x), dataOf(y), bytes) != 0)
      return false;
  }
  return true;
}

CostTable *Scheduler::onlyCosts() {
  for (uint32_t i = 0; i != specs.inputs.size(); ++i) {
    const kiln_tensor_spec &spec = *specs.inputs[i];
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      if (int32_t(axis) != spec.batch_axis && spec.dims[axis].lo != spec.dims[axis].hi)
        return nullptr;
  }
  // The key that the first request with all inputs would write.
  Bucket &bucket = buckets[0];
  bucket.inUse = true;
  int64_t *key = bucket.key;
  for (uint32_t i = 0; i != specs.inputs.size(); ++i) {
    const kiln_tensor_spec &spec = *specs.inputs[i];
    bool given = !(spec.flags & KILN_TENSOR_OPTIONAL);
    *key++ = given;
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      *key++ = given && int32_t(axis) != spec.batch_axis ? spec.dims[axis].lo : 0;
  }
  return &bucket.costs;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

uint32_t Scheduler::limitOf(const Bucket &bucket) const {
  uint32_t limit = load.limit();
  return maxExec ? bucket.costs.rowsWithin(maxExec, limit) : limit;
}

uint64_t Scheduler::dueOf(const Bucket &bucket) {
  uint64_t due = kForever;
  for (const Request *head : bucket.first)
    if (head)
      due = std::min(due, std::min(head->deadline, head->arrival));
  return due;
}

uint32_t Scheduler::rank(const Bucket &bucket, uint64_t now) const {
  uint32_t best = 2 * kClasses;
  for (uint32_t c = 0; c != kClasses; ++c)
    if (const Request *head = bucket.first[c]) {
      bool isDue = now >= dueTime(*head, patience);
      best = std::min(best, isDue ? 0 : c + (bucket.isSlow ? kClasses : 0));
    }
  return best;
}

/// When the batch must go at the latest; 0: at once.
uint64_t Scheduler::openUntil(Bucket &bucket, uint64_t now) {
  uint32_t limit = limitOf(bucket);
  if (!maxWait || bucket.rows >= limit || &bucket == &buckets[kStray])
    return 0;
  uint64_t oldest = kForever, deadline = kForever;
  for (const Request *head : bucket.first)
    if (head) {
      oldest = std::min(oldest, head->arrival);
      deadline = std::min(deadline, head->deadline);
    }
  uint64_t until = oldest + maxWait;
  uint64_t more = bucket.costs.predict(bucket.rows + 1);
  if (deadline != kForever)
    until = std::min(until, deadline - std::min(deadline, more + more / 4));
  if (until <= now)
    return 0;
  uint64_t apart = bucket.costs.predict(bucket.rows) + bucket.costs.predict(1);
  uint64_t saved = apart > more ? apart - more : 0;
  uint64_t expected = bucket.lastArrival + 2 * bucket.meanGap;
  if (bucket.holdsToSkip || !bucket.meanGap || bucket.meanGap > saved || expected <= now) {
    ++closedEarly;
    return 0;
  }
  return std::min(until, expected);
}

void Scheduler::closeHold(Bucket &bucket) {
  constexpr uint32_t mostDoublings = 6;
  if (bucket.rowsWhenHeld) {
    // What brought nothing is not tried again so soon: a client that waits for
    // this very batch will not send the next request.
    bool gained = bucket.rows > bucket.rowsWhenHeld;
    bucket.futileHolds = gained ? 0 : std::min(bucket.futileHolds + 1, mostDoublings);
    bucket.holdsToSkip = gained ? 0 : 1u << bucket.futileHolds;
    bucket.rowsWhenHeld = 0;
  } else if (bucket.holdsToSkip) {
    --bucket.holdsToSkip;
  }
}

void Scheduler::fill(uint32_t index, uint64_t now, Batch &batch) {
  Bucket &bucket = buckets[index];
  uint32_t limit = index == kStray ? 1 : limitOf(bucket);
  bool limitedByTime = maxExec && limit < load.limit();
  batch.count = batch.rows = 0;
  batch.bucket = int32_t(index);
  batch.isSlow = bucket.isSlow;
  batch.picked = now;
  slowRunning += bucket.isSlow;
  ++bucket.running;
  // A class that waited too long goes first.
  uint32_t order[kClasses] = {0, 1, 2};
  const Request *low = bucket.first[kClasses - 1];
  if (low && now >= dueTime(*low, patience))
    order[0] = 2, order[1] = 0, order[2] = 1;
  bool full = false;
  for (uint32_t c : order) {
    for (Request *request = bucket.first[c], *next; request && !full; request = next) {
      next = request->next;
      if (batch.count && !sharedInputsEqual(*batch.items[0].request, *request))
        continue;
      uint32_t left = request->rows - request->rowsTaken;
      bool mayPart = request->rows > maxBatch || (limitedByTime && request->hasOutputs);
      uint32_t room = limit > batch.rows ? limit - batch.rows : 0;
      uint32_t taken = left <= room ? left : mayPart ? room : batch.count ? 0 : left;
      if (!taken) {
        full = true;
        break;
      }
      batch.items[batch.count++] = {request,    request->rowsTaken, taken,
                                    batch.rows, /*isLast=*/false,   KILN_OK};
      batch.rows += taken;
      // Not so many rows that one of them would be late for it.
      if (request->deadline != kForever && bucket.costs.predict(limit) > request->deadline - now)
        limit = std::max(batch.rows, bucket.costs.rowsWithin(request->deadline - now, limit));
      request->state.store(RequestState::Running, std::memory_order_relaxed);
      if (taken == left)
        remove(*request);
      bucket.rows -= taken == left ? 0 : taken;
      request->rowsTaken += taken;
      full = batch.rows >= limit || index == kStray || batch.count == batch.items.size();
    }
  }
  batch.expected = bucket.costs.predict(batch.rows);
  splits += limitedByTime && bucket.rows != 0;
}

Scheduler::Pick Scheduler::pick(uint64_t now, bool eager, Batch &batch) {
  uint32_t best = UINT32_MAX, bestRank = 0;
  uint64_t bestDue = 0;
  holdUntil = kForever;
  holdRows = UINT32_MAX;
  for (uint32_t i = 0; numWaiting && i != kBuckets + 1; ++i) {
    Bucket &bucket = buckets[i];
    if (!bucket.requests || (bucket.isSlow && slowRunning))
      continue;
    if (uint64_t until = eager ? 0 : openUntil(bucket, now)) {
      if (!bucket.rowsWhenHeld)
        bucket.rowsWhenHeld = bucket.rows;
      holdUntil = std::min(holdUntil, until);
      holdRows = std::min(holdRows, limitOf(bucket) - bucket.rows);
      continue;
    }
    uint32_t thisRank = rank(bucket, now);
    uint64_t due = dueOf(bucket);
    if (best == UINT32_MAX || thisRank < bestRank || (thisRank == bestRank && due < bestDue)) {
      best = i;
      bestRank = thisRank;
      bestDue = due;
    }
  }
  if (best == UINT32_MAX)
    return holdUntil == kForever ? Pick::Nothing : Pick::Hold;
  closeHold(buckets[best]);
  fill(best, now, batch);
  return Pick::Take;
}

void Scheduler::finished(const Batch &batch, uint64_t nanoseconds) {
  slowRunning -= batch.isSlow;
  Bucket &bucket = buckets[batch.bucket];
  --bucket.running;
  if (nanoseconds && batch.bucket != int32_t(kStray))
    bucket.costs.note(batch.rows, nanoseconds);
}

} // namespace kiln::rt
