//===- PinnedMemory.h - Host memory that devices may reach ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_PINNEDMEMORY_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_PINNEDMEMORY_H

#include <cstddef>
#include <cstdint>

namespace kiln::cudasim {

/// Changed under the driver's lock only, so constant while a launch runs.
bool isPinned(uintptr_t address, size_t bytes);
bool pin(uintptr_t address, size_t bytes);
/// Its size, 0 if no pinned range begins there.
size_t unpin(uintptr_t address);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_PINNEDMEMORY_H
