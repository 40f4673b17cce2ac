//===- Note.h - An artefact's checksum of itself ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_NOTE_H
#define KILN_LIB_TARGET_LINK_NOTE_H

#include "GrowImage.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kiln {

/// Section of the note of kiln-c/ArtefactNote.h.
inline constexpr llvm::StringLiteral noteSection = ".note.kiln";

/// The section's contents before the file is known.
std::string writeBlankNote();

/// Fills in the note of a shared object whose parts are in place; does nothing
/// to an image without one. `read` reads what the file has at an offset beyond
/// the head.
llvm::Error
stampNote(GrownImage &image,
          llvm::function_ref<llvm::Error(uint64_t offset, llvm::MutableArrayRef<uint8_t>)> read);

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_NOTE_H
