/*===- kiln-c/Loader.h - Opening artefacts: libkiln -----------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* libkiln is a small library of the host program (libkiln.a, libkiln.so). It *|
|* checks a file before any code of it can run, and loads exactly the bytes   *|
|* that it checked: code is copied into sealed memory first, so that neither  *|
|* a rename nor a write to the file changes what runs. Weights stay mapped    *|
|* from the file (they may be gigabytes); their checksums are compared once,  *|
|* at open. A file that is cut short in place while it is open raises SIGBUS, *|
|* as with every mapped file, unless KILN_OPEN_COPY_WEIGHTS is asked for.     *|
|*                                                                            *|
|* All functions may be called from any thread.                               *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_LOADER_H
#define KILN_C_LOADER_H

#include "kiln-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KILN_LOADER_API
#define KILN_LOADER_API __attribute__((visibility("default")))
#endif

typedef struct kiln_artefact kiln_artefact;

enum {
  /* Do not compare the checksums of the weights (0.1 ms a megabyte). */
  KILN_OPEN_TRUST_WEIGHTS = 1u,
  /* Read the weights into memory of the process instead of mapping the file. */
  KILN_OPEN_COPY_WEIGHTS = 2u,
};

/* Set struct_size to sizeof, leave the rest zero for the defaults. */
typedef struct kiln_open_options {
  size_t struct_size;
  uint32_t flags; /* KILN_OPEN_* */
  uint32_t reserved;
  char *error; /* where the reason of a failure is written, or NULL */
  size_t error_size;
  /* Ed25519 public keys of 32 bytes each, one after the other; 0: no signature is
   * asked for. Else one of them must have signed the file (kilnc --sign), and all
   * that is loaded is compared with what was signed, after it was copied: implies
   * KILN_OPEN_COPY_WEIGHTS. Since 1.1. */
  const uint8_t *trusted_keys;
  uint32_t num_trusted_keys;
  uint32_t reserved2;
} kiln_open_options;

/* Reads the public key of a PEM file, as `openssl pkey -pubout` writes it. `error`
 * (or NULL) gets the reason of a failure. Since 1.1. KILN_IO,
 * KILN_INVALID_ARGUMENT: it is no such key. */
KILN_LOADER_API kiln_status_t kiln_public_key_read(const char *path, uint8_t key[32], char *error,
                                                   size_t error_size);

/* Opens the artefact at `path`, checks it and loads it. Nothing of it has run a
 * model when this returns, and nothing of it has run at all when it fails,
 * except for checks that succeed. Since 1.0.
 * KILN_IO: no such file, no permission. KILN_INVALID_ARTEFACT: not made by
 * kilnc. KILN_CORRUPT: cut short or damaged. KILN_CPU_UNSUPPORTED,
 * KILN_ABI_MISMATCH, KILN_OUT_OF_MEMORY, KILN_INVALID_ARGUMENT. With trusted
 * keys: KILN_UNSIGNED, KILN_UNTRUSTED, KILN_TAMPERED, KILN_UNSUPPORTED (this
 * system cannot hold a copy that nobody changes). */
KILN_LOADER_API kiln_status_t kiln_open(const char *path, const kiln_open_options *options,
                                        kiln_artefact **artefact);

/* The same for an open descriptor of a regular file, which stays the caller's
 * and may be closed afterwards. Since 1.0. */
KILN_LOADER_API kiln_status_t kiln_open_fd(int fd, const kiln_open_options *options,
                                           kiln_artefact **artefact);

/* Unloads it. KILN_BUSY, and nothing happens, while a model, session, executor
 * or managed output of it is alive. NULL is allowed. Since 1.0. */
KILN_LOADER_API kiln_status_t kiln_close(kiln_artefact *artefact);

/* The table for kiln_model_open and the rest of Runtime.h; lives as long as the
 * artefact is open. NULL for NULL. Since 1.0. */
KILN_LOADER_API const kiln_api *kiln_artefact_api(const kiln_artefact *artefact);

/* The manifest's text (docs/manifest.md), "" without one; NULL for NULL. Lives as
 * long as the artefact is open. Since 1.2. */
KILN_LOADER_API const char *kiln_artefact_manifest(const kiln_artefact *artefact);

/* 1 when what was loaded is a sealed copy of what was checked. 0 where the
 * system offers no way to that (no /proc, no memfd): then the file was checked
 * and loaded by its path, and who can replace it in between can deceive.
 * Since 1.0. */
KILN_LOADER_API int kiln_artefact_is_sealed(const kiln_artefact *artefact);

/* A kiln_reload_fn whose `user` is the artefact: reads from the file that was
 * opened, past the page cache where the file system lets it. The artefact must
 * have its weights in a segment of its own, as kilnc makes it. Since 1.1.
 * KILN_IO, KILN_UNSUPPORTED, KILN_OUT_OF_MEMORY. */
KILN_LOADER_API kiln_status_t kiln_artefact_reload(void *artefact, uint64_t offset, uint64_t size,
                                                   void *into);

/* An executor whose code is libkiln's: any artefacts may share it, in whatever
 * order they are closed. `options` may be NULL. Destroy it with
 * kiln_executor_destroy. Since 1.0. */
KILN_LOADER_API kiln_status_t kiln_shared_executor_create(const kiln_executor_options *options,
                                                          kiln_executor **executor);

/* A pool whose code is libkiln's, for sessions of any artefacts. `options` may be
 * NULL. Destroy it with kiln_pool_destroy. Since 1.1. */
KILN_LOADER_API kiln_status_t kiln_shared_pool_create(const kiln_pool_options *options,
                                                      kiln_pool **pool);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_LOADER_H */
