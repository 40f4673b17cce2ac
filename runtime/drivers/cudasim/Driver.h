//===- Driver.h - The simulated driver's objects ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams hold operations back until something waits for them; then a stream
// whose next operation may run is drawn by the seed. So a missing wait on the
// host's side, or a missing event between streams, gives a wrong result here.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_DRIVER_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_DRIVER_H

#include "../cuda/DriverAPI.h"
#include "Simulator.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace kiln::cuda {

struct CUctx_st {
  int device = 0;
  bool primary = false;
  unsigned references = 0;
  CUresult lost = CUDA_SUCCESS; // A sticky error.
};

struct CUfunc_st {
  CUmod_st *module = nullptr;
  unsigned kernel = 0;
  std::string name;
  size_t dynamicLimit = 0;
  const kiln::cudasim::ModuleKernel &description() const;
};

struct CUmod_st {
  CUctx_st *context = nullptr;
  kiln::cudasim::LoadedModule loaded;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

} // namespace kiln::cuda

namespace kiln::cudasim {

using namespace kiln::cuda;
using Clock = std::chrono::steady_clock;

/// A point in a stream: done when that many of its operations are.
struct Ticket {
  uint64_t stream = 0, number = 0;
};

enum class OperationKind { Kernel, Copy, Fill, Host, Empty };

/// What a stream does, or a node of a graph.
struct Operation {
  OperationKind kind = OperationKind::Empty;
  Launch launch; // Kernel.
  CUfunction function = nullptr;
  void *to = nullptr; // Copy, Fill.
  const void *from = nullptr;
  size_t bytes = 0;
  std::vector<unsigned char> staged; // The bytes of a source that may change.
  unsigned value = 0, valueBytes = 1;
  CUhostFn host = nullptr;
  void *hostData = nullptr;
};

} // namespace kiln::cudasim

namespace kiln::cuda {

struct CUgraphNode_st {
  CUgraph_st *graph = nullptr;
  unsigned index = 0;
  kiln::cudasim::Operation operation;
  std::vector<unsigned> after; // Indices of nodes.
  std::vector<void *> parameterPointers;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
  struct Node {
    CUgraphNode_st *original;
    kiln::cudasim::Operation operation;
    std::vector<unsigned> after;
  };
  CUctx_st *context = nullptr;
  std::vector<Node> nodes;
};

struct CUstream_st {
  uint64_t id = 0;
  CUctx_st *context = nullptr;
  unsigned flags = 0;
  struct Entry {
    std::function<CUresult()> run;
    std::vector<kiln::cudasim::Ticket> after;
  };
  std::deque<Entry> queue;
  uint64_t enqueued = 0, completed = 0;
  kiln::cudasim::Clock::time_point stalledUntil = {};

  // While it is captured.
  CUgraph_st *capture = nullptr;
  CUstream_st *captureOrigin = nullptr;
  bool captureBroken = false;
  std::thread::id captureThread;
  CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::vector<unsigned> captureTail; // Nodes that the next one comes after.
};

struct CUevent_st {
  CUctx_st *context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  kiln::cudasim::Ticket ticket;
  std::shared_ptr<kiln::cudasim::Clock::time_point> time;
  // Recorded in a captured stream.
  CUgraph_st *capture = nullptr;
  CUstream_st *captureOrigin = nullptr;
  std::vector<unsigned> captureTail;
};

struct CUmemPoolHandle_st {
  int device = 0;
  uint64_t releaseThreshold = 0;
};

} // namespace kiln::cuda

namespace kiln::cudasim {

/// Everything that handles point to. All under `mutex`.
struct DriverState {
  std::mutex mutex;
  bool initialised = false;
  std::map<CUcontext, std::unique_ptr<CUctx_st>> contexts;
  std::map<int, CUcontext> primary;
  std::map<CUmodule, std::unique_ptr<CUmod_st>> modules;
  std::set<CUfunction> functions;
  std::map<CUstream, std::unique_ptr<CUstream_st>> streams;
  std::map<uint64_t, CUstream> streamById;
  std::map<CUevent, std::unique_ptr<CUevent_st>> events;
  std::map<CUgraph, std::unique_ptr<CUgraph_st>> graphs;
  std::map<CUgraphExec, std::unique_ptr<CUgraphExec_st>> instances;
  std::map<CUcontext, CUstream> defaultStreams;
  std::map<int, CUmemPoolHandle_st> pools;
  std::map<int, uint64_t> usedBytes, highBytes; // By device.
  std::map<CUdeviceptr, CUcontext> allocations;
  uint64_t streamIds = 0;
  uint64_t random = 1;
};

DriverState &driver();
/// Ends everything of the context; it must be in the table still.
void destroyContext(DriverState &d, CUcontext context);
/// Gives the memory back to the device.
bool freeMemory(DriverState &d, CUdeviceptr pointer);

/// The calling thread's stack of contexts.
struct ContextStack {
  CUcontext entries[32];
  unsigned count;
};
extern thread_local ContextStack contextStack;
CUcontext currentContext();

/// Runs `body` as a call of the driver: under the lock, once cuInit was called and
/// while the device is there.
template <class Body> CUresult enterDriver(Body body) {
  DriverState &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (!d.initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  const uint64_t lose = simulator().options.lose_device;
  if (++simulator().calls >= lose && lose)
    return CUDA_ERROR_UNKNOWN; // What drivers say of a card that fell off the bus.
  return body(d);
}

/// The same with a context that works.
template <class Body> CUresult enterContext(Body body) {
  return enterDriver([&](DriverState &d) -> CUresult {
    CUcontext context = currentContext();
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!d.contexts.count(context))
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->lost != CUDA_SUCCESS)
      return context->lost;
    return body(d, *context);
  });
}

// Streams (DriverStream.cpp).
/// The stream of a handle, the default one's too; null where there is none such.
CUstream findStream(DriverState &d, CUctx_st &context, CUstream handle);
/// Appends to the stream, or to the graph that it is captured into.
CUresult submit(DriverState &d, CUstream_st &stream, Operation operation);
void enqueue(DriverState &d, CUstream_st &stream, std::function<CUresult()> run,
             std::vector<Ticket> after = {});
/// Runs operations, of whatever streams, until the ticket is done.
void runUntil(DriverState &d, const Ticket &ticket);
void drainStream(DriverState &d, CUstream_st &stream);
void drainContext(DriverState &d, CUctx_st &context);
bool isDone(DriverState &d, const Ticket &ticket);
/// Whether a call that is not allowed in a capture is made while this thread (or
/// any, in global mode) captures; such a capture is broken by it.
bool breaksCapture(DriverState &d);
CUresult perform(DriverState &d, CUctx_st &context, const Operation &operation,
                 CUstream_st *stream);
CUresult performGraph(DriverState &d, CUctx_st &context, const CUgraphExec_st &instance,
                      CUstream_st *stream);

// Launches (DriverModule.cpp).
CUresult makeLaunch(DriverState &d, const CUDA_KERNEL_NODE_PARAMS &p, Operation &operation);
CUresult makeCopy(DriverState &d, const CUDA_MEMCPY3D &p, Operation &operation);

} // namespace kiln::cudasim

// What the library exports, checked against the definitions.
namespace kiln::cudasim {
extern "C" {
#define KILN_CUDA_FUNCTION(name, suffix, parameters)                                               \
  __attribute__((visibility("default"))) CUresult name##suffix parameters;
#include "../cuda/DriverFunctions.def"
}
} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_DRIVER_H
