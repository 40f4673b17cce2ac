//===- Access.cpp - Loads, stores, copies and atomics of kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module built with checks calls here for each access. Bounds and alignment are
// judged at once, the rest when the warp meets: an access is 16 bytes in the log
// of its thread.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "PinnedMemory.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace kiln::cudasim {

Machine::Verdict Machine::judge(uintptr_t a, unsigned bytes, AccessKind kind, uint32_t pc,
                                Space &space) {
  const int t = current->id;
  const bool reads = kind == AccessKind::Read;
  if (memory.contains(a)) {
    space = Space::Global;
    const Allocation &o = memory.owner(a);
    if (a < o.begin || a + bytes > o.end)
      return find(reads ? KILN_SIM_READ_OUT_OF_BOUNDS : KILN_SIM_WRITE_OUT_OF_BOUNDS, pc, t, a,
                  bytes),
             Verdict::Refuse;
    if (o.freed)
      return find(KILN_SIM_USE_AFTER_FREE, pc, t, a, bytes), Verdict::Refuse;
  } else if (a - dynamicShared < kMaxDynamicShared) {
    space = Space::Shared;
    if (a + bytes > dynamicShared + dynamicBytes)
      return find(KILN_SIM_SHARED_OUT_OF_BOUNDS, pc, t, a - dynamicShared, bytes), Verdict::Refuse;
  } else if (a - staticShared < staticBytes) {
    space = Space::Shared;
  } else {
    // Constants and __device__ variables of the module are not looked at.
    if (a - copy->base < copy->end - copy->base || isPinned(a, bytes))
      return Verdict::Ignore;
    // Nothing that a device could reach, and perhaps nothing at all.
    find(KILN_SIM_HOST_POINTER, pc, t, a, bytes);
    abandon();
  }
  if (bytes <= 16 && a % bytes)
    find(KILN_SIM_MISALIGNED, pc, t, a, bytes);
  return Verdict::Log;
}

bool Machine::record(uintptr_t a, unsigned bytes, AccessKind kind, uintptr_t returnAddress) {
  if (!options.checks || stacks.contains(a) || !bytes)
    return true;
  const uint32_t pc = place(returnAddress);
  Space space;
  const Verdict verdict = judge(a, bytes, kind, pc, space);
  if (verdict != Verdict::Log)
    return verdict == Verdict::Ignore;
  if (options.watched - a < bytes && kind != AccessKind::Read)
    result.lastWrite = {pc, block, int(current->id)};
  append({pc, bytes, uint8_t(kind), uint8_t(space), a});
  return true;
}

void Machine::append(const Access &access) {
  Lane &l = *current;
  if (l.logged == kLogCapacity) {
    warps[l.id / 32].logFull |= 1u << (l.id & 31);
    wait();
  }
  l.log[l.logged++] = access;
}

void Machine::runCode(uint64_t operations, uintptr_t returnAddress) {
  constexpr unsigned kBits = 10;
  if (!options.checks)
    return;
  for (unsigned unit = 0; unit < KILN_SIM_DP4A; ++unit)
    counts.arithmetic[unit] += operations >> unit * kBits & ((1u << kBits) - 1);
  if (operations >> 63)
    append({place(returnAddress), 0, uint8_t(AccessKind::Branch), uint8_t(Space::Code), 0});
}

//===----------------------------------------------------------------------===//
// Asynchronous copies: they land when waited for, or at random before
//===----------------------------------------------------------------------===//

void Machine::issueCopy(void *to, const void *from, int size, int bytes, uintptr_t returnAddress) {
  if (bytes && !record(reinterpret_cast<uintptr_t>(from), bytes, AccessKind::Read, returnAddress))
    bytes = 0;
  if (!record(reinterpret_cast<uintptr_t>(to), size, AccessKind::AsyncIssue, returnAddress))
    return;
  current->copies.push_back({to, from, size, bytes, current->groups, false, place(returnAddress)});
}

void Machine::land(AsyncCopy &c) {
  if (c.landed)
    return;
  memcpy(c.to, c.from, c.bytes);
  memset(static_cast<char *>(c.to) + c.bytes, 0, c.size - c.bytes);
  c.landed = true;
}

void Machine::landRandomly(Lane &l) {
  if (!l.copies.empty() && (random() & 15) == 0)
    land(l.copies[random() % l.copies.size()]);
}

