//===- DriverApiTest.cpp - The declarations are those of cuda.h -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled in earnest where a toolkit is installed; the declarations are Kiln's
// own, so that no CUDA header is needed to build.
//
//===----------------------------------------------------------------------===//
#include "runtime/drivers/cuda/DriverAPI.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace {

namespace own = kiln::cuda;

#define SAME_FIELD(type, field)                                                                    \
  static_assert(offsetof(own::type, field) == offsetof(::type, field), #type "." #field)

static_assert(sizeof(own::CUDA_KERNEL_NODE_PARAMS) == sizeof(::CUDA_KERNEL_NODE_PARAMS));
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, func);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, ctx);
static_assert(sizeof(own::CUDA_MEMCPY3D) == sizeof(::CUDA_MEMCPY3D));
SAME_FIELD(CUDA_MEMCPY3D, srcMemoryType);
SAME_FIELD(CUDA_MEMCPY3D, srcDevice);
SAME_FIELD(CUDA_MEMCPY3D, dstMemoryType);
SAME_FIELD(CUDA_MEMCPY3D, dstDevice);
SAME_FIELD(CUDA_MEMCPY3D, WidthInBytes);
SAME_FIELD(CUDA_MEMCPY3D, Depth);
static_assert(sizeof(own::CUuuid) == sizeof(::CUuuid));
static_assert(sizeof(own::CUdeviceptr) == sizeof(::CUdeviceptr));
static_assert(int(own::CU_MEMORYTYPE_DEVICE) == int(::CU_MEMORYTYPE_DEVICE));
static_assert(int(own::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) ==
              int(::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(int(own::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) ==
              int(::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(int(own::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) ==
              int(::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(int(own::CU_POINTER_ATTRIBUTE_RANGE_SIZE) == int(::CU_POINTER_ATTRIBUTE_RANGE_SIZE));
static_assert(int(own::CU_MEMPOOL_ATTR_USED_MEM_HIGH) == int(::CU_MEMPOOL_ATTR_USED_MEM_HIGH));
static_assert(int(own::CU_GRAPH_NODE_TYPE_EMPTY) == int(::CU_GRAPH_NODE_TYPE_EMPTY));
static_assert(int(own::CU_STREAM_CAPTURE_MODE_RELAXED) == int(::CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(own::CU_STREAM_NON_BLOCKING == unsigned(::CU_STREAM_NON_BLOCKING));
static_assert(own::CU_EVENT_DISABLE_TIMING == unsigned(::CU_EVENT_DISABLE_TIMING));
#define KILN_CUDA_ERROR(name, value, text) static_assert(int(own::name) == int(::name), #name);
#include "runtime/drivers/cuda/DriverErrors.def"

} // namespace
#endif

TEST(DriverApiTest, tableSaysWhatIsMissing) {
  kiln::cuda::DriverTable table;
  bool isSymbol = true;
  EXPECT_NE(kiln::cuda::loadDriverTable(table, "/nowhere/libcuda.so.1", &isSymbol), nullptr);
  EXPECT_FALSE(isSymbol);
  EXPECT_STREQ(kiln::cuda::loadDriverTable(table, "libm.so.6", &isSymbol), "cuInit");
  EXPECT_TRUE(isSymbol);
}
