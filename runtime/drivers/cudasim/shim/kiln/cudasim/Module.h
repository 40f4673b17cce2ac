//===- Module.h - Ends a simulator module -----------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module's source is one file: the kernels' text, then this header, then a
// KILN_SIM_KERNEL line for each kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_MODULE_H
#define KILN_CUDASIM_MODULE_H

#include "kiln/cudasim/Hooks.h"
#include "kiln/cudasim/ModuleFormat.h"

#include <type_traits>
#include <utility>

#ifndef __x86_64__
#error "the simulator runs on x86-64"
#endif

// A stub jumps, so the return address that the simulator sees is the kernel's.
// The compiler's thread-sanitizer calls get stubs too: nothing here meets a real
// thread sanitizer's runtime.
asm(R"(
  .macro kiln_hook symbol, target
  .pushsection .rodata.kiln_hook_names,"a",@progbits
.Lkiln_name_\symbol: .asciz "\target"
  .popsection
  .pushsection kiln_hooks,"aw",@progbits
.Lkiln_slot_\symbol: .quad 0, .Lkiln_name_\symbol
  .popsection
  .pushsection .text.kiln_hooks,"ax",@progbits
  .globl \symbol
  .hidden \symbol
  .type \symbol,@function
\symbol: jmp *.Lkiln_slot_\symbol(%rip)
  .size \symbol, . - \symbol
  .popsection
  .endm
  .macro kiln_hook_same name
  kiln_hook \name, \name
  .endm
  .macro kiln_hook_access bytes
  kiln_hook __tsan_read\bytes, kilnSimRead\bytes
  kiln_hook __tsan_write\bytes, kilnSimWrite\bytes
  kiln_hook __tsan_unaligned_read\bytes, kilnSimLooseRead\bytes
  kiln_hook __tsan_unaligned_write\bytes, kilnSimLooseWrite\bytes
  .endm
  .irp name,Index,Barrier,BarrierVote,Syncwarp,Shuffle,Vote,Reduce,ActiveMask,Collective,DynamicShared,Ldmatrix,Mma,AsyncCopy,AsyncCommit,AsyncWait,Atomic,Dp4a,Trap,Clock,Load4,Load8,Load16,Store4,Store8,Store16,Arithmetic
  kiln_hook_same kilnSim\name
  .endr
  .irp bytes,2,4,8,16
  kiln_hook_access \bytes
  .endr
  kiln_hook __tsan_read1, kilnSimRead1
  kiln_hook __tsan_write1, kilnSimWrite1
  kiln_hook __tsan_memcpy, kilnSimMemcpy
  kiln_hook __tsan_memmove, kilnSimMemmove
  kiln_hook __tsan_memset, kilnSimMemset
  # Called when the module is loaded, before its slots are filled.
  .pushsection .text.kiln_hooks,"ax",@progbits
  .globl __tsan_init
  .hidden __tsan_init
  .type __tsan_init,@function
__tsan_init: ret
  .size __tsan_init, . - __tsan_init
  .popsection
)");

namespace kiln::cudasim {

// The linker's names of the ends of a section; weak, since a module may have
// neither shared memory nor kernels.
extern "C" {
#pragma GCC visibility push(hidden)
extern ModuleKernel __start_kiln_kernels[] __attribute__((weak));
extern ModuleKernel __stop_kiln_kernels[] __attribute__((weak));
extern ModuleHook __start_kiln_hooks[], __stop_kiln_hooks[];
extern char __start_kiln_shared[] __attribute__((weak));
extern char __stop_kiln_shared[] __attribute__((weak));
#pragma GCC visibility pop
__attribute__((visibility("default"))) extern const Module kilnSimModule;
const Module kilnSimModule = {kModuleVersion,
#ifdef KILN_SIM_CHECKED
                              1,
#else
                              0,
#endif
                              __start_kiln_kernels,
                              __stop_kiln_kernels,
                              __start_kiln_hooks,
                              __stop_kiln_hooks,
                              __start_kiln_shared,
                              __stop_kiln_shared};
}

template <class F> struct KernelInvoker;
template <class... A> struct KernelInvoker<void (*)(A...)> {
  template <void (*Kernel)(A...), size_t... I>
  __attribute__((no_sanitize("thread"))) static void call(void *const *p,
                                                          std::index_sequence<I...>) {
    Kernel(*static_cast<std::remove_reference_t<A> *>(p[I])...);
  }
  template <void (*Kernel)(A...)>
  __attribute__((no_sanitize("thread"))) static void invoke(void *const *p) {
    call<Kernel>(p, std::index_sequence_for<A...>());
  }
  // One more than there may be: an array of none is not C++.
  static constexpr uint32_t bytes[] = {sizeof(A)..., 0};
  static constexpr uint32_t count = sizeof...(A);
};

} // namespace kiln::cudasim

/// Makes the kernel known by its name.
#define KILN_SIM_KERNEL(kernel)                                                                    \
  __attribute__((section("kiln_kernels"),                                                          \
                 used)) static const ::kiln::cudasim::ModuleKernel kilnSimKernel_##kernel = {      \
      #kernel, ::kiln::cudasim::KernelInvoker<decltype(&kernel)>::invoke<kernel>,                  \
      ::kiln::cudasim::KernelInvoker<decltype(&kernel)>::bytes,                                    \
      ::kiln::cudasim::KernelInvoker<decltype(&kernel)>::count}

#endif // KILN_CUDASIM_MODULE_H
