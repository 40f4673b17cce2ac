//===- Tensors.cpp - Questions about DLPack tensors -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"

#include <cstring>

namespace kiln::rt {

bool denseBytes(const int64_t *dims, uint32_t rank, kiln_module_dtype type, uint64_t &bytes) {
  bytes = elementBytes(type);
  bool inBounds = true;
  for (uint32_t i = 0; i != rank; ++i) {
    if (dims[i] < 0)
      return false;
    // A zero anywhere makes the tensor empty, however large the others are.
    if (dims[i] == 0) {
      bytes = 0;
      inBounds = true;
      for (uint32_t j = i + 1; j != rank; ++j)
        if (dims[j] < 0)
          return false;
      break;
    }
    if (__builtin_mul_overflow(bytes, uint64_t(dims[i]), &bytes))
      inBounds = false;
  }
  return inBounds && bytes <= kMaxBytes;
}

bool hasDenseStrides(const DLTensor &tensor) {
  int64_t expected = 1;
  bool dense = true;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] == 0)
      return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      dense = false;
    expected *= tensor.shape[i];
  }
  return dense;
}

namespace {

struct Gather {
  const int64_t *shape;
  const int64_t *strides;
  int32_t ndim;
  uint64_t bytes;
  uint8_t *out;

  template <typename T> void copyRow(const uint8_t *from, int64_t count, int64_t stride) {
    for (int64_t i = 0; i != count; ++i) {
      // memcpy: neither side promises alignment.
      std::memcpy(out, from + i * stride * int64_t(sizeof(T)), sizeof(T));
      out += sizeof(T);
    }
  }

  void copy(const uint8_t *from, int32_t axis) {
    if (axis == ndim) {
      std::memcpy(out, from, bytes);
      out += bytes;
      return;
    }
    int64_t count = shape[axis], stride = strides[axis];
    if (axis + 1 != ndim) {
      for (int64_t i = 0; i != count; ++i)
        copy(from + i * stride * int64_t(bytes), axis + 1);
      return;
    }
    if (stride == 1) {
      std::memcpy(out, from, uint64_t(count) * bytes);
      out += uint64_t(count) * bytes;
      return;
    }
    switch (bytes) {
    case 1:
      return copyRow<uint8_t>(from, count, stride);
    case 2:
      return copyRow<uint16_t>(from, count, stride);
    case 4:
      return copyRow<uint32_t>(from, count, stride);
    case 8:
      return copyRow<uint64_t>(from, count, stride);
    default:
      for (int64_t i = 0; i != count; ++i, out += bytes)
        std::memcpy(out, from + i * stride * int64_t(bytes), bytes);
    }
  }
};

} // namespace

void gather(const DLTensor &tensor, uint64_t elementBytes, uint8_t *dense) {
  for (int32_t i = 0; i != tensor.ndim; ++i)
    if (tensor.shape[i] == 0)
      return;
  if (isDense(tensor)) {
    uint64_t bytes = elementBytes;
    for (int32_t i = 0; i != tensor.ndim; ++i)
      bytes *= uint64_t(tensor.shape[i]);
    std::memcpy(dense, dataOf(tensor), bytes);
    return;
  }
  Gather{tensor.shape, tensor.strides, tensor.ndim, elementBytes, dense}.copy(dataOf(tensor), 0);
}

void appendType(TextBuilder &text, uint32_t code, uint32_t bits, uint32_t lanes) {
  const char *name = nullptr;
  switch (code) {
  case kDLInt:
    name = "int";
    break;
  case kDLUInt:
    name = "uint";
    break;
  case kDLFloat:
    name = "float";
    break;
  case kDLBfloat:
    name = "bfloat";
    break;
  case kDLComplex:
    name = "complex";
    break;
  case kDLBool:
    name = "bool";
    break;
  case kDLFloat8_e4m3fn:
    return text.append("float8_e4m3fn");
  case kDLFloat8_e4m3fnuz:
    return text.append("float8_e4m3fnuz");
  case kDLFloat8_e5m2:
    return text.append("float8_e5m2");
  case kDLFloat8_e5m2fnuz:
    return text.append("float8_e5m2fnuz");
  case kDLFloat6_e2m3fn:
    return text.append("float6_e2m3fn");
  case kDLFloat6_e3m2fn:
    return text.append("float6_e3m2fn");
  case kDLFloat4_e2m1fn:
    return text.append("float4_e2m1fn");
  }
  if (!name)
    text.append("type %u of %u bits", code, bits);
  else if (code == kDLBool && bits == 8)
    text.append("bool");
  else
    text.append("%s%u", name, bits);
  if (lanes != 1)
    text.append("x%u", lanes);
}

void appendShape(TextBuilder &text, const int64_t *dims, uint32_t rank) {
  text.append("[");
  for (uint32_t i = 0; i != rank; ++i)
    text.append("%s%lld", i ? ", " : "", static_cast<long long>(dims[i]));
  text.append("]");
}

void appendShape(TextBuilder &text, const kiln_module_tensor &spec) {
  text.append("[");
  for (uint32_t i = 0; i != spec.rank; ++i)
    text.append("%s%s", i ? ", " : "", spec.dims[i].text);
  text.append("]");
}

} // namespace kiln::rt