void Machine::waitForCopies(unsigned groups, uintptr_t returnAddress) {
  Lane &l = *current;
  l.pc = place(returnAddress);
  size_t kept = 0;
  for (size_t i = 0; i < l.copies.size(); ++i) {
    AsyncCopy &c = l.copies[i];
    if (c.group + groups < l.groups) {
      land(c);
      record(reinterpret_cast<uintptr_t>(c.to), c.size, AccessKind::AsyncLand, copy->base + c.pc);
    } else {
      l.copies[kept++] = c;
    }
  }
  l.copies.resize(kept);
  landRandomly(l);
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

namespace {

template <class T> T combined(int op, T old, T operand, T expected) {
  switch (op) {
  case kAtomicAdd:
    return T(old + operand);
  case kAtomicMin:
    return operand < old ? operand : old;
  case kAtomicMax:
    return old < operand ? operand : old;
  case kAtomicExchange:
    return operand;
  case kAtomicCas:
    return old == expected ? operand : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    switch (op) {
    case kAtomicAnd:
      return old & operand;
    case kAtomicOr:
      return old | operand;
    case kAtomicXor:
      return old ^ operand;
    case kAtomicInc:
      return old >= operand ? T(0) : T(old + 1);
    case kAtomicDec:
      return old == 0 || old > operand ? operand : T(old - 1);
    default:
      break;
    }
  return operand;
}

/// By compare and swap of Bits: blocks of one launch run on several host threads.
template <class Bits, class Combine> uint64_t exchange(void *p, Combine combine) {
  Bits old = __atomic_load_n(static_cast<Bits *>(p), __ATOMIC_RELAXED), next;
  do
    next = combine(old);
  while (!__atomic_compare_exchange_n(static_cast<Bits *>(p), &old, next, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED));
  return old;
}

template <class To, class From> To as(From from) {
  To to;
  memcpy(static_cast<void *>(&to), &from, sizeof to);
  return to;
}

template <class Bits, class T>
uint64_t typedAtomic(void *p, int op, uint64_t operand, uint64_t expected) {
  return exchange<Bits>(p, [&](Bits old) {
    return as<Bits>(combined<T>(op, as<T>(old), as<T>(Bits(operand)), as<T>(Bits(expected))));
  });
}

uint16_t addHalves(uint16_t a, uint16_t b) {
  return _cvtss_sh(_cvtsh_ss(a) + _cvtsh_ss(b), _MM_FROUND_TO_NEAREST_INT);
}
uint16_t addBfloats(uint16_t a, uint16_t b) {
  const float sum = as<float>(uint32_t(a) << 16) + as<float>(uint32_t(b) << 16);
  const uint32_t bits = as<uint32_t>(sum);
  if (sum != sum)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; // To nearest, ties to even.
}

/// One or two elements of 16 bits; only addition exists.
template <class Bits>
uint64_t atomicAdd16(void *p, uint64_t operand, uint16_t (*add)(uint16_t, uint16_t)) {
  return exchange<Bits>(p, [&](Bits old) {
    Bits next = 0;
    for (unsigned i = 0; i < sizeof(Bits) * 8; i += 16)
      next |= Bits(add(uint16_t(old >> i), uint16_t(operand >> i))) << i;
    return next;
  });
}

} // namespace

extern "C" uint64_t kilnSimAtomic(void *p, int type, int op, uint64_t operand, uint64_t expected) {
  static const uint8_t bytes[] = {4, 4, 8, 8, 4, 8, 4, 4, 2, 2};
  const uintptr_t a = reinterpret_cast<uintptr_t>(p);
  if (!machine->record(a, bytes[type], AccessKind::Atomic,
                       reinterpret_cast<uintptr_t>(__builtin_return_address(0))) ||
      a % bytes[type])
    return 0;
  switch (type) {
  case kAtomicI32:
    return typedAtomic<uint32_t, int32_t>(p, op, operand, expected);
  case kAtomicU32:
    return typedAtomic<uint32_t, uint32_t>(p, op, operand, expected);
  case kAtomicU64:
    return typedAtomic<uint64_t, uint64_t>(p, op, operand, expected);
  case kAtomicI64:
    return typedAtomic<uint64_t, int64_t>(p, op, operand, expected);
  case kAtomicF32:
    return typedAtomic<uint32_t, float>(p, op, operand, expected);
  case kAtomicF64:
    return typedAtomic<uint64_t, double>(p, op, operand, expected);
  case kAtomicF16x2:
    return atomicAdd16<uint32_t>(p, operand, addHalves);
  case kAtomicBf16x2:
    return atomicAdd16<uint32_t>(p, operand, addBfloats);
  case kAtomicF16:
    return atomicAdd16<uint16_t>(p, operand, addHalves);
  default:
    return atomicAdd16<uint16_t>(p, operand, addBfloats);
  }
}

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

#define SEEN(pointer, bytes, kind)                                                                 \
  machine->record(reinterpret_cast<uintptr_t>(pointer), bytes, AccessKind::kind,                   \
                  reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

/// What the compiler has made of a loop, or of neighbouring stores, has no
/// alignment of its own: a device gets accesses that are aligned.
static bool recordRange(uintptr_t address, size_t bytes, AccessKind kind, uintptr_t pc) {
  bool all = true;
  for (size_t piece; bytes; address += piece, bytes -= piece) {
    piece = 16;
    while (piece > bytes || address % piece)
      piece /= 2;
    all &= machine->record(address, piece, kind, pc);
  }
  return all;
}
#define RANGE_SEEN(pointer, bytes, kind)                                                           \
  recordRange(reinterpret_cast<uintptr_t>(pointer), bytes, AccessKind::kind,                       \
              reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

extern "C" {
#define KILN_SIM_ACCESS(bytes)                                                                     \
  void kilnSimRead##bytes(const void *p) { SEEN(p, bytes, Read); }                                 \
  void kilnSimWrite##bytes(const void *p) { SEEN(p, bytes, Write); }                               \
  void kilnSimLooseRead##bytes(const void *p) { RANGE_SEEN(p, bytes, Read); }                      \
  void kilnSimLooseWrite##bytes(const void *p) { RANGE_SEEN(p, bytes, Write); }
KILN_SIM_ACCESS(1)
KILN_SIM_ACCESS(2)
KILN_SIM_ACCESS(4)
KILN_SIM_ACCESS(8)
KILN_SIM_ACCESS(16)
#undef KILN_SIM_ACCESS

void *kilnSimMemcpy(void *to, const void *from, size_t bytes) {
  const bool reads = RANGE_SEEN(from, bytes, Read), writes = RANGE_SEEN(to, bytes, Write);
  return reads && writes ? memcpy(to, from, bytes) : to;
}
void *kilnSimMemmove(void *to, const void *from, size_t bytes) {
  const bool reads = RANGE_SEEN(from, bytes, Read), writes = RANGE_SEEN(to, bytes, Write);
  return reads && writes ? memmove(to, from, bytes) : to;
}
void *kilnSimMemset(void *to, int value, size_t bytes) {
  return RANGE_SEEN(to, bytes, Write) ? memset(to, value, bytes) : to;
}

#define KILN_SIM_LOAD(type, name)                                                                  \
  type name(const void *p) {                                                                       \
    type v;                                                                                        \
    if (SEEN(p, sizeof v, Read))                                                                   \
      memcpy(&v, p, sizeof v);                                                                     \
    else                                                                                           \
      memset(&v, 0xff, sizeof v);                                                                  \
    return v;                                                                                      \
  }
#define KILN_SIM_STORE(type, name)                                                                 \
  void name(void *p, type v) {                                                                     \
    if (SEEN(p, sizeof v, Write))                                                                  \
      memcpy(p, &v, sizeof v);                                                                     \
  }
KILN_SIM_LOAD(uint32_t, kilnSimLoad4)
KILN_SIM_LOAD(uint64_t, kilnSimLoad8)
KILN_SIM_LOAD(Bits16, kilnSimLoad16)
KILN_SIM_STORE(uint32_t, kilnSimStore4)
KILN_SIM_STORE(uint64_t, kilnSimStore8)
KILN_SIM_STORE(Bits16, kilnSimStore16)
#undef KILN_SIM_LOAD
#undef KILN_SIM_STORE

void kilnSimAsyncCopy(void *to, const void *from, int size, int bytes) {
  machine->issueCopy(to, from, size, bytes,
                     reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void kilnSimArithmetic(uint64_t operations) {
  machine->runCode(operations, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
void kilnSimAsyncCommit() { ++machine->current->groups; }
void kilnSimAsyncWait(int groups) {
  machine->waitForCopies(groups, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
}

} // namespace kiln::cudasim
