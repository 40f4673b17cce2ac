//===- Loader.cpp - Opening and closing artefacts -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kiln-c/Loader.h"

#include "ElfFile.h"
#include "Executor.h"
#include "Pool.h"
#include "ReadFile.h"
#include "SealedCopy.h"
#include "WeightFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct kiln_artefact {
  const kiln_api *api = nullptr;
  const char *manifest = "";
  void *library = nullptr;
  bool sealed = false;
  kiln::rt::Signature signature;
  kiln::rt::WeightFile weights{signature};
};

namespace kiln::rt {
namespace {

/// A name for this descriptor that no library of the process has. The loader
/// of the C library compares names first: /proc/self/fd/7 of yesterday would be
/// what it gives for another file behind the same number. So the time goes into
/// the name, as "./" and ".//" for its bits.
void makeFreshName(int fd, char *name, size_t size) {
  size_t used = size_t(std::snprintf(name, size, "/proc/self/fd/"));
  for (uint64_t bits = nanoseconds(); bits; bits >>= 1)
    used += size_t(std::snprintf(name + used, size - used, bits & 1 ? ".//" : "./"));
  std::snprintf(name + used, size - used, "%d", fd);
}

/// Puts the weights over the hole that the sealed copy has there.
kiln_status_t mapWeights(const kiln_artefact &artefact, int fd, const Elf64_Phdr &segment,
                         bool copy, ErrorText &error) {
  link_map *map = nullptr;
  if (dlinfo(artefact.library, RTLD_DI_LINKMAP, &map) != 0)
    return error.fail(KILN_INTERNAL, "cannot find where it was loaded: %s", dlerror());
  auto *place = reinterpret_cast<uint8_t *>(map->l_addr + segment.p_vaddr);
  void *mapped = copy ? mmap(place, segment.p_filesz, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
                      : mmap(place, segment.p_filesz, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
                             off_t(segment.p_offset));
  if (mapped == MAP_FAILED)
    return error.fail(errno == ENOMEM ? KILN_OUT_OF_MEMORY : KILN_IO, "cannot map the weights: %s",
                      std::strerror(errno));
  if (!copy)
    return KILN_OK;
  madvise(place, segment.p_filesz, MADV_HUGEPAGE);
  if (kiln_status_t status = readExactly(fd, place, segment.p_filesz, segment.p_offset, error))
    return status;
  mprotect(place, segment.p_filesz, PROT_READ);
  return artefact.signature.check(fd, place, segment.p_offset, segment.p_filesz, error);
}

/// Asks the loaded code for its table, and the table whether it can run here.
kiln_status_t query(kiln_artefact &artefact, bool verifyWeights, ErrorText &error) {
  void *symbol = dlsym(artefact.library, "kiln_model_query");
  if (!symbol)
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: it exports no kiln_model_query");
  kiln_model_query_fn queryModel;
  std::memcpy(&queryModel, &symbol, sizeof queryModel);
  artefact.api = queryModel(KILN_ABI_VERSION);
  if (!artefact.api || artefact.api->abi >> 16 != KILN_ABI_MAJOR)
    return error.fail(KILN_ABI_MISMATCH, "it does not speak ABI %u.%u", KILN_ABI_MAJOR,
                      KILN_ABI_MINOR);
  char reason[512] = "";
  kiln_model_options options = {};
  options.struct_size = sizeof options;
  options.flags = verifyWeights ? KILN_MODEL_VERIFY_WEIGHTS : 0;
  options.error = reason;
  options.error_size = sizeof reason;
  kiln_model *probe = nullptr;
  kiln_status_t status = kiln_model_open(artefact.api, &options, &probe);
  if (status == KILN_OK) {
    artefact.manifest = kiln_model_manifest(probe);
    status = kiln_model_close(probe);
  }
  return status == KILN_OK ? status : error.fail(status, "%s", reason);
}

kiln_status_t load(int fd, const char *path, const kiln_open_options &options,
                   kiln_artefact &artefact, ErrorText &error) {
  bool mustBeSigned = options.num_trusted_keys != 0;
  struct stat file;
  if (fstat(fd, &file) != 0)
    return error.fail(KILN_IO, "cannot ask for its size: %s", std::strerror(errno));
  if (!S_ISREG(file.st_mode))
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: not a regular file");
  uint8_t head[kHeaderBytes];
  ssize_t headSize = pread(fd, head, sizeof head, 0);
  if (headSize < 0)
    return error.fail(KILN_IO, "cannot read: %s", std::strerror(errno));
  auto fileSize = uint64_t(file.st_size);
  if (mustBeSigned) {
    if (kiln_status_t status = artefact.signature.read(fd, fileSize, options.trusted_keys,
                                                       options.num_trusted_keys, error))
      return status;
    fileSize = artefact.signature.signedBytes();
  }
  ElfLayout layout;
  if (kiln_status_t status = readLayout(head, uint64_t(headSize), fileSize, layout, error))
    return status;

  int sealed = -1;
  kiln_status_t status = makeSealedCopy(fd, layout, artefact.signature, sealed, error);
  if (status == KILN_OK) {
    char name[320];
    makeFreshName(sealed, name, sizeof name);
    artefact.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    // Without /proc, the path below is left. A copy that is there and cannot be
    // loaded cannot be loaded by its path either.
    bool reachable = access(name, F_OK) == 0;
    if (!artefact.library && reachable)
      status = error.fail(KILN_CORRUPT, "cannot be loaded: %s", dlerror());
    close(sealed);
    artefact.sealed = artefact.library != nullptr;
    if (artefact.library && layout.weights && layout.weights->p_filesz)
      status = mapWeights(artefact, fd, *layout.weights,
                          mustBeSigned || (options.flags & KILN_OPEN_COPY_WEIGHTS), error);
  } else if (status == KILN_UNSUPPORTED && !mustBeSigned) {
    status = checkInPlace(fd, layout, error);
  }
  if (status != KILN_OK)
    return status;
  if (!artefact.library && mustBeSigned)
    return error.fail(KILN_UNSUPPORTED,
                      "without /proc, nobody can tell whether what is loaded is what was signed");
  if (!artefact.library && !path)
    return error.fail(KILN_UNSUPPORTED, "without /proc, only a path can be opened");
  if (!artefact.library) {
    artefact.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!artefact.library)
      return error.fail(KILN_CORRUPT, "cannot be loaded: %s", dlerror());
  }
  if (layout.weights)
    artefact.weights.open(fd, *layout.weights);
  return query(artefact, !(options.flags & KILN_OPEN_TRUST_WEIGHTS), error);
}

kiln_status_t open(int fd, const char *path, const kiln_open_options *given,
                   kiln_artefact **artefact) {
  if (!artefact)
    return KILN_INVALID_ARGUMENT;
  *artefact = nullptr;
  kiln_open_options options;
  if (!readOptions(&options, sizeof options, given))
    return KILN_INVALID_ARGUMENT;
  ErrorText error;
  kiln_status_t status = KILN_OK;
  char *resolved = nullptr;
  bool ownsFd = false;
  if (options.flags & ~uint32_t(KILN_OPEN_TRUST_WEIGHTS | KILN_OPEN_COPY_WEIGHTS)) {
    status = error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  } else if (options.num_trusted_keys && !options.trusted_keys) {
    status = error.fail(KILN_INVALID_ARGUMENT, "trusted_keys: NULL");
  } else if (path) {
    // A name without a slash would be looked for where libraries are.
    resolved = realpath(path, nullptr);
    fd = resolved ? ::open(resolved, O_RDONLY | O_CLOEXEC) : -1;
    ownsFd = fd >= 0;
    if (!ownsFd)
      status = error.fail(KILN_IO, "cannot open '%s': %s", path, std::strerror(errno));
  }
  if (status == KILN_OK) {
    auto *made = createObject<kiln_artefact>();
    status = made ? load(fd, resolved, options, *made, error)
                  : error.fail(KILN_OUT_OF_MEMORY, "no memory");
    if (status == KILN_OK) {
      *artefact = made;
    } else if (made) {
      if (made->library)
        dlclose(made->library);
      destroyObject(made);
    }
    if (status != KILN_OK && path) {
      ErrorText reason = error;
      error.fail(status, "'%s': %s", path, reason.get());
    }
  }
  if (ownsFd)
    close(fd);
  std::free(resolved);
  error.copyTo(options.error, options.error_size);
  return status;
}

} // namespace
} // namespace kiln::rt

