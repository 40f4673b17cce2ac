//===- GraphTest.cpp - Capture, instantiation and launch of graphs --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <algorithm>
#include <thread>

using namespace kiln::cuda;

namespace {

struct ScaleParams {
  float factor;
  double unused;
  int count;
};

class GraphTest : public SimTest {
protected:
  void SetUp() override {
    SimTest::SetUp();
    begin({});
  }
  void begin(kiln_sim_options options) {
    start(options);
    load("BasicKernels");
    ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuStreamCreate(&t, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  CUresult scale(CUdeviceptr y, CUdeviceptr x, float factor, CUstream on) {
    stream = on;
    return launch("scale", {1}, {128}, 0, y, x, ScaleParams{factor, 0, 128});
  }
  CUdeviceptr ones() { return upload(std::vector<float>(128, 1.0f)); }

  const DriverTable &cu = sim().driver;
  CUstream s = nullptr, t = nullptr;
  CUevent fork = nullptr, join = nullptr;
};

TEST_F(GraphTest, captureRecordsAndLaunchRuns) {
  CUdeviceptr y = ones(), x = ones();
  CUgraph graph;
  CUgraphExec instance;
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  EXPECT_EQ(cu.cuStreamIsCapturing(s, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(cu.cuMemsetD32Async(y, 0, 128, s), CUDA_SUCCESS);
  ASSERT_EQ(scale(y, x, 2, s), CUDA_SUCCESS);
  ASSERT_EQ(scale(y, x, 3, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 1.0f); // Nothing ran yet.
  size_t count = 0;
  ASSERT_EQ(cu.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 3u);
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&instance, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphDestroy(graph), CUDA_SUCCESS); // The instance is its own.
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cu.cuGraphLaunch(instance, s), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(y, 1)[0], 5.0f);
  }
  EXPECT_EQ(counts("scale").launches, 6u);
  EXPECT_EQ(cu.cuGraphExecDestroy(instance), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuGraphExecDestroy(instance), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, forkAndJoinAcrossStreams) {
  for (bool joined : {true, false}) {
    std::vector<float> results;
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      kiln_sim_options options = {};
      options.seed = seed;
      begin(options);
      CUdeviceptr y = ones(), x = ones(), z = ones();
      CUgraph graph;
      CUgraphExec instance;
      ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuEventRecord(fork, s), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuStreamWaitEvent(t, fork, 0), CUDA_SUCCESS);
      ASSERT_EQ(scale(y, x, 4, t), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuEventRecord(join, t), CUDA_SUCCESS);
      if (joined)
        ASSERT_EQ(cu.cuStreamWaitEvent(s, join, 0), CUDA_SUCCESS);
      ASSERT_EQ(scale(z, y, 1, s), CUDA_SUCCESS);
      if (!joined) // Too late for z, in time for the capture.
        ASSERT_EQ(cu.cuStreamWaitEvent(s, join, 0), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&instance, graph, 0), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuGraphLaunch(instance, s), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
      results.push_back(download<float>(z, 1)[0]);
    }
    // 1 + (1 + 4 * 1), or 1 + 1 where z came first.
    const size_t right = size_t(std::count(results.begin(), results.end(), 6.0f));
    EXPECT_EQ(right == results.size(), joined);
  }
}

TEST_F(GraphTest, kernelParametersChangeInAnInstance) {
  CUdeviceptr y = ones(), x = ones(), other = ones();
  CUgraph graph;
  CUgraphExec instance;
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(scale(y, x, 2, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  CUgraphNode node;
  size_t one = 1;
  ASSERT_EQ(cu.cuGraphGetNodes(graph, &node, &one), CUDA_SUCCESS);
  CUgraphNodeType type;
  ASSERT_EQ(cu.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&instance, graph, 0), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS p;
  ASSERT_EQ(cu.cuGraphKernelNodeGetParams(node, &p), CUDA_SUCCESS);
  EXPECT_EQ(p.func, function("scale"));
  EXPECT_EQ(p.blockDimX, 128u);
  EXPECT_EQ(*static_cast<CUdeviceptr *>(p.kernelParams[0]), y);
  void *changed[] = {&other, p.kernelParams[1], p.kernelParams[2]};
  p.kernelParams = changed;
  // The launch before the change keeps its parameters.
  ASSERT_EQ(cu.cuGraphLaunch(instance, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphExecKernelNodeSetParams(instance, node, &p), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphLaunch(instance, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 3.0f);
  EXPECT_EQ(download<float>(other, 1)[0], 3.0f);
  p.blockDimX = 2000;
  EXPECT_EQ(cu.cuGraphExecKernelNodeSetParams(instance, node, &p), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, builtByHandWithCopies) {
  CUdeviceptr y = ones(), x = ones();
  std::vector<float> in(128, 7.0f), out(128);
  CUgraph graph;
  CUgraphNode copyIn, kernel, copyOut;
  CUgraphExec instance;
  ASSERT_EQ(cu.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUDA_MEMCPY3D to = {};
  to.srcMemoryType = CU_MEMORYTYPE_HOST;
  to.srcHost = in.data();
  to.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  to.dstDevice = x;
  to.WidthInBytes = 512;
  to.Height = to.Depth = 1;
  ASSERT_EQ(cu.cuGraphAddMemcpyNode(&copyIn, graph, nullptr, 0, &to, context), CUDA_SUCCESS);
  ScaleParams p = {2, 0, 128};
  void *parameters[] = {&y, &x, &p};
  const CUDA_KERNEL_NODE_PARAMS k = {function("scale"), 1,       1,       1,      128, 1, 1, 0,
                                     parameters,        nullptr, nullptr, nullptr};
  ASSERT_EQ(cu.cuGraphAddKernelNode(&kernel, graph, &copyIn, 1, &k), CUDA_SUCCESS);
  CUDA_MEMCPY3D from = {};
  from.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  from.srcDevice = y;
  from.dstMemoryType = CU_MEMORYTYPE_HOST;
  from.dstHost = out.data();
  from.WidthInBytes = 512;
  from.Height = from.Depth = 1;
  ASSERT_EQ(cu.cuGraphAddMemcpyNode(&copyOut, graph, &kernel, 1, &from, context), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&instance, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphLaunch(instance, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(out[127], 15.0f);
  // The caller's pointers change: the nodes follow.
  std::vector<float> in2(128, 1.0f), out2(128);
  to.srcHost = in2.data();
  from.dstHost = out2.data();
  ASSERT_EQ(cu.cuGraphExecMemcpyNodeSetParams(instance, copyIn, &to, context), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphExecMemcpyNodeSetParams(instance, copyOut, &from, context), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphLaunch(instance, s), CUDA_SUCCESS);
  ASSERT_EQ(synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(out2[0], 17.0f);
  from.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  from.dstDevice = x;
  EXPECT_EQ(cu.cuGraphExecMemcpyNodeSetParams(instance, copyOut, &from, context),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, whatCannotBeCaptured) {
  CUdeviceptr y = ones(), x = ones(), p;
  CUgraph graph;
  // Waiting for a captured stream breaks the capture.
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cu.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(scale(y, x, 1, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  // So does allocating, unless the capture is relaxed.
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemAlloc(&p, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemAlloc(&p, 4), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  // A stream that is not joined; an event from outside; another thread.
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuEventRecord(fork, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamWaitEvent(t, fork, 0), CUDA_SUCCESS);
  ASSERT_EQ(scale(y, x, 1, t), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cu.cuStreamEndCapture(t, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  ASSERT_EQ(cu.cuEventRecord(join, t), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuStreamWaitEvent(s, join, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  std::thread([&] {
    CUgraph none;
    cu.cuCtxSetCurrent(context);
    EXPECT_EQ(cu.cuStreamEndCapture(s, &none), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cu.cuStreamEndCapture(s, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cu.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(GraphTest, defaultStreamBreaksABlockingCapture) {
  CUstream blocking;
  CUgraph graph;
  CUdeviceptr y = ones(), x = ones();
  ASSERT_EQ(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(scale(y, x, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cu.cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

} // namespace
