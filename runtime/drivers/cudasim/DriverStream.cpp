//===- DriverStream.cpp - Streams and events of the simulated driver ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <algorithm>
#include <cstring>

namespace kiln::cudasim {

CUstream findStream(DriverState &d, CUctx_st &context, CUstream handle) {
  if (!handle || handle == CU_STREAM_LEGACY)
    return d.defaultStreams[&context];
  auto it = d.streams.find(handle);
  return it != d.streams.end() && handle->context == &context ? handle : nullptr;
}

bool isDone(DriverState &d, const Ticket &ticket) {
  auto it = d.streamById.find(ticket.stream);
  return it == d.streamById.end() || it->second->completed >= ticket.number;
}

/// Everything that stands in the way of the stream: the default stream waits for
/// all that block, and they for it.
static void addImplicitOrder(DriverState &d, CUstream_st &stream, std::vector<Ticket> &after) {
  CUstream main = d.defaultStreams[stream.context];
  if (&stream == main) {
    for (auto &[handle, other] : d.streams)
      if (handle != main && other->context == stream.context &&
          !(other->flags & CU_STREAM_NON_BLOCKING))
        after.push_back({other->id, other->enqueued});
  } else if (!(stream.flags & CU_STREAM_NON_BLOCKING)) {
    after.push_back({main->id, main->enqueued});
  }
}

void enqueue(DriverState &d, CUstream_st &stream, std::function<CUresult()> run,
             std::vector<Ticket> after) {
  addImplicitOrder(d, stream, after);
  after.erase(
      std::remove_if(after.begin(), after.end(), [&](const Ticket &t) { return isDone(d, t); }),
      after.end());
  stream.queue.push_back({std::move(run), std::move(after)});
  ++stream.enqueued;
  if (simulator().options.eager)
    runUntil(d, {stream.id, stream.enqueued});
}

namespace {

bool isReady(DriverState &d, const CUstream_st &stream, Clock::time_point now) {
  if (stream.queue.empty() || stream.stalledUntil > now)
    return false;
  const auto &after = stream.queue.front().after;
  return std::all_of(after.begin(), after.end(), [&](const Ticket &t) { return isDone(d, t); });
}

/// Runs one operation of a stream drawn by the seed; false where none can run now.
bool step(DriverState &d) {
  const auto now = Clock::now();
  std::vector<CUstream> ready;
  for (auto &[id, stream] : d.streamById)
    if (isReady(d, *stream, now))
      ready.push_back(stream);
  if (ready.empty())
    return false;
  d.random = d.random * 6364136223846793005ull + 1442695040888963407ull;
  CUstream_st &stream = *ready[(d.random >> 33) % ready.size()];
  CUctx_st &context = *stream.context;
  // It leaves the queue when it is done: a host function may let others in.
  CUstream_st::Entry entry = std::move(stream.queue.front());
  stream.queue.front() = {nullptr, {{stream.id, stream.completed + 1}}};
  if (context.lost == CUDA_SUCCESS)
    if (CUresult failed = entry.run())
      context.lost = failed;
  stream.queue.pop_front();
  ++stream.completed;
  return true;
}

} // namespace

void runUntil(DriverState &d, const Ticket &ticket) {
  while (!isDone(d, ticket))
    if (!step(d)) { // What could run stands still; nothing else can be the reason.
      d.mutex.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      d.mutex.lock();
    }
}

void drainStream(DriverState &d, CUstream_st &stream) { runUntil(d, {stream.id, stream.enqueued}); }

void drainContext(DriverState &d, CUctx_st &context) {
  std::vector<Ticket> all;
  for (auto &[handle, stream] : d.streams)
    if (stream->context == &context)
      all.push_back({stream->id, stream->enqueued});
  for (const Ticket &t : all)
    runUntil(d, t);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

CUresult perform(DriverState &d, CUctx_st &context, const Operation &o, CUstream_st *stream) {
  Simulator &s = simulator();
  DeviceMemory &memory = s.memory;
  const uintptr_t to = reinterpret_cast<uintptr_t>(o.to);
  const uintptr_t from = reinterpret_cast<uintptr_t>(o.from);
  const bool toDevice = memory.contains(to);
  const bool fromDevice = o.staged.empty() && memory.contains(from);
  if ((toDevice && !memory.isLive(to, o.bytes)) ||
      (fromDevice && o.kind == OperationKind::Copy && !memory.isLive(from, o.bytes)))
    return CUDA_ERROR_ILLEGAL_ADDRESS; // Freed since it was asked for.
  switch (o.kind) {
  case OperationKind::Empty:
    return CUDA_SUCCESS;
  case OperationKind::Kernel: {
    ++s.launches;
    const kiln_sim_options &f = s.options;
    if (s.launches == f.sticky_launch)
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (const uint64_t at = s.flipBase + f.flip_address;
        s.launches == f.flip_launch && memory.isLive(at, 1))
      *reinterpret_cast<unsigned char *>(at) ^= 1u << f.flip_bit;
    return CUresult(s.run(o.launch));
  }
  case OperationKind::Copy:
    if (fromDevice && !toDevice && !s.writesUnseen) {
      uintptr_t first = 0;
      if (size_t n = memory.unwritten(from, o.bytes, first))
        s.report.addUnwritten(memory.owner(from).lastWriter, from, n, first);
    }
    memmove(o.to, o.staged.empty() ? o.from : o.staged.data(), o.bytes);
    if (toDevice && fromDevice)
      memory.copyWritten(to, from, o.bytes);
    else if (toDevice)
      memory.setWritten(to, o.bytes);
    return CUDA_SUCCESS;
  case OperationKind::Fill:
    for (size_t i = 0; i < o.bytes; i += o.valueBytes)
      memcpy(static_cast<char *>(o.to) + i, &o.value, o.valueBytes);
    memory.setWritten(to, o.bytes);
    return CUDA_SUCCESS;
  case OperationKind::Host:
    // The function may wait for another thread that calls the driver.
    d.mutex.unlock();
    o.host(o.hostData);
    d.mutex.lock();
    return CUDA_SUCCESS;
  }
  (void)context;
  (void)stream;
  return CUDA_ERROR_UNKNOWN;
}

/// The stream stands still from its stall_launch-th launch on for a while.
static void stall(CUstream_st &stream) {
  Simulator &s = simulator();
  if (++s.enqueuedLaunches == s.options.stall_launch)
    stream.stalledUntil = Clock::now() + std::chrono::milliseconds(s.options.stall_milliseconds);
}

CUresult submit(DriverState &d, CUstream_st &stream, Operation operation) {
  CUctx_st &context = *stream.context;
  if (stream.capture) {
    if (stream.captureBroken)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    auto node = std::make_unique<CUgraphNode_st>();
    node->graph = stream.capture;
    node->index = stream.capture->nodes.size();
    node->operation = std::move(operation);
    node->after = stream.captureTail;
    stream.captureTail = {node->index};
    stream.capture->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  if (&stream == d.defaultStreams[&context])
    for (auto &[handle, other] : d.streams)
      if (other->capture && other->context == &context &&
          !(other->flags & CU_STREAM_NON_BLOCKING)) {
        other->captureBroken = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
  if (operation.kind == OperationKind::Kernel)
    stall(stream);
  enqueue(d, stream, [&d, &context, &stream, o = std::move(operation)] {
    return perform(d, context, o, &stream);
  });
  return CUDA_SUCCESS;
}

extern "C" {

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!stream || flags > CU_STREAM_NON_BLOCKING)
      return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<CUstream_st>();
    made->id = ++d.streamIds;
    made->context = &context;
    made->flags = flags;
    *stream = made.get();
    d.streamById[made->id] = made.get();
    d.streams[made.get()] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    auto it = d.streams.find(stream);
    if (it == d.streams.end() || stream == d.defaultStreams[&context])
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drainStream(d, *stream);
    d.streamById.erase(stream->id);
    d.streams.erase(it);
    return context.lost;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) {
      stream->captureBroken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    drainStream(d, *stream);
    return context.lost;
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) {
      stream->captureBroken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    // Time passes between two queries.
    const Ticket last{stream->id, stream->enqueued};
    if (!isDone(d, last))
      step(d);
    if (context.lost != CUDA_SUCCESS)
      return context.lost;
    return isDone(d, last) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *owner) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!owner)
      return CUDA_ERROR_INVALID_VALUE;
    if (!handle || handle == CU_STREAM_LEGACY) {
      *owner = &context;
      return CUDA_SUCCESS;
    }
    if (!d.streams.count(handle)) // Of another context too: that is the question.
      return CUDA_ERROR_INVALID_HANDLE;
    *owner = handle->context;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream || !d.events.count(event))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!event->recorded)
      return CUDA_SUCCESS;
    if (event->capture) {
      if (!event->captureOrigin) // That capture has ended.
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
      if (stream->capture && stream->capture != event->capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
      if (!stream->capture) {
        if (stream == d.defaultStreams[&context])
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        stream->capture = event->capture;
        stream->captureOrigin = event->captureOrigin;
        stream->captureBroken = false;
        stream->captureTail.clear();
      }
      for (unsigned node : event->captureTail)
        if (std::find(stream->captureTail.begin(), stream->captureTail.end(), node) ==
            stream->captureTail.end())
          stream->captureTail.push_back(node);
      return CUDA_SUCCESS;
    }
    if (stream->capture) {
      stream->captureBroken = true;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    enqueue(d, *stream, [] { return CUDA_SUCCESS; }, {event->ticket});
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!event)
      return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<CUevent_st>();
    made->context = &context;
    made->flags = flags;
    *event = made.get();
    d.events[made.get()] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    return d.events.erase(event) ? context.lost : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream || !d.events.count(event) || event->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = true;
    event->capture = stream->capture;
    if (stream->capture) {
      event->captureOrigin = stream->captureOrigin;
      event->captureTail = stream->captureTail;
      return CUDA_SUCCESS;
    }
    event->time = std::make_shared<Clock::time_point>();
    enqueue(d, *stream, [time = event->time] {
      *time = Clock::now();
      return CUDA_SUCCESS;
    });
    event->ticket = {stream->id, stream->enqueued};
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent event) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!d.events.count(event))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!event->recorded)
      return CUDA_SUCCESS;
    if (event->capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    if (!isDone(d, event->ticket))
      step(d);
    if (context.lost != CUDA_SUCCESS)
      return context.lost;
    return isDone(d, event->ticket) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!d.events.count(event))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!event->recorded)
      return CUDA_SUCCESS;
    if (event->capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    runUntil(d, event->ticket);
    return context.lost;
  });
}

/// The time that the simulator took: not what a device would take.
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!milliseconds)
      return CUDA_ERROR_INVALID_VALUE;
    if (!d.events.count(start) || !d.events.count(end) || !start->recorded || !end->recorded ||
        start->capture || end->capture || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!isDone(d, start->ticket) || !isDone(d, end->ticket))
      return CUDA_ERROR_NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
    return CUDA_SUCCESS;
  });
}
}

} // namespace kiln::cudasim
