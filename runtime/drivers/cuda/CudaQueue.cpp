//===- CudaQueue.cpp - A session's stream on a GPU ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaQueue.h"

#include <algorithm>

namespace kiln::cuda {

static CUdeviceptr addressOf(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }

CudaQueue::~CudaQueue() {
  if (!context.isForked()) {
    Context::Use use(context);
    rt::ErrorText ignored;
    // Memory that it may still write goes back to the pool.
    wait(ignored);
    if (own)
      context.driver.cuStreamSynchronize(own);
    graphs.clear(context);
    for (uint32_t i = 0; i != numTimings; ++i) {
      context.driver.cuEventDestroy(timings[i].start);
      context.driver.cuEventDestroy(timings[i].end);
    }
    if (tail)
      context.driver.cuEventDestroy(tail);
    if (own)
      context.driver.cuStreamDestroy(own);
  }
  std::free(timings);
  if (scratch)
    model.pool->release(scratch);
}

kiln_status_t CudaQueue::setUp(void *given, rt::ErrorText &error) {
  uint32_t slots = 0;
  for (uint32_t i = 0; i != model.module.num_kernels; ++i)
    slots = std::max(slots, model.module.kernels[i].slots);
  // And the extent, the scratch memory and its size.
  if (!parameters.allocate(size_t(slots) + 3))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a session");
  Context::Use use(context);
  if (kiln_status_t status =
          check(context.driver.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), "a stream", error))
    return status;
  if (kiln_status_t status =
          check(context.driver.cuEventCreate(&tail, CU_EVENT_DISABLE_TIMING), "an event", error))
    return status;
  usual = given ? static_cast<CUstream>(given) : own;
  stream = usual;
  return given ? checkStream(usual, error) : KILN_OK;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

kiln_status_t CudaQueue::checkStream(CUstream theirs, rt::ErrorText &error) {
  CUcontext owner = nullptr;
  CUresult result = context.driver.cuStreamGetCtx(theirs, &owner);
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE)
    return error.fail(KILN_INVALID_ARGUMENT, "stream: %p is none", static_cast<void *>(theirs));
  if (result != CUDA_SUCCESS)
    return context.fail(result, "the stream", error);
  return owner == context.handle ? KILN_OK
                                 : error.fail(KILN_INVALID_ARGUMENT,
                                              "stream: %p is of another device or context than %s",
                                              static_cast<void *>(theirs), context.name.get());
}

kiln_status_t CudaQueue::enter(void *given, rt::ErrorText &error) {
  if (context.isForked())
    return error.fail(KILN_UNSUPPORTED,
                      "%s: CUDA works only in the process that has opened the device, this is a "
                      "child of it",
                      context.name.get());
  Context::Use use(context);
  auto *wanted = given ? static_cast<CUstream>(given) : usual;
  if (given)
    if (kiln_status_t status = checkStream(wanted, error))
      return status;
  // Another stream may be gone by now: the event is all that is known of it.
  bool waits = std::exchange(hasTail, false) && wanted != stream;
  stream = wanted;
  return waits ? check(context.driver.cuStreamWaitEvent(wanted, tail, 0), "the run before", error)
               : KILN_OK;
}

kiln_status_t CudaQueue::wait(rt::ErrorText &error) {
  if (!std::exchange(hasTail, false) || context.isForked())
    return KILN_OK;
  Context::Use use(context);
  return check(context.driver.cuEventSynchronize(tail), "the run", error);
}

kiln_status_t CudaQueue::finish(rt::ErrorText &error) {
  forbidReplay();
  Context::Use use(context);
  kiln_status_t status = check(context.driver.cuStreamSynchronize(stream), "the run", error);
  if (usedTimings)
    readTimings();
  return status;
}

kiln_status_t CudaQueue::leave(rt::ErrorText &error) {
  Context::Use use(context);
  hasTail = true;
  return check(context.driver.cuEventRecord(tail, stream), "the run", error);
}