kiln_status_t kiln_open(const char *path, const kiln_open_options *options,
                        kiln_artefact **artefact) {
  return path ? kiln::rt::open(-1, path, options, artefact) : KILN_INVALID_ARGUMENT;
}

kiln_status_t kiln_open_fd(int fd, const kiln_open_options *options, kiln_artefact **artefact) {
  return fd >= 0 ? kiln::rt::open(fd, nullptr, options, artefact) : KILN_INVALID_ARGUMENT;
}

kiln_status_t kiln_close(kiln_artefact *artefact) {
  if (!artefact)
    return KILN_OK;
  if (artefact->api->live_objects())
    return KILN_BUSY;
  dlclose(artefact->library);
  kiln::rt::destroyObject(artefact);
  return KILN_OK;
}

const kiln_api *kiln_artefact_api(const kiln_artefact *artefact) {
  return artefact ? artefact->api : nullptr;
}

const char *kiln_artefact_manifest(const kiln_artefact *artefact) {
  return artefact ? artefact->manifest : nullptr;
}

int kiln_artefact_is_sealed(const kiln_artefact *artefact) { return artefact && artefact->sealed; }

kiln_status_t kiln_artefact_reload(void *artefact, uint64_t offset, uint64_t size, void *into) {
  if (!artefact || !into)
    return KILN_INVALID_ARGUMENT;
  return static_cast<const kiln_artefact *>(artefact)->weights.read(offset, size, into);
}

kiln_status_t kiln_shared_executor_create(const kiln_executor_options *options,
                                          kiln_executor **executor) {
  return kiln::rt::Executor::create(options, executor);
}

kiln_status_t kiln_shared_pool_create(const kiln_pool_options *options, kiln_pool **pool) {
  return kiln::rt::Pool::create(options, pool);
}
