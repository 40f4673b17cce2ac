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
  {
    Context::Use use(context);
    // Memory that it may still write goes back to the pool.
    if (stream)
      context.driver.cuStreamSynchronize(stream);
    graphs.clear(context);
    if (ownsStream && stream)
      context.driver.cuStreamDestroy(stream);
  }
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
  if (!given) {
    ownsStream = true;
    return check(context.driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream", error);
  }
  auto *theirs = static_cast<CUstream>(given);
  CUcontext owner = nullptr;
  if (CUresult result = context.driver.cuStreamGetCtx(theirs, &owner))
    return context.fail(result, "the stream is not one", error);
  if (owner != context.handle)
    return error.fail(KILN_INVALID_ARGUMENT, "the stream is of another device or context");
  stream = theirs;
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

kiln_status_t CudaQueue::finish(rt::ErrorText &error) {
  forbidReplay();
  Context::Use use(context);
  return check(context.driver.cuStreamSynchronize(stream), "the run", error);
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

kiln_status_t CudaQueue::launch(uint32_t index, const void *args, int64_t extent,
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
  CUresult result = context.driver.cuLaunchKernel(
      kernel.function, unsigned(blocks), across[0], across[1], image.threads, 1, 1,
      image.shared_bytes, stream, parameters.get(), nullptr);
  return check(result, spec.name, error);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

kiln_status_t CudaQueue::beginRun(const uint64_t *key, uint32_t count, bool &replayed,
                                  rt::ErrorText &error) {
  Context::Use use(context);
  replayed = false;
  capturing = false;
  GraphTable::Entry *entry = graphs.find(context, key, count);
  if (entry && entry->graph) {
    replayed = true;
    return check(context.driver.cuGraphLaunch(entry->graph, stream), "the run", error);
  }
  // The default stream of others cannot be recorded.
  capturing = entry && entry->onlyLaunches && ownsStream &&
              context.driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
                  CUDA_SUCCESS;
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
  CUresult result = context.driver.cuStreamEndCapture(stream, &graph);
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