kiln_status_t CudaQueue::inspect(const void *memory, uint64_t bytes, const char *what,
                                 rt::ErrorText &error) {
  const DriverTable &driver = context.driver;
  CUdeviceptr address = addressOf(memory), base = 0;
  Context::Use use(context);
  unsigned type = 0;
  int ordinal = -1;
  size_t size = 0;
  CUresult result = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (result == CUDA_ERROR_INVALID_VALUE)
    return error.fail(KILN_INVALID_ARGUMENT, "%s: %p is no memory of a device, though it says so",
                      what, memory);
  if (result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST)
    return error.fail(KILN_INVALID_ARGUMENT,
                      "%s: %p is pinned memory of the host (kDLCUDAHost), though it says it is a "
                      "device's",
                      what, memory);
  if (result == CUDA_SUCCESS)
    result = driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (result == CUDA_SUCCESS && ordinal != context.ordinal)
    return error.fail(KILN_INVALID_ARGUMENT,
                      "%s: %p is memory of device %d, the session runs on number %d (%s)", what,
                      memory, ordinal, context.ordinal, context.name.get());
  if (result == CUDA_SUCCESS)
    result = driver.cuMemGetAddressRange(&base, &size, address);
  if (result != CUDA_SUCCESS)
    return context.fail(result, what, error);
  if (bytes > base + size - address)
    return error.fail(KILN_INVALID_ARGUMENT,
                      "%s: it has %llu bytes, but the memory at %p ends after %llu", what,
                      static_cast<unsigned long long>(bytes), memory,
                      static_cast<unsigned long long>(base + size - address));
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

kiln_status_t CudaQueue::upload(void *to, const void *from, uint64_t bytes, rt::ErrorText &error) {
  forbidReplay();
  Context::Use use(context);
  return check(context.driver.cuMemcpyHtoDAsync(addressOf(to), from, bytes, stream),
               "a copy to the device", error);
}

kiln_status_t CudaQueue::download(void *to, const void *from, uint64_t bytes,
                                  rt::ErrorText &error) {
  forbidReplay();
  Context::Use use(context);
  return check(context.driver.cuMemcpyDtoHAsync(to, addressOf(from), bytes, stream),
               "a copy from the device", error);
}

kiln_status_t CudaQueue::copy(void *to, const void *from, uint64_t bytes, rt::ErrorText &error) {
  forbidReplay();
  Context::Use use(context);
  return check(context.driver.cuMemcpyDtoDAsync(addressOf(to), addressOf(from), bytes, stream),
               "a copy on the device", error);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

kiln_status_t CudaQueue::reserveScratch(uint64_t bytes, rt::ErrorText &error) {
  if (bytes <= scratchBytes)
    return KILN_OK;
  if (capturing)
    return error.fail(KILN_INTERNAL, "scratch memory grew in a recorded run");
  // Recorded launches have its address.
  current = nullptr;
  graphs.clear(context);
  if (CUresult result = context.driver.cuStreamSynchronize(stream))
    return context.fail(result, "the run", error);
  if (scratch)
    model.pool->release(scratch);
  scratch = model.pool->allocate(bytes);
  scratchBytes = scratch ? bytes : 0;
  return scratch
             ? KILN_OK
             : error.fail(KILN_OUT_OF_MEMORY, "no memory on the device for %llu bytes of scratch",
                          static_cast<unsigned long long>(bytes));
}

kiln_status_t CudaQueue::launch(uint32_t row, uint32_t index, const void *args, int64_t extent,
                                rt::ErrorText &error) {
  const kiln_module_device_kernel &spec = model.module.kernels[index];
  const LoadedKernel &kernel = model.kernels[index];
  const kiln_module_image &image = *kernel.image;
  constexpr uint64_t mostBlocks = 0x7fffffff;
  auto *slots = static_cast<const uint64_t *>(args);
  uint64_t blocks =
      std::min((uint64_t(extent) + image.units_per_block - 1) / image.units_per_block, mostBlocks);
  // Checked against what a grid may be: x counts to 2^31 - 1, y and z to 65535.
  constexpr uint64_t mostAcross = 65535;
  unsigned across[2] = {1, 1};
  if (image.grid) {
    const uint64_t *grid = &slots[spec.slots + 1 + 3 * (image.grid - 1)];
    if (grid[0] > mostBlocks || grid[1] > mostAcross || grid[2] > mostAcross)
      return error.fail(
          KILN_UNSUPPORTED, "kernel '%s': %llu x %llu x %llu blocks are more than a grid has",
          spec.name, static_cast<unsigned long long>(grid[0]),
          static_cast<unsigned long long>(grid[1]), static_cast<unsigned long long>(grid[2]));
    blocks = grid[0];
    across[0] = unsigned(grid[1]);
    across[1] = unsigned(grid[2]);
    if (!blocks || !across[0] || !across[1])
      return KILN_OK;
  }
  Context::Use use(context);
  uint64_t perThread = slots[spec.slots];
  if (image.uses_scratch) {
    blocks = std::min<uint64_t>(blocks, kernel.residentBlocks);
    uint64_t bytes;
    if (__builtin_mul_overflow(perThread, blocks * image.threads, &bytes) || bytes > rt::kMaxBytes)
      return error.fail(KILN_OUT_OF_MEMORY, "kernel '%s' needs more scratch than can be",
                        spec.name);
    if (kiln_status_t status = reserveScratch(std::max<uint64_t>(bytes, 1), error))
      return status;
  }
  for (uint32_t i = 0; i != spec.slots; ++i)
    parameters[i] = const_cast<uint64_t *>(&slots[i]);
  parameters[spec.slots] = &extent;
  parameters[spec.slots + 1] = &scratch;
  parameters[spec.slots + 2] = &perThread;
  Timing *timing = profile ? nextTiming() : nullptr;
  CUresult result = timing ? context.driver.cuEventRecord(timing->start, stream) : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS)
    result = context.driver.cuLaunchKernel(kernel.function, unsigned(blocks), across[0], across[1],
                                           image.threads, 1, 1, image.shared_bytes,
                                           capturing ? own : stream, parameters.get(), nullptr);
  if (result == CUDA_SUCCESS && timing) {
    timing->row = row;
    result = context.driver.cuEventRecord(timing->end, stream);
    ++usedTimings;
  }
  return check(result, spec.name, error);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

CudaQueue::Timing *CudaQueue::nextTiming() {
  if (usedTimings != numTimings)
    return &timings[usedTimings];
  // Of a loop's launches the latest are waited for, so that their number is bounded.
  constexpr uint32_t most = 1u << 14;
  if (numTimings == most) {
    if (context.driver.cuStreamSynchronize(stream) != CUDA_SUCCESS)
      return nullptr;
    readTimings();
    return &timings[0];
  }
  uint32_t larger = std::max(2 * numTimings, 64u);
  auto *grown = static_cast<Timing *>(std::realloc(timings, larger * sizeof(Timing)));
  if (!grown)
    return nullptr;
  timings = grown;
  for (; numTimings != larger; ++numTimings) {
    Timing &made = timings[numTimings];
    made = {};
    if (context.driver.cuEventCreate(&made.start, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
      break;
    if (context.driver.cuEventCreate(&made.end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      context.driver.cuEventDestroy(made.start);
      break;
    }
  }
  return usedTimings != numTimings ? &timings[usedTimings] : nullptr;
}

void CudaQueue::readTimings() {
  // All is done: the last launch's end is taken for now.
  uint64_t now = rt::nanoseconds();
  CUevent last = timings[usedTimings - 1].end;
  auto between = [&](CUevent from, CUevent to, uint64_t &elapsed) {
    float milliseconds = 0;
    bool isKnown = context.driver.cuEventElapsedTime(&milliseconds, from, to) == CUDA_SUCCESS;
    elapsed = milliseconds > 0 ? uint64_t(double(milliseconds) * 1e6) : 0;
    return isKnown;
  };
  for (uint32_t i = 0; i != usedTimings; ++i) {
    uint64_t elapsed, before;
    if (between(timings[i].start, timings[i].end, elapsed) &&
        between(timings[i].start, last, before))
      profile->note(timings[i].row, 1, now - before, now - before + elapsed);
  }
  usedTimings = 0;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

kiln_status_t CudaQueue::beginRun(const uint64_t *key, uint32_t count, bool &replayed,
                                  rt::ErrorText &error) {
  Context::Use use(context);
  replayed = false;
  capturing = false;
  // Launches are timed one by one.
  if (profile)
    return KILN_OK;
  GraphTable::Entry *entry = graphs.find(context, key, count);
  if (entry && entry->graph) {
    replayed = true;
    return check(context.driver.cuGraphLaunch(entry->graph, stream), "the run", error);
  }
  // A caller's stream may be one that cannot be recorded.
  capturing =
      entry && entry->onlyLaunches &&
      context.driver.cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS;
  current = entry;
  if (current)
    current->onlyLaunches = true;
  return KILN_OK;
}

kiln_status_t CudaQueue::endRun(bool succeeded, bool &again, rt::ErrorText &error) {
  again = false;
  GraphTable::Entry *entry = std::exchange(current, nullptr);
  if (!capturing) {
    if (entry && !succeeded)
      entry->onlyLaunches = false;
    return KILN_OK;
  }
  capturing = false;
  Context::Use use(context);
  CUgraph graph = nullptr;
  CUresult result = context.driver.cuStreamEndCapture(own, &graph);
  if (result == CUDA_SUCCESS && succeeded)
    result = context.driver.cuGraphInstantiateWithFlags(&entry->graph, graph, 0);
  if (graph)
    context.driver.cuGraphDestroy(graph);
  if (!succeeded)
    return KILN_OK;
  if (result != CUDA_SUCCESS) {
    entry->graph = nullptr;
    entry->onlyLaunches = false;
    again = true;
    return KILN_OK;
  }
  return check(context.driver.cuGraphLaunch(entry->graph, stream), "the run", error);
}

} // namespace kiln::cuda
