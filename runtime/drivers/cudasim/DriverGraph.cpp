//===- DriverGraph.cpp - Graphs of the simulated driver -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <algorithm>

namespace kiln::cudasim {
namespace {

/// Whether node `from` comes, directly or not, before one of `tail`, or is one.
bool leadsTo(const CUgraph_st &graph, unsigned from, const std::vector<unsigned> &tail) {
  std::vector<unsigned> open = tail;
  std::vector<bool> seen(graph.nodes.size());
  while (!open.empty()) {
    const unsigned n = open.back();
    open.pop_back();
    if (n == from)
      return true;
    if (seen[n])
      continue;
    seen[n] = true;
    open.insert(open.end(), graph.nodes[n]->after.begin(), graph.nodes[n]->after.end());
  }
  return false;
}

void endCapture(DriverState &d, CUgraph graph) {
  for (auto &[handle, stream] : d.streams)
    if (stream->capture == graph) {
      stream->capture = nullptr;
      stream->captureOrigin = nullptr;
      stream->captureBroken = false;
      stream->captureTail.clear();
    }
  for (auto &[handle, event] : d.events)
    if (event->capture == graph)
      event->captureOrigin = nullptr;
}

CUresult addNode(DriverState &d, CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                 size_t afterCount, Operation operation) {
  if (!node || (afterCount && !after))
    return CUDA_ERROR_INVALID_VALUE;
  if (!d.graphs.count(graph))
    return CUDA_ERROR_INVALID_HANDLE;
  auto made = std::make_unique<CUgraphNode_st>();
  made->graph = graph;
  made->index = graph->nodes.size();
  made->operation = std::move(operation);
  for (size_t i = 0; i < afterCount; ++i) {
    if (std::none_of(graph->nodes.begin(), graph->nodes.end(),
                     [&](auto &n) { return n.get() == after[i]; }))
      return CUDA_ERROR_INVALID_VALUE;
    made->after.push_back(after[i]->index);
  }
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return CUDA_SUCCESS;
}

/// The graph's node of this handle, in any graph; null where there is none.
CUgraphNode findNode(DriverState &d, CUgraphNode node) {
  for (auto &[handle, graph] : d.graphs)
    for (auto &n : graph->nodes)
      if (n.get() == node)
        return node;
  return nullptr;
}

CUgraphExec_st::Node *findExecNode(DriverState &d, CUgraphExec instance, CUgraphNode node) {
  if (!d.instances.count(instance))
    return nullptr;
  for (auto &n : instance->nodes)
    if (n.original == node)
      return &n;
  return nullptr;
}

} // namespace

bool breaksCapture(DriverState &d) {
  bool broken = false;
  for (auto &[handle, stream] : d.streams) {
    CUstream origin = stream->captureOrigin;
    if (!stream->capture || !origin || origin->captureMode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        (origin->captureMode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
         origin->captureThread != std::this_thread::get_id()))
      continue;
    stream->captureBroken = true;
    broken = true;
  }
  return broken;
}

CUresult makeCopy(DriverState &, const CUDA_MEMCPY3D &p, Operation &operation) {
  if (!p.WidthInBytes || p.Height > 1 || p.Depth > 1 || p.srcY || p.srcZ || p.dstY || p.dstZ ||
      p.srcArray || p.dstArray)
    return CUDA_ERROR_NOT_SUPPORTED; // Copies of one row are all that is modelled.
  operation.kind = OperationKind::Copy;
  operation.from = p.srcMemoryType == CU_MEMORYTYPE_DEVICE
                       ? reinterpret_cast<const void *>(uintptr_t(p.srcDevice))
                       : p.srcHost;
  operation.to = p.dstMemoryType == CU_MEMORYTYPE_DEVICE
                     ? reinterpret_cast<void *>(uintptr_t(p.dstDevice))
                     : p.dstHost;
  if (!operation.from || !operation.to)
    return CUDA_ERROR_INVALID_VALUE;
  operation.from = static_cast<const char *>(operation.from) + p.srcXInBytes;
  operation.to = static_cast<char *>(operation.to) + p.dstXInBytes;
  operation.bytes = p.WidthInBytes;
  return CUDA_SUCCESS;
}

/// Any order that the edges allow, drawn by the seed.
CUresult performGraph(DriverState &d, CUctx_st &context, const CUgraphExec_st &instance,
                      CUstream_st *stream) {
  const size_t count = instance.nodes.size();
  std::vector<unsigned> waiting(count);
  std::vector<unsigned> ready;
  for (size_t i = 0; i < count; ++i)
    if (!(waiting[i] = instance.nodes[i].after.size()))
      ready.push_back(i);
  while (!ready.empty()) {
    d.random = d.random * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(ready[(d.random >> 33) % ready.size()], ready.back());
    const unsigned n = ready.back();
    ready.pop_back();
    if (CUresult failed = perform(d, context, instance.nodes[n].operation, stream))
      return failed;
    for (size_t i = 0; i < count; ++i)
      for (unsigned before : instance.nodes[i].after)
        if (before == n && --waiting[i] == 0)
          ready.push_back(i);
  }
  return CUDA_SUCCESS;
}

extern "C" {

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream == d.defaultStreams[&context])
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    auto graph = std::make_unique<CUgraph_st>();
    stream->capture = graph.get();
    stream->captureOrigin = stream;
    stream->captureMode = mode;
    stream->captureThread = std::this_thread::get_id();
    stream->captureBroken = false;
    stream->captureTail.clear();
    d.graphs[graph.get()] = std::move(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *result) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!result)
      return CUDA_ERROR_INVALID_VALUE;
    *result = nullptr;
    CUgraph graph = stream->capture;
    if (!graph)
      return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->captureOrigin != stream)
      return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (stream->captureMode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        stream->captureThread != std::this_thread::get_id())
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult status = CUDA_SUCCESS;
    for (auto &[other, s] : d.streams) {
      if (s->capture != graph)
        continue;
      if (s->captureBroken)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      for (unsigned node : s->captureTail)
        if (status == CUDA_SUCCESS && !leadsTo(*graph, node, stream->captureTail))
          status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    endCapture(d, graph);
    if (status == CUDA_SUCCESS)
      *result = graph;
    else
      d.graphs.erase(graph);
    return status;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    *status = !stream->capture        ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->captureBroken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!graph || flags)
      return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<CUgraph_st>();
    *graph = made.get();
    d.graphs[made.get()] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    for (auto &[handle, stream] : d.streams)
      if (stream->capture == graph && graph)
        return CUDA_ERROR_ILLEGAL_STATE;
    return d.graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                 size_t afterCount, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    Operation operation;
    if (CUresult failed = makeLaunch(d, *parameters, operation))
      return failed;
    return addNode(d, node, graph, after, afterCount, std::move(operation));
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                              size_t afterCount, const CUDA_MEMCPY3D *parameters, CUcontext) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    Operation operation;
    if (CUresult failed = makeCopy(d, *parameters, operation))
      return failed;
    return addNode(d, node, graph, after, afterCount, std::move(operation));
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!d.graphs.count(graph) || !count)
      return CUDA_ERROR_INVALID_VALUE;
    const size_t all = graph->nodes.size();
    if (nodes) {
      for (size_t i = 0; i < *count; ++i)
        nodes[i] = i < all ? graph->nodes[i].get() : nullptr;
      *count = std::min(*count, all);
    } else {
      *count = all;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!findNode(d, node) || !type)
      return CUDA_ERROR_INVALID_VALUE;
    switch (node->operation.kind) {
    case OperationKind::Kernel:
      *type = CU_GRAPH_NODE_TYPE_KERNEL;
      return CUDA_SUCCESS;
    case OperationKind::Copy:
      *type = CU_GRAPH_NODE_TYPE_MEMCPY;
      return CUDA_SUCCESS;
    case OperationKind::Fill:
      *type = CU_GRAPH_NODE_TYPE_MEMSET;
      return CUDA_SUCCESS;
    case OperationKind::Host:
      *type = CU_GRAPH_NODE_TYPE_HOST;
      return CUDA_SUCCESS;
    case OperationKind::Empty:
      *type = CU_GRAPH_NODE_TYPE_EMPTY;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

/// The parameters point into the node, as the real ones do.
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *parameters) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!findNode(d, node) || !parameters || node->operation.kind != OperationKind::Kernel)
      return CUDA_ERROR_INVALID_VALUE;
    Launch &l = node->operation.launch;
    node->parameterPointers.clear();
    for (size_t at : l.parameterAt)
      node->parameterPointers.push_back(l.parameters.data() + at);
    *parameters = {node->operation.function,
                   l.grid[0],
                   l.grid[1],
                   l.grid[2],
                   l.block[0],
                   l.block[1],
                   l.block[2],
                   unsigned(l.dynamicShared),
                   node->parameterPointers.data(),
                   nullptr,
                   nullptr,
                   nullptr};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *instance, CUgraph graph, unsigned long long) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!instance || !d.graphs.count(graph))
      return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<CUgraphExec_st>();
    made->context = &context;
    for (auto &n : graph->nodes)
      made->nodes.push_back({n.get(), n->operation, n->after});
    *instance = made.get();
    d.instances[made.get()] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec instance) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    return d.instances.erase(instance) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec instance, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    CUgraphExec_st::Node *found = findExecNode(d, instance, node);
    if (!found || !parameters || found->operation.kind != OperationKind::Kernel)
      return CUDA_ERROR_INVALID_VALUE;
    Operation changed;
    if (CUresult failed = makeLaunch(d, *parameters, changed))
      return failed;
    found->operation = std::move(changed);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec instance, CUgraphNode node,
                                        const CUDA_MEMCPY3D *parameters, CUcontext) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    CUgraphExec_st::Node *found = findExecNode(d, instance, node);
    if (!found || !parameters || found->operation.kind != OperationKind::Copy)
      return CUDA_ERROR_INVALID_VALUE;
    Operation changed;
    if (CUresult failed = makeCopy(d, *parameters, changed))
      return failed;
    const auto &memory = simulator().memory;
    auto onDevice = [&](const void *p) { return memory.contains(reinterpret_cast<uintptr_t>(p)); };
    // A copy may move to other addresses, not to another kind of memory.
    if (onDevice(changed.from) != onDevice(found->operation.from) ||
        onDevice(changed.to) != onDevice(found->operation.to))
      return CUDA_ERROR_INVALID_VALUE;
    found->operation = std::move(changed);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec instance, CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream || !d.instances.count(instance))
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
      return CUDA_ERROR_NOT_SUPPORTED; // Child graphs are not modelled.
    Simulator &s = simulator();
    if (++s.launchCalls == s.options.fail_launch)
      return CUDA_ERROR_LAUNCH_FAILED;
    // What later calls change is meant for later launches.
    enqueue(d, *stream, [&d, &context, stream, copy = *instance] {
      return performGraph(d, context, copy, stream);
    });
    return context.lost;
  });
}

CUresult cuGraphUpload(CUgraphExec instance, CUstream) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    return d.instances.count(instance) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
}

} // namespace kiln::cudasim
