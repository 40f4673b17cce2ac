//===- SealedCopy.h - A copy of an artefact that nobody can change - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_LIBKILN_SEALEDCOPY_H
#define KILN_RUNTIME_LIBKILN_SEALEDCOPY_H

#include "ElfFile.h"
#include "Signature.h"

namespace kiln::rt {

/// Copies the code of the file into a memory file as long as the file, a hole
/// where the weights are; checks the copy, also against the signature; seals it. Gives its
/// descriptor in `sealed`. KILN_UNSUPPORTED: this system has no such files.
kiln_status_t makeSealedCopy(int fd, const ElfLayout &layout, const Signature &signature,
                             int &sealed, ErrorText &error);

/// Checks the code of the file where it lies.
kiln_status_t checkInPlace(int fd, const ElfLayout &layout, ErrorText &error);

} // namespace kiln::rt

#endif // KILN_RUNTIME_LIBKILN_SEALEDCOPY_H
