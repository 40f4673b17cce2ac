//===- Submit.cpp - The life of one request -------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"

#include "Cpu.h"
#include "Tensors.h"

#include <climits>
#include <cstring>

namespace kiln::rt {
namespace {

kiln_status_t checkRequestInput(const kiln_tensor_spec &spec, const DLTensor &tensor) {
  if (tensor.device.device_type != kDLCPU)
    return KILN_UNSUPPORTED;
  if (tensor.dtype.code != spec.dtype.code || tensor.dtype.bits != spec.dtype.bits ||
      tensor.dtype.lanes != spec.dtype.lanes)
    return KILN_INVALID_TYPE;
  if (tensor.ndim != int32_t(spec.rank) || (spec.rank && !tensor.shape))
    return KILN_INVALID_SHAPE;
  uint64_t bytes;
  kiln_module_dtype dtype = {tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes};
  if (!denseBytes(tensor.shape, spec.rank, dtype, bytes) || !isDense(tensor))
    return KILN_INVALID_SHAPE;
  if (!tensor.data)
    return KILN_INVALID_ARGUMENT;
  for (uint32_t axis = 0; axis != spec.rank; ++axis) {
    const kiln_dim_spec &dim = spec.dims[axis];
    // The batch's own range holds for batches: max_batch keeps to it.
    if (int32_t(axis) == spec.batch_axis)
      continue;
    if (tensor.shape[axis] < dim.lo || tensor.shape[axis] > dim.hi)
      return KILN_INVALID_SHAPE;
  }
  return KILN_OK;
}

} // namespace

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

kiln_status_t Batcher::checkTensors(const DLTensor *const *inputs, uint32_t numGiven,
                                    DLTensor *const *outputs, uint32_t numResults, uint32_t &rows,
                                    uint64_t &elements) const {
  if (numGiven > numInputs || (numGiven && !inputs) || numResults != (outputs ? numOutputs : 0))
    return KILN_INVALID_ARGUMENT;
  int64_t count = -1;
  elements = 0;
  for (uint32_t i = 0; i != numInputs; ++i) {
    const kiln_tensor_spec &spec = *scheduler.tensors().inputs[i];
    const DLTensor *tensor = i < numGiven ? inputs[i] : nullptr;
    if (!tensor) {
      // What stands in for an input has the rows of one batch size only.
      if (!(spec.flags & KILN_TENSOR_OPTIONAL) || spec.batch_axis >= 0)
        return KILN_INVALID_ARGUMENT;
      continue;
    }
    if (kiln_status_t status = checkRequestInput(spec, *tensor))
      return status;
    if (spec.batch_axis < 0)
      continue;
    int64_t here = tensor->shape[spec.batch_axis];
    if (here < 1 || here > INT32_MAX || (count >= 0 && here != count))
      return KILN_INVALID_SHAPE;
    count = here;
    uint64_t each = 1;
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      each *= int32_t(axis) == spec.batch_axis ? 1 : uint64_t(tensor->shape[axis]);
    elements += each;
  }
  for (uint32_t i = 0; i != numResults; ++i)
    if (!outputs[i] || !outputs[i]->data || (outputs[i]->ndim && !outputs[i]->shape))
      return KILN_INVALID_ARGUMENT;
  rows = uint32_t(count);
  return rows > options.max_batch && !outputs ? KILN_INVALID_SHAPE : KILN_OK;
}

/// The time until which rows admitted so far would last at the rate.
bool Batcher::admitRate(uint32_t rows, uint64_t now) {
  if (!rowInterval)
    return true;
  uint64_t seen = admittedUntil.load(std::memory_order_relaxed), next;
  do {
    uint64_t from = std::max(seen, now);
    next = from + rows * rowInterval;
    if (from > now && next - now > burstTime)
      return false;
  } while (!admittedUntil.compare_exchange_weak(seen, next, std::memory_order_relaxed));
  return true;
}

bool Batcher::admitDeadline(uint32_t rows, uint64_t now, uint64_t deadline) const {
  uint64_t perRow = timePerRow.load(std::memory_order_relaxed);
  uint64_t perBatch = timePerBatch.load(std::memory_order_relaxed);
  int64_t ahead = std::max<int64_t>(waitingRows(), 0);
  uint64_t time = uint64_t(ahead) * perRow / options.workers + std::max(perBatch, rows * perRow);
  if (numRunning.load(std::memory_order_relaxed))
    time += perBatch;
  return now + time <= deadline;
}

uint32_t Batcher::takePlace(uint64_t blockMicroseconds) {
  uint64_t limit = blockMicroseconds ? nanoseconds() + blockMicroseconds * kNsPerUs : 0;
  while (freePlaces.empty() && limit && !closing.load(std::memory_order_relaxed)) {
    uint64_t now = nanoseconds();
    if (now >= limit)
      break;
    uint32_t seen = freeBell.load(std::memory_order_relaxed);
    ++blocked;
    door.unlock();
    futexWait(freeBell, seen, limit - now);
    door.lock();
    --blocked;
  }
  return closing.load(std::memory_order_relaxed) ? FreeList::kNone : freePlaces.pop(places);
}

struct Batcher::Submission {
  const DLTensor *const *inputs;
  DLTensor *const *outputs;
  uint32_t numGiven, numResults;
  const kiln_submit_options &how;
  uint32_t rows;
  bool isSlow, willWait;
  uint64_t arrival; ///< 0: now
  uint64_t deadline;
};

kiln_status_t Batcher::submit(const DLTensor *const *inputs, uint32_t numGiven,
                              DLTensor *const *outputs, uint32_t numResults,
                              const kiln_submit_options *asked, bool willWait,
                              kiln_ticket *ticket) {
  if (!inParent())
    return KILN_UNSUPPORTED;
  kiln_submit_options how = {};
  if (asked && !readOptions(&how, sizeof how, asked))
    return KILN_INVALID_ARGUMENT;
  if (how.priority > KILN_PRIORITY_LOW || how.reserved || (!how.done && !outputs) ||
      (!how.done && !ticket))
    return KILN_INVALID_ARGUMENT;
  uint32_t rows;
  uint64_t elements;
  if (kiln_status_t status = checkTensors(inputs, numGiven, outputs, numResults, rows, elements))
    return status;
  if (closing.load(std::memory_order_relaxed))
    return KILN_CLOSED;
  // Who asks for neither is stamped on the way in.
  uint64_t now = how.deadline_us || rowInterval ? nanoseconds() : 0;
  uint64_t deadline = how.deadline_us ? now + how.deadline_us * kNsPerUs : kForever;
  if (how.deadline_us && !admitDeadline(rows, now, deadline)) {
    refusedDeadline.fetch_add(1, std::memory_order_relaxed);
    return KILN_DEADLINE;
  }
  if (!admitRate(rows, now)) {
    refusedRate.fetch_add(1, std::memory_order_relaxed);
    return KILN_OVERLOADED;
  }
  bool isSlow = options.slow_elements && elements > options.slow_elements;
  const Submission given = {inputs, outputs, numGiven, numResults, how,
                            rows,   isSlow,  willWait, now,        deadline};
  if (!how.block_us) [[likely]]
    return admit(given, ticket);
  Visit visit(*this);
  return admit(given, ticket);
}

void Batcher::fillPlace(Request &request, const Submission &given) {
  for (uint32_t i = 0; i != numInputs; ++i) {
    DLTensor &to = request.inputs[i];
    const DLTensor *from = i < given.numGiven ? given.inputs[i] : nullptr;
    int64_t *shape = to.shape;
    to = from ? *from : DLTensor{};
    to.strides = nullptr;
    to.shape = shape;
    for (int32_t axis = 0; from && axis != from->ndim; ++axis)
      shape[axis] = from->shape[axis];
  }
  request.hasOutputs = given.outputs != nullptr;
  for (uint32_t i = 0; i != given.numResults; ++i)
    request.outputs[i] = given.outputs[i];
  static constexpr uint8_t classes[] = {1, 0, 2};
  request.priority = classes[given.how.priority];
  request.isSlow = given.isSlow;
  request.rows = given.rows;
  request.arrival = given.arrival ? given.arrival : stamps.read();
  request.deadline = given.deadline;
  request.callback = given.how.done;
  request.user = given.how.user;
  request.rowsLeft.store(given.rows, std::memory_order_relaxed);
  request.status.store(KILN_OK, std::memory_order_relaxed);
  request.done.store(0, std::memory_order_relaxed);
  request.state.store(RequestState::Arriving, std::memory_order_relaxed);
}

bool Batcher::mustWake(const Submission &given) {
  if (given.willWait)
    return false;
  if (sleepers > waking) {
    ++waking;
    return true;
  }
  return holders && (waitingCount() >= holdTarget.load(std::memory_order_relaxed) ||
                     given.how.deadline_us || given.how.priority == KILN_PRIORITY_HIGH);
}

kiln_status_t Batcher::admit(const Submission &given, kiln_ticket *ticket) {
  bool wakes;
  {
    Locked locked(door);
    uint32_t index = takePlace(given.how.block_us);
    if (index == FreeList::kNone) {
      if (closing.load(std::memory_order_relaxed))
        return KILN_CLOSED;
      refusedFull.fetch_add(1, std::memory_order_relaxed);
      return KILN_OVERLOADED;
    }
    Request &request = places[index];
    fillPlace(request, given);
    // Before the request can be done and its place be another's.
    if (ticket)
      *ticket = request.ticket();
    ++underWay;
    intake.push(request);
    arrivedRows.add(given.rows);
    arrived.add(1);
    wakes = mustWake(given);
    if (wakes)
      bell.fetch_add(1, std::memory_order_seq_cst);
  }
  // The batcher may be gone by now, if the request is done and was the last: what
  // follows needs no more than the bell's address.
  if (wakes)
    futexWake(bell, 1);
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

bool Batcher::wakesBlocked() {
  if (blocked)
    freeBell.fetch_add(1, std::memory_order_seq_cst);
  return blocked;
}

void Batcher::Leaving::add(Request &request, bool withPlace) {
  ++count;
  if (withPlace) {
    request.next = places;
    places = &request;
  }
  // Where places are short, none is kept from who needs it.
  if (batcher.freePlaces.size() < batcher.options.max_batch)
    flush();
}

void Batcher::Leaving::flush() {
  if (!count)
    return;
  bool wakes, idle;
  int returned = 0;
  {
    Locked locked(batcher.door);
    for (; Request *request = places; ++returned) {
      places = request->next;
      batcher.freePlaces.push(*request);
    }
    wakes = batcher.wakesBlocked();
    batcher.underWay -= std::exchange(count, 0);
    idle = !batcher.underWay && batcher.drainers.load(std::memory_order_relaxed);
    if (idle)
      batcher.idleBell.fetch_add(1, std::memory_order_seq_cst);
  }
  if (wakes)
    futexWake(batcher.freeBell, returned);
  if (idle)
    futexWake(batcher.idleBell, INT_MAX);
}

void Batcher::countEnd(const Request &request, kiln_status_t status, uint64_t now) {
  switch (status) {
  case KILN_OK:
    ++counts.completed;
    counts.late += now > request.deadline;
    countInto(counts.total_times, KILN_BATCHER_TIMES, now - request.arrival);
    counts.total_ns += now - request.arrival;
    break;
  case KILN_CANCELLED:
    ++counts.cancelled;
    break;
  case KILN_DEADLINE:
    ++counts.expired;
    break;
  default:
    ++counts.failed;
  }
}

void Batcher::complete(Request &request, kiln_status_t status, const DLTensor *const *outputs,
                       Leaving &leaving) {
  request.status.store(status, std::memory_order_relaxed);
  request.state.store(RequestState::Done, std::memory_order_release);
  if (request.callback) {
    request.callbackThread.store(uint64_t(pthread_self()), std::memory_order_relaxed);
    request.callback(request.user, request.ticket(), status, outputs, outputs ? numOutputs : 0);
    request.callbackThread.store(0, std::memory_order_relaxed);
    request.useUp();
    request.state.store(RequestState::Free, std::memory_order_relaxed);
    leaving.add(request, /*withPlace=*/true);
    return;
  }
  if (request.done.exchange(2, std::memory_order_acq_rel) == 1)
    futexWake(request.done, 1);
  leaving.add(request, /*withPlace=*/false);
}

void Batcher::giveUp(Request &request, kiln_status_t status, uint64_t now) {
  {
    Locked locked(lock);
    countEnd(request, status, now);
  }
  Leaving leaving(*this);
  complete(request, status, nullptr, leaving);
}

Request *Batcher::find(kiln_ticket ticket) {
  auto index = uint32_t(ticket);
  if (index >= places.size())
    return nullptr;
  Request &request = places[index];
  bool fits = request.generation.load(std::memory_order_acquire) == uint32_t(ticket >> 32) &&
              request.state.load(std::memory_order_acquire) != RequestState::Free;
  return fits ? &request : nullptr;
}

kiln_status_t Batcher::wait(kiln_ticket ticket, uint64_t timeoutMicroseconds) {
  if (!inParent())
    return KILN_UNSUPPORTED;
  Request *request = find(ticket);
  if (!request || request->callback)
    return KILN_INVALID_ARGUMENT;
  uint64_t start = 0;
  while (request->done.load(std::memory_order_acquire) != 2) {
    uint64_t now = nanoseconds(), left = kForever;
    start = start ? start : now;
    if (timeoutMicroseconds < kForever / kNsPerUs) {
      uint64_t passed = now - start, limit = timeoutMicroseconds * kNsPerUs;
      if (passed >= limit)
        return KILN_BUSY;
      left = limit - passed;
    }
    if (now - start < options.spin_us * kNsPerUs) {
      for (int i = 0; i != 16; ++i)
        pauseCpu();
      continue;
    }
    uint32_t pending = 0;
    if (request->done.compare_exchange_strong(pending, 1, std::memory_order_acq_rel) ||
        pending == 1)
      futexWait(request->done, 1, left);
  }
  kiln_status_t status = request->status.load(std::memory_order_relaxed);
  // Of two that wait for one ticket, one has it.
  if (!request->useUp(uint32_t(ticket >> 32)))
    return KILN_INVALID_ARGUMENT;
  request->state.store(RequestState::Free, std::memory_order_relaxed);
  bool wakes;
  {
    Locked locked(door);
    freePlaces.push(*request);
    wakes = wakesBlocked();
  }
  if (wakes)
    futexWake(freeBell, 1);
  return status;
}

kiln_status_t Batcher::cancel(kiln_ticket ticket) {
  if (!inParent())
    return KILN_UNSUPPORTED;
  Request *request;
  {
    Locked locked(lock);
    takeIntake();
    request = find(ticket);
    if (!request)
      return KILN_INVALID_ARGUMENT;
    RequestState state = request->state.load(std::memory_order_acquire);
    if (state == RequestState::Done)
      return request->status.load(std::memory_order_relaxed) == KILN_CANCELLED ? KILN_CANCELLED
                                                                               : KILN_BUSY;
    if (state != RequestState::Waiting)
      return KILN_BUSY;
    scheduler.remove(*request);
    // Nobody else may take it from here on.
    request->state.store(RequestState::Running, std::memory_order_relaxed);
    noteTaken(1, request->rows);
  }
  giveUp(*request, KILN_CANCELLED, 0);
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// Runs batches on this thread until the request is done, if a lane is free.
/// If none is, who has one looks for requests when it gives the lane back.
void Batcher::lead(Request &request) {
  for (Lane &lane : lanes) {
    if (!lane.acquire())
      continue;
    uint64_t until = 0;
    while (request.done.load(std::memory_order_acquire) != 2 &&
           serve(lane, /*mayHold=*/false, until) == Served::Ran) {
    }
    giveLaneBack(lane);
    return;
  }
}

kiln_status_t Batcher::run(const DLTensor *const *inputs, uint32_t numGiven,
                           DLTensor *const *outputs, uint32_t numResults,
                           const kiln_submit_options *how) {
  kiln_ticket ticket = 0;
  bool works = options.flags & KILN_BATCHER_CALLERS_WORK;
  kiln_status_t status = submit(inputs, numGiven, outputs, numResults, how, works, &ticket);
  if (status != KILN_OK)
    return status;
  if (works)
    lead(places[uint32_t(ticket)]);
  return wait(ticket, kForever);
}

} // namespace kiln::rt
