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
// up to 32 KiB are cut from slabs, spans of at least four; larger ones are spans
// of their own. What belongs to nobody can so become any size again, which keeps
// a workload of ever changing shapes from holding a bit of every class.
//
// All bookkeeping lies outside of the memory, but for the links of free blocks
// of a slab. One thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_SPANHEAP_H
#define KILN_RUNTIME_POOL_SPANHEAP_H

#include "SizeClass.h"
#include "Source.h"

namespace kiln::rt {

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
  /// Gives up a region when more than `retain` bytes have no use.
  void release(void *block);

  /// Whether a block starts there that markHeld() marked, and its size.
  bool isHeld(void *memory, uint64_t &size) const;
  void markHeld(void *block, bool held);

  /// Returns regions without use until `keep` bytes of them are left; gives the
  /// bytes returned.
  uint64_t trim(uint64_t keep);

  uint64_t freeBytes() const { return freePages * kPage; }
  uint64_t largestFree() const;
  /// Bytes of free blocks in slabs that are partly used.
  uint64_t slackBytes() const { return slack; }

  /// After a fork in the middle of a change: what there is cannot be trusted any
  /// more, and stays with whoever has it.
  void abandon();

private:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kLargestSlabClass = uint64_t(32) << 10;
  /// Of slabs whose last one stays when it is empty.
  static constexpr uint64_t kLargestKeptClass = uint64_t(2) << 10;
  static constexpr uint64_t kSmallestRegion = uint64_t(2) << 20;
  static constexpr uint64_t kLargestRegion = uint64_t(32) << 20;
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

    Span *spanOf(const void *address) const {
      uint64_t page = uint64_t(static_cast<const uint8_t *>(address) - memory) / kPage;
      return &spans[spans[page].first];
    }
    uint8_t *memoryOf(const Span *span) const { return memory + (span - spans) * kPage; }
    /// Of a huge one, bookkeeping has one page.
    bool isEmpty() const { return spans[0].kind == Kind::Free && spans[0].pages == pages; }
  };

  static constexpr uint32_t blocksOfSlab(uint32_t sizeClass) {
    return uint32_t(slabPages(sizeClass) * kPage / classBytes(sizeClass));
  }
  static constexpr uint64_t slabPages(uint32_t sizeClass) {
    uint64_t bytes = 4 * classBytes(sizeClass);
    return (bytes < 4 * kPage ? 4 * kPage : alignUp(bytes, kPage)) / kPage;
  }

  /// A span of a free one; null when there is no memory.
  Span *takeSpan(uint64_t pages, Kind kind, bool mayGrow, Region *&region);
  Span *findFree(uint64_t pages) const;
  void freeSpan(Region &region, Span *span);
  void insertFree(Region &region, Span *span);
  void removeFree(Span *span);
  static void setEnds(Region &region, uint32_t first, uint64_t pages, Kind kind);
  bool addRegion(uint64_t pages);
  /// Memory and bookkeeping for some of its pages; null when there is none.
  Region *makeRegion(uint64_t bytes, uint64_t bookPages);
  bool reserveRegionSlot();
  void dropRegion(Region *region);
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
  Span *slabs[kNumClasses] = {};
  uint64_t freePages = 0;
  uint64_t emptyBytes = 0; // of regions that hold nothing
  uint64_t slack = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_SPANHEAP_H
