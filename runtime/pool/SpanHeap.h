//===- SpanHeap.h - Pages in spans, slabs in spans ----------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions from the source are cut into spans of pages. A free span joins its
// free neighbours at once, and lies in a bin of its size; the first bin whose
// spans all fit is taken, in constant time (two-level segregated fit). Blocks of
// up to 32 KiB that are no whole pages are cut from slabs; other ones are spans
// of their own. What belongs to nobody can so become any size again, which keeps
// a workload of ever changing shapes from holding a bit of every class.
//
// Where the source gives addresses without memory, a region's pages get memory when
// they are first in use, and free ones lose it where a limit asks for it: then no
// hole is too small, for a hole costs addresses and nothing else.
//
// All bookkeeping lies outside of the memory, but for the links of free blocks
// of a slab. One thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_SPANHEAP_H
#define KILN_RUNTIME_POOL_SPANHEAP_H

#include "SizeClass.h"
#include "Source.h"

#include <array>

namespace kiln::rt {

/// How classes share pages.
struct Slabs {
  static constexpr uint64_t kPage = 4096;
  /// Up to 32 KiB.
  static constexpr uint32_t kNumClasses = classOf(uint64_t(32) << 10) + 1;
  struct Shape {
    uint16_t pages, blocks;
  };

  /// As few pages as lose no more than a sixteenth behind the last block; none where
  /// a block is whole pages.
  static constexpr Shape shapeOf(uint32_t sizeClass) {
    uint64_t size = classBytes(sizeClass), pages = 1;
    if (size % kPage == 0)
      return {0, 0};
    while (pages * kPage < size || pages * kPage % size > pages * kPage / 16)
      ++pages;
    return {uint16_t(pages), uint16_t(pages * kPage / size)};
  }
};

inline constexpr auto kSlabShapes = [] {
  std::array<Slabs::Shape, Slabs::kNumClasses> shapes{};
  for (uint32_t i = 0; i != Slabs::kNumClasses; ++i)
    shapes[i] = Slabs::shapeOf(i);
  return shapes;
}();

class SpanHeap {
public:
  SpanHeap(Source &source, uint64_t retain) : source(source), retain(retain) {}
  SpanHeap(const SpanHeap &) = delete;
  SpanHeap &operator=(const SpanHeap &) = delete;
  ~SpanHeap();

  /// A block of a class; null when there is no memory, or none without a new
  /// region and `mayGrow` is false.
  void *allocate(uint32_t sizeClass, bool mayGrow);
  /// One above all classes, in a region of its own.
  void *allocateHuge(uint64_t bytes);
  /// Gives up memory when more than `retain` bytes have no use.
  void release(void *block);

  /// Whether a block starts there that markHeld() marked, and its size.
  bool isHeld(void *memory, uint64_t &size) const;
  void markHeld(void *block, bool held);

  /// Returns memory without use until `keep` bytes of it are left; gives the bytes
  /// returned.
  uint64_t trim(uint64_t keep);

  uint64_t freeBytes() const { return (freePages - bare) * kPage; }
  uint64_t largestFree() const;
  /// Bytes of slabs that no block in use has.
  uint64_t slackBytes() const { return slack; }

  /// After a fork in the middle of a change: what there is cannot be trusted any
  /// more, and stays with whoever has it.
  void abandon();

private:
  static constexpr uint64_t kPage = Slabs::kPage;
  /// Of slabs whose last one stays when it is empty.
  static constexpr uint64_t kLargestKeptClass = uint64_t(2) << 10;
  static constexpr uint64_t kSmallestRegion = uint64_t(2) << 20;
  static constexpr uint64_t kLargestRegion = uint64_t(32) << 20;
  static constexpr uint64_t kLeastAddresses = uint64_t(4) << 20;
  static constexpr uint64_t kMostAddresses = uint64_t(64) << 20;
  static constexpr uint32_t kNumBins = 160;

  enum class Kind : uint8_t { Free, Slab, Large, Huge };

  struct Region;
  struct FreeBlock {
    FreeBlock *next;
  };

  /// One for each page; of a span, the first page's is complete, and every page
  /// of a slab and the last page of any span knows the first.
  struct Span {
    uint32_t pages;
    uint32_t first;
    uint32_t freeBlocks;
    uint8_t sizeClass;
    Kind kind;
    /// Among the free ones of a bin, or the slabs of a class with free blocks.
    Span *previous;
    Span *next;
    union {
      FreeBlock *blocks; // of a slab
      Region *region;    // of a free span
    };
  };

  /// In one block with its spans and bits.
  struct Region {
    uint8_t *memory;
    uint64_t pages;
    Span *spans;
    /// A bit for every possible start of a block.
    uint64_t *held;
    /// A bit for every page that has memory; null: all do.
    uint64_t *backed;
    /// Pages without, all of them in free spans.
    uint64_t bare;

    Span *spanOf(const void *address) const {
      uint64_t page = uint64_t(static_cast<const uint8_t *>(address) - memory) / kPage;
      return &spans[spans[page].first];
    }
    uint8_t *memoryOf(const Span *span) const { return memory + (span - spans) * kPage; }
    /// Of a huge one, bookkeeping has one page.
    bool isEmpty() const { return spans[0].kind == Kind::Free && spans[0].pages == pages; }
  };

  /// A span of a free one; null when there is no memory.
  Span *takeSpan(uint64_t pages, Kind kind, bool mayGrow, Region *&region);
  Span *findFree(uint64_t pages) const;
  void freeSpan(Region &region, Span *span);
  void insertFree(Region &region, Span *span);
  void removeFree(Span *span);
  /// Memory for all pages of a span that is in no bin; false: there is none.
  bool back(Region &region, uint32_t first, uint64_t pages, bool mayGrow);
  /// Takes the memory of a free span; gives its bytes.
  uint64_t strip(Region &region, uint32_t first, uint64_t pages);
  /// Of free spans, the largest first, at least so many bytes if there are.
  uint64_t stripFree(uint64_t bytes);
  static void setEnds(Region &region, uint32_t first, uint64_t pages, Kind kind);
  bool addRegion(uint64_t pages);
  /// With bookkeeping for some of its pages; null when there is no memory.
  Region *makeRegion(uint64_t bytes, uint64_t bookPages, bool bare);
  bool reserveRegionSlot();
  void removeRegion(Region *region);
  Region *regionOf(const void *memory) const;
  bool makeSlab(uint32_t sizeClass, bool mayGrow);
  void freeSlab(Region &region, Span *slab);
  void toSlab(Region &region, Span *slab, void *block);

  static void link(Span *&head, Span *span);
  static void unlink(Span *&head, Span *span);

  Source &source;
  uint64_t retain;
  /// By address.
  Region **regions = nullptr;
  uint32_t numRegions = 0;
  uint32_t regionCapacity = 0;
  Span *bins[kNumBins] = {};
  uint64_t binMap[(kNumBins + 63) / 64] = {};
  Span *slabs[Slabs::kNumClasses] = {};
  uint64_t freePages = 0;
  uint64_t bare = 0;      // pages of all regions that have no memory
  uint64_t addresses = 0; // bytes of all regions without memory of their own
  uint64_t slack = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_SPANHEAP_H
