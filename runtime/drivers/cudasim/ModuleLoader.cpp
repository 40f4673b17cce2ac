//===- ModuleLoader.cpp - Loads kernels that were compiled for the host ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Simulator.h"

#include "kiln/cudasim/Hooks.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kiln::cudasim {

// Those that a kernel's text cannot name.
extern "C" {
#define ACCESS(bytes)                                                                              \
  void kilnSimRead##bytes(const void *);                                                           \
  void kilnSimWrite##bytes(const void *);                                                          \
  void kilnSimLooseRead##bytes(const void *);                                                      \
  void kilnSimLooseWrite##bytes(const void *)
ACCESS(1);
ACCESS(2);
ACCESS(4);
ACCESS(8);
ACCESS(16);
#undef ACCESS
void *kilnSimMemcpy(void *, const void *, size_t);
void *kilnSimMemmove(void *, const void *, size_t);
void *kilnSimMemset(void *, int, size_t);
void kilnSimArithmetic(uint64_t);
}

namespace {

void *hookNamed(const char *name) {
#define KILN_SIM_HOOK(hook)                                                                        \
  if (strcmp(name, "kilnSim" #hook) == 0)                                                          \
    return reinterpret_cast<void *>(kilnSim##hook);
#include "HookNames.def"
  return nullptr;
}

} // namespace

size_t imageSize(const void *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, static_cast<const char *>(image) + header.e_phoff + i * sizeof(Elf64_Phdr),
           sizeof segment);
    size = std::max<size_t>(size, segment.p_offset + segment.p_filesz);
  }
  return size;
}

const char *loadCopy(LoadedModule &module) {
  ModuleCopy copy;
  copy.file = memfd_create("kiln-sim-module", MFD_CLOEXEC);
  if (copy.file < 0)
    return "no memory file";
  // glibc knows libraries by name: the descriptor stays open while the library is
  // loaded, and nobody else spells the path so.
  const std::string path = "/proc/self/fd/./" + std::to_string(copy.file);
  const char *wrong = nullptr;
  for (size_t done = 0; done < module.image.size() && !wrong;) {
    const ssize_t n = write(copy.file, module.image.data() + done, module.image.size() - done);
    if (n <= 0)
      wrong = "the image does not fit into memory";
    else
      done += n;
  }
  if (!wrong && !(copy.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)))
    wrong = "dlopen refuses the image";
  if (!wrong && !(copy.module = static_cast<const Module *>(dlsym(copy.handle, "kilnSimModule"))))
    wrong = "the image has no kilnSimModule";
  if (!wrong && copy.module->version != kModuleVersion)
    wrong = "the image was made for another version of the simulator";
  if (!wrong)
    for (ModuleHook *hook = copy.module->hooks; hook != copy.module->hooksEnd; ++hook)
      if (!(hook->target = hookNamed(hook->name)))
        wrong = "the image calls what this simulator does not have";
  if (!wrong) {
    struct link_map *map = nullptr;
    if (dlinfo(copy.handle, RTLD_DI_LINKMAP, &map) != 0)
      wrong = "dlinfo fails";
    else
      copy.base = map->l_addr;
  }
  if (wrong) {
    if (copy.handle)
      dlclose(copy.handle);
    close(copy.file);
    return wrong;
  }
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(module.image.data());
  const auto *segments =
      reinterpret_cast<const Elf64_Phdr *>(module.image.data() + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      copy.end =
          std::max<uintptr_t>(copy.end, copy.base + segments[i].p_vaddr + segments[i].p_memsz);
  module.copies.push_back(copy);
  return nullptr;
}

void unloadCopies(LoadedModule &module) {
  for (ModuleCopy &copy : module.copies) {
    dlclose(copy.handle);
    close(copy.file);
  }
  module.copies.clear();
}

} // namespace kiln::cudasim
