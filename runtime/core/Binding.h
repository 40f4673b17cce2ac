//===- Binding.h - What an input's shape says about the symbols - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_BINDING_H
#define KILN_RUNTIME_CORE_BINDING_H

#include "Tensors.h"

namespace kiln::rt {

/// A symbol that no input has bound yet; sizes are never negative.
inline constexpr int64_t kUnbound = -1;

/// Checks type, rank, dims and place of one input, gives its sizes to the symbols,
/// and computes the bytes of its elements. A message names the input, the axis, what
/// was expected and what was given. `place`: where tensors may lie beside the host's
/// memory.
kiln_status_t bindInput(const kiln_module &module, uint32_t index, const DLTensor &tensor,
                        DLDevice place, int64_t *symbols, uint64_t &bytes, ErrorText &error);

/// After all inputs: every input symbol has its size.
kiln_status_t checkAllBound(const kiln_module &module, const int64_t *symbols, ErrorText &error);

/// Checks a caller's output against the dims of this run.
kiln_status_t checkOutput(const kiln_module &module, uint32_t index, const DLTensor &tensor,
                          DLDevice place, const int64_t *dims, ErrorText &error);

/// The text for a fault of generated code.
kiln_status_t reportFault(const kiln_module &module, int32_t code, const kiln_module_fault &fault,
                          ErrorText &error);

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_BINDING_H
