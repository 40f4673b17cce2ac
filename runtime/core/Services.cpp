//===- Services.cpp - What generated code may ask of its run --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

namespace kiln::rt {

/// Cuts a launch the same way a team does: a chunk's bounds may show in the
/// last bits of a sum, and results never depend on the number of threads.
inline void Session::launchAlone(kiln_module_kernel_fn kernel, const void *args, int64_t extent,
                                 uint32_t chunks) {
  if (chunks == 1) {
    if (extent > 0)
      kernel(args, 0, extent, frame.scratch);
    return;
  }
  int64_t begin = 0;
  for (uint32_t chunk = 0; chunk != chunks; ++chunk) {
    int64_t end = extent * (chunk + 1) / chunks;
    if (begin < end)
      kernel(args, begin, end, frame.scratch);
    begin = end;
  }
}

inline void Session::launchTeam(kiln_module_kernel_fn kernel, const void *args, int64_t extent,
                                uint32_t chunks) {
  if (chunks == 1)
    return launchAlone(kernel, args, extent, chunks);
  kiln_executor_launch request;
  request.kernel = kernel;
  request.args = args;
  request.extent = extent;
  request.chunks = chunks;
  request.reserved = 0;
  request.scratch = static_cast<uint8_t *>(frame.scratch);
  request.scratch_stride = scratchStride;
  executor->api->launch(executor, &request);
}

void Session::launchProfiled(uint32_t index, kiln_module_kernel_fn kernel, const void *args,
                             int64_t extent, uint32_t chunks) {
  uint64_t start = nanoseconds();
  if (inTeam)
    launchTeam(kernel, args, extent, chunks);
  else
    launchAlone(kernel, args, extent, chunks);
  profile.note(index, chunks, start, nanoseconds());
}

void *Session::allocateForRun(kiln_module_frame *frame, uint64_t bytes) {
  return of(frame).runMemory.allocate(bytes);
}

void Session::releaseForRun(kiln_module_frame *frame, void *memory) {
  of(frame).runMemory.release(memory);
}

void *Session::lateOutput(kiln_module_frame *frame, uint32_t index, const int64_t *dims) {
  return of(frame).placeLateOutput(index, dims);
}

void *Session::markForRun(kiln_module_frame *frame) { return of(frame).runMemory.mark(); }

void Session::releaseSinceForRun(kiln_module_frame *frame, void *mark, void *const *kept,
                                 uint32_t count) {
  of(frame).runMemory.releaseSince(mark, kept, count);
}

constexpr kiln_module_services
Session::servicesWith(decltype(kiln_module_services::launch) launch) {
  return {launch,     allocateForRun,     releaseForRun, lateOutput,
          markForRun, releaseSinceForRun, nullptr,       nullptr};
}

constinit const kiln_module_services Session::aloneServices = servicesWith(
    [](kiln_module_frame *frame, uint32_t, kiln_module_kernel_fn kernel, const void *args,
       int64_t extent, uint32_t chunks) { of(frame).launchAlone(kernel, args, extent, chunks); });

constinit const kiln_module_services Session::teamServices = servicesWith(
    [](kiln_module_frame *frame, uint32_t, kiln_module_kernel_fn kernel, const void *args,
       int64_t extent, uint32_t chunks) { of(frame).launchTeam(kernel, args, extent, chunks); });

constinit const kiln_module_services Session::profiledServices =
    servicesWith([](kiln_module_frame *frame, uint32_t index, kiln_module_kernel_fn kernel,
                    const void *args, int64_t extent, uint32_t chunks) {
      of(frame).launchProfiled(index, kernel, args, extent, chunks);
    });

} // namespace kiln::rt
