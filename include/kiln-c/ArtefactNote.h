/*===- kiln-c/ArtefactNote.h - What a file says about itself --------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* An ELF note (PT_NOTE, owner "Kiln", type KILN_NOTE_TYPE, section           *|
|* .note.kiln) that libkiln reads before it loads an artefact. It is optional *|
|* for libkiln; kilnc writes it as the last step of a build.                  *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_ARTEFACTNOTE_H
#define KILN_C_ARTEFACTNOTE_H

#include <stdint.h>

#define KILN_NOTE_OWNER "Kiln"
#define KILN_NOTE_TYPE 1u
#define KILN_NOTE_MAJOR 1u
#define KILN_NOTE_MINOR 1u

/* Weights are a segment of their own, which libkiln maps from the file, when
 * that segment is the last one, read-only and aligned to this. */
#define KILN_NOTE_WEIGHTS_ALIGNMENT (UINT64_C(2) << 20)

/* The note's descriptor. Another major: libkiln refuses the file. */
typedef struct kiln_artefact_note {
  uint16_t major;
  uint16_t minor;
  /* CRC-32C of the file's bytes [0, covered), with this field taken as zero. */
  uint32_t crc32c;
  /* End in the file of the last loaded segment before the weights' segment, or
   * of the last segment when there are no weights in one of their own. They have
   * checksums of their own, in the module table. In halves, for a descriptor is
   * aligned to 4. */
  uint32_t covered_low;
  uint32_t covered_high;
  /* Since 1.1. Where the manifest (JSON, UTF-8) begins in the file, and its bytes
   * without the zero behind it. Both 0: there is none. */
  uint32_t manifest_offset;
  uint32_t manifest_size;
} kiln_artefact_note;

/* Bytes of a note 1.0: what every reader may rely on. */
#define KILN_NOTE_SIZE_1_0 16u

/* A signed file goes on after its last section: the digests of its chunks, then
 * this, which ends with the file. Chunk i is the bytes [i, i + 1) *
 * KILN_SIGNATURE_CHUNK of what is signed, the last one shorter; its digest is
 * BLAKE2b of KILN_SIGNATURE_DIGEST bytes. The signature is Ed25519's over the
 * digests and the fields before it. Numbers are little-endian. */
#define KILN_SIGNATURE_MAGIC "KilnSig1"
#define KILN_SIGNATURE_CHUNK (UINT64_C(2) << 20)
#define KILN_SIGNATURE_DIGEST 32u
#define KILN_SIGNATURE_KEY 32u

typedef struct kiln_signature_end {
  uint64_t covered; /* bytes that are signed: all before the digests */
  uint8_t magic[8]; /* KILN_SIGNATURE_MAGIC, without its zero */
  /* Of the signer: says whose it is, and is worth nothing unless trusted. */
  uint8_t key[KILN_SIGNATURE_KEY];
  uint8_t signature[64];
} kiln_signature_end;

#endif /* KILN_C_ARTEFACTNOTE_H */
