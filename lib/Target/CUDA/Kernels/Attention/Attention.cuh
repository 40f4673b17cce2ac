//===- Attention.cuh - Attention without stored scores --------*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_ATTENTION_CUH
#define KILN_TARGET_CUDA_KERNELS_ATTENTION_CUH

#include "Simt.cuh"
#include "Tensor.cuh"

#endif // KILN_TARGET_CUDA_KERNELS_ATTENTION_CUH
