//===- Tensors.h - Questions about DLPack tensors ------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_TENSORS_H
#define KILN_RUNTIME_CORE_TENSORS_H

#include "Support.h"
#include "kiln-c/ModuleABI.h"
#include "kiln-c/dlpack.h"

namespace kiln::rt {

inline bool sameType(DLDataType a, kiln_module_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// Nothing is packed: what has less than 8 bits takes a byte.
inline uint64_t elementBytes(kiln_module_dtype type) { return (uint64_t(type.bits) + 7) / 8; }

/// Bytes of a dense tensor; false when a dim is negative or the product is out
/// of any bounds.
bool denseBytes(const int64_t *dims, uint32_t rank, kiln_module_dtype type, uint64_t &bytes);

/// As isDense, for a tensor that gives its strides.
bool hasDenseStrides(const DLTensor &tensor);

/// Whether the host may read it: pinned memory is memory.
inline bool isHost(const DLTensor &tensor) {
  return tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost;
}

/// Row-major without gaps; strides of dims of size 1 do not matter.
inline bool isDense(const DLTensor &tensor) { return !tensor.strides || hasDenseStrides(tensor); }

inline uint8_t *dataOf(const DLTensor &tensor) {
  return static_cast<uint8_t *>(tensor.data) + tensor.byte_offset;
}

/// Copies a tensor of any strides into dense memory.
void gather(const DLTensor &tensor, uint64_t elementBytes, uint8_t *dense);

/// "float32", "bool"; "type 5 of 64 bits" for what has no name here.
void appendType(TextBuilder &text, uint32_t code, uint32_t bits, uint32_t lanes);

/// "[1, 3, 224]".
void appendShape(TextBuilder &text, const int64_t *dims, uint32_t rank);

/// "[batch, 16]".
void appendShape(TextBuilder &text, const kiln_module_tensor &spec);

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_TENSORS_H
