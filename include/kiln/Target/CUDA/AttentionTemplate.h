//===- AttentionTemplate.h - What attention's template takes ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_ATTENTIONTEMPLATE_H
#define KILN_TARGET_CUDA_ATTENTIONTEMPLATE_H

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "kiln/Target/CUDA/DeviceFacts.h"

namespace kiln {

/// Whether the template of attention takes the op on this device; no generic kernel
/// computes one there.
bool takesAttention(AttentionOp op, const cuda::DeviceFacts &device);

} // namespace kiln

#endif // KILN_TARGET_CUDA_ATTENTIONTEMPLATE_H
