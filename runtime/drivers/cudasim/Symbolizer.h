//===- Symbolizer.h - Lines of a module's code ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_SYMBOLIZER_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_SYMBOLIZER_H

#include "Launch.h"

namespace kiln::cudasim {

/// "file:line < file:line ...", the innermost first, callers that it was inlined
/// into after it; frames of the shim and of the device header are left out.
/// Without llvm-symbolizer, or for a module without lines, "+0x<offset>".
std::vector<std::string> namePlaces(const LoadedModule &module, const std::vector<uint32_t> &pcs);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_SYMBOLIZER_H
