//===- Support.h - Memory, texts and counts of the runtime --- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No C++ library is linked into an artefact: no operator new, no exceptions, no
// static objects with constructors. Objects come from malloc and say so.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_SUPPORT_H
#define KILN_RUNTIME_CORE_SUPPORT_H

#include "kiln-c/Status.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace kiln::rt {

inline constexpr uint64_t kAlignment = 64;
/// Above any address space: a larger size is an overflow or nonsense.
inline constexpr uint64_t kMaxBytes = uint64_t(1) << 46;

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// Memory aligned to kAlignment, for free(); null when there is none. Large
/// blocks ask for huge pages.
void *allocateAligned(uint64_t bytes);

/// The sentence that goes with a status.
class ErrorText {
public:
  void clear() { text[0] = 0; }
  const char *get() const { return text; }

  /// Sets the text and returns `status`, so that a failing path is one line.
  [[gnu::format(printf, 3, 4), gnu::cold]] kiln_status_t fail(kiln_status_t status,
                                                              const char *format, ...);

  /// Copies what fits; returns the length of the whole text.
  size_t copyTo(char *out, size_t size) const;

private:
  char text[512] = {};
};

/// Appends to a text of fixed capacity; what does not fit is cut.
class TextBuilder {
public:
  TextBuilder() { text[0] = 0; }
  const char *get() const { return text; }
  [[gnu::format(printf, 2, 3)]] void append(const char *format, ...);

private:
  char text[256];
  size_t used = 0;
};

/// An array of fixed size, zeroed; empty until allocated.
template <typename T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() {
    for (size_t i = 0; i != count; ++i)
      items[i].~T();
    std::free(items);
  }

  bool allocate(size_t n) {
    // One more than asked for, so that an empty array is no failure.
    items = static_cast<T *>(std::calloc(n + 1, sizeof(T)));
    if (!items)
      return false;
    for (; count != n; ++count)
      new (&items[count]) T();
    return true;
  }
  T *get() const { return items; }
  T &operator[](size_t i) const { return items[i]; }
  size_t size() const { return count; }
  T *begin() const { return items; }
  T *end() const { return items + count; }

private:
  T *items = nullptr;
  size_t count = 0;
};

/// Objects that the user holds. While there is one, the code may not go away.
extern std::atomic<uint64_t> liveObjects;

/// Null when there is no memory.
template <typename T, typename... Args> T *createObject(Args &&...args) {
  void *memory = alignof(T) > alignof(max_align_t) ? std::aligned_alloc(alignof(T), sizeof(T))
                                                   : std::malloc(sizeof(T));
  if (!memory)
    return nullptr;
  liveObjects.fetch_add(1, std::memory_order_relaxed);
  return new (memory) T(std::forward<Args>(args)...);
}

template <typename T> void destroyObject(T *object) {
  object->~T();
  std::free(object);
  liveObjects.fetch_sub(1, std::memory_order_release);
}

/// A count that one thread writes and others may read.
class Counter {
public:
  void add(uint64_t amount) {
    value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(uint64_t amount) { value.store(amount, std::memory_order_relaxed); }
  void raiseTo(uint64_t amount) {
    if (amount > get())
      set(amount);
  }
  uint64_t get() const { return value.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> value{0};
};

/// For moments. Whoever waits for very long goes on without it: in a child that
/// was forked while another thread had it nobody will give it back, and the harm
/// of what it guards being seen in the middle of a change is the smaller one.
class PatientLock {
public:
  class Hold {
  public:
    explicit Hold(PatientLock &lock);
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;
    ~Hold() { lock.taken.store(false, std::memory_order_release); }

  private:
    PatientLock &lock;
  };

private:
  std::atomic<bool> taken{false};
};

/// Monotonic.
uint64_t nanoseconds();

/// Reads an option struct of any version: fields beyond its struct_size are
/// zero. False when the size is impossible.
bool readOptions(void *into, size_t size, const void *options);

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_SUPPORT_H
