//===- Submit.cpp - The life of one request -------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"

#include "Cpu.h"
#include "Tensors.h"

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
    const kiln_tensor_spec &spec = *kiln_model_input(model, i);
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
  int64_t ahead = std::max<int64_t>(waitingRows.load(std::memory_order_relaxed), 0);
  uint64_t time = uint64_t(ahead) * perRow / options.workers + std::max(perBatch, rows * perRow);
  if (numRunning.load(std::memory_order_relaxed))
    time += perBatch;
  return now + time <= deadline;
}

uint32_t Batcher::takePlace(uint64_t blockMicroseconds) {
  uint32_t index = freePlaces.pop(places);
  if (index != FreeList::kNone || !blockMicroseconds)
    return index;
  uint64_t limit = nanoseconds() + blockMicroseconds * kNsPerUs;
  freeSleepers.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    uint32_t seen = freeBell.load(std::memory_order_seq_cst);
    index = freePlaces.pop(places);
    uint64_t now = nanoseconds();
    if (index != FreeList::kNone || now >= limit || closing.load(std::memory_order_seq_cst))
      break;
    futexWait(freeBell, seen, limit - now);
  }
  freeSleepers.fetch_sub(1, std::memory_order_seq_cst);
  return index;
}

void Batcher::givePlaceBack(Request &request) {
  request.state.store(RequestState::Free, std::memory_order_relaxed);
  freePlaces.push(places, request.index);
  if (freeSleepers.load(std::memory_order_seq_cst)) {
    freeBell.fetch_add(1, std::memory_order_seq_cst);
    futexWake(freeBell, 1);
  }
}

kiln_status_t Batcher::submit(const DLTensor *const *inputs, uint32_t numGiven,
                              DLTensor *const *outputs, uint32_t numResults,
                              const kiln_submit_options *given, bool willWait,
                              kiln_ticket *ticket) {
  if (!inParent())
    return KILN_UNSUPPORTED;
  kiln_submit_options how = {};
  if (given && !readOptions(&how, sizeof how, given))
    return KILN_INVALID_ARGUMENT;
  if (how.priority > KILN_PRIORITY_LOW || how.reserved || (!how.done && !outputs) ||
      (!how.done && !ticket))
    return KILN_INVALID_ARGUMENT;
  uint32_t rows;
  uint64_t elements;
  if (kiln_status_t status = checkTensors(inputs, numGiven, outputs, numResults, rows, elements))
    return status;
  // Counted first: who closes waits for what got past this.
  underWay.fetch_add(1, std::memory_order_seq_cst);
  uint64_t now = nanoseconds();
  uint64_t deadline = how.deadline_us ? now + how.deadline_us * kNsPerUs : kForever;
  auto refuse = [&](kiln_status_t status, std::atomic<uint64_t> *counter) {
    if (counter)
      counter->fetch_add(1, std::memory_order_relaxed);
    leaveWay();
    return status;
  };
  if (closing.load(std::memory_order_seq_cst))
    return refuse(KILN_CLOSED, nullptr);
  if (how.deadline_us && !admitDeadline(rows, now, deadline))
    return refuse(KILN_DEADLINE, &refusedDeadline);
  if (!admitRate(rows, now))
    return refuse(KILN_OVERLOADED, &refusedRate);
  uint32_t index = takePlace(how.block_us);
  if (index == FreeList::kNone)
    return closing.load(std::memory_order_seq_cst) ? refuse(KILN_CLOSED, nullptr)
                                                   : refuse(KILN_OVERLOADED, &refusedFull);
  accepted.fetch_add(1, std::memory_order_relaxed);
  Request &request = places[index];
  for (uint32_t i = 0; i != numInputs; ++i) {
    DLTensor &to = request.inputs[i];
    const DLTensor *from = i < numGiven ? inputs[i] : nullptr;
    int64_t *shape = to.shape;
    to = from ? *from : DLTensor{};
    to.strides = nullptr;
    to.shape = shape;
    for (int32_t axis = 0; from && axis != from->ndim; ++axis)
      shape[axis] = from->shape[axis];
  }
  request.hasOutputs = outputs != nullptr;
  for (uint32_t i = 0; i != numResults; ++i)
    request.outputs[i] = outputs[i];
  static constexpr uint8_t classes[] = {1, 0, 2};
  request.priority = classes[how.priority];
  request.isSlow = options.slow_elements && elements > options.slow_elements;
  request.rows = rows;
  request.arrival = now;
  request.deadline = deadline;
  request.callback = how.done;
  request.user = how.user;
  request.rowsLeft.store(rows, std::memory_order_relaxed);
  request.status.store(KILN_OK, std::memory_order_relaxed);
  request.done.store(0, std::memory_order_relaxed);
  request.state.store(RequestState::Arriving, std::memory_order_relaxed);
  // Before the request can be done and its place be another's.
  if (ticket)
    *ticket = request.ticket();
  intake.push(request);
  waitingRows.fetch_add(int64_t(rows), std::memory_order_relaxed);
  int32_t waiting = waitingCount.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (willWait)
    return KILN_OK;
  bool wakesHolder = holders.load(std::memory_order_seq_cst) &&
                     (waiting >= holdTarget.load(std::memory_order_relaxed) || how.deadline_us ||
                      how.priority == KILN_PRIORITY_HIGH);
  if (wakesHolder || sleepers.load(std::memory_order_seq_cst))
    ring();
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

void Batcher::leaveWay() {
  if (underWay.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
      drainers.load(std::memory_order_seq_cst)) {
    idleBell.fetch_add(1, std::memory_order_seq_cst);
    futexWake(idleBell, INT32_MAX);
  }
}

void Batcher::complete(Request &request, kiln_status_t status, const DLTensor *const *outputs,
                       uint64_t now) {
  {
    Locked locked(lock);
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
  request.status.store(status, std::memory_order_relaxed);
  request.state.store(RequestState::Done, std::memory_order_release);
  if (request.callback) {
    request.callbackThread.store(uint64_t(pthread_self()), std::memory_order_relaxed);
    request.callback(request.user, request.ticket(), status, outputs, outputs ? numOutputs : 0);
    request.callbackThread.store(0, std::memory_order_relaxed);
    request.useUp();
    givePlaceBack(request);
    leaveWay();
    return;
  }
  if (request.done.exchange(2, std::memory_order_acq_rel) == 1)
    futexWake(request.done, 1);
  leaveWay();
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
  givePlaceBack(*request);
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
    waitingCount.fetch_sub(1, std::memory_order_seq_cst);
    waitingRows.fetch_sub(int64_t(request->rows), std::memory_order_relaxed);
  }
  complete(*request, KILN_CANCELLED, nullptr, 0);
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
