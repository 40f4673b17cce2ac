//===- Finite.h - Finding NaN and infinities ----------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_FINITE_H
#define KILN_RUNTIME_INTEGRITY_FINITE_H

#include "kiln-c/ModuleABI.h"

#include <cstdint>

namespace kiln::rt {

/// Whether findNotFinite() knows the type: float16, bfloat16, float32, float64.
bool hasNotFinite(kiln_module_dtype type);

/// Index of the first NaN or infinity, or `count`.
uint64_t findNotFinite(kiln_module_dtype type, const void *data, uint64_t count);

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_FINITE_H
