//===- SpanHeap.cpp - Pages in spans, slabs in spans ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SpanHeap.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kiln::rt {

/// Bins of spans, by pages, cut as size classes are; the last takes the rest.
static uint32_t binOf(uint64_t pages, uint32_t numBins) {
  return std::min(classOf(pages * kAlignment), numBins - 1);
}

SpanHeap::~SpanHeap() {
  while (numRegions)
    removeRegion(regions[numRegions - 1]);
  std::free(regions);
}

void SpanHeap::abandon() {
  regions = nullptr;
  numRegions = regionCapacity = 0;
  std::fill(std::begin(bins), std::end(bins), nullptr);
  std::fill(std::begin(binMap), std::end(binMap), 0);
  std::fill(std::begin(slabs), std::end(slabs), nullptr);
  freePages = bare = addresses = slack = 0;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void SpanHeap::link(Span *&head, Span *span) {
  span->previous = nullptr;
  span->next = head;
  if (head)
    head->previous = span;
  head = span;
}

void SpanHeap::unlink(Span *&head, Span *span) {
  if (span->next)
    span->next->previous = span->previous;
  if (span->previous)
    span->previous->next = span->next;
  else
    head = span->next;
}

void SpanHeap::insertFree(Region &region, Span *span) {
  uint32_t bin = binOf(span->pages, kNumBins);
  link(bins[bin], span);
  binMap[bin / 64] |= uint64_t(1) << bin % 64;
  freePages += span->pages;
  span->region = &region;
}

void SpanHeap::removeFree(Span *span) {
  uint32_t bin = binOf(span->pages, kNumBins);
  unlink(bins[bin], span);
  if (!bins[bin])
    binMap[bin / 64] &= ~(uint64_t(1) << bin % 64);
  freePages -= span->pages;
}

uint64_t SpanHeap::largestFree() const {
  uint64_t most = 0;
  for (uint32_t bin = kNumBins; bin-- > 0 && !most;)
    for (const Span *span = bins[bin]; span; span = span->next)
      most = std::max<uint64_t>(most, span->pages);
  // Memory that another span has can go there.
  return std::min(most * kPage, freeBytes());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

SpanHeap::Region *SpanHeap::regionOf(const void *memory) const {
  Region **after = std::upper_bound(
      regions, regions + numRegions, memory,
      [](const void *address, const Region *region) { return address < region->memory; });
  if (after == regions)
    return nullptr;
  Region *region = after[-1];
  uint64_t offset = uint64_t(static_cast<const uint8_t *>(memory) - region->memory);
  return offset < region->pages * kPage ? region : nullptr;
}

bool SpanHeap::reserveRegionSlot() {
  if (numRegions != regionCapacity)
    return true;
  uint32_t capacity = std::max(2 * regionCapacity, 16u);
  auto *grown = static_cast<Region **>(std::calloc(capacity, sizeof(Region *)));
  if (!grown)
    return false;
  std::copy(regions, regions + numRegions, grown);
  std::free(regions);
  regions = grown;
  regionCapacity = capacity;
  return true;
}

SpanHeap::Region *SpanHeap::makeRegion(uint64_t bytes, uint64_t bookPages, bool isBare) {
  if (!reserveRegionSlot())
    return nullptr;
  constexpr uint64_t bitWords = kPage / kAlignment / 64;
  uint64_t backedWords = isBare ? (bookPages + 63) / 64 : 0;
  auto *book = static_cast<uint8_t *>(
      std::calloc(1, sizeof(Region) + bookPages * (sizeof(Span) + bitWords * sizeof(uint64_t)) +
                         backedWords * sizeof(uint64_t)));
  void *memory = !book ? nullptr : isBare ? source.reserveAddresses(bytes) : source.allocate(bytes);
  if (!memory) {
    std::free(book);
    return nullptr;
  }
  auto *spans = reinterpret_cast<Span *>(book + sizeof(Region));
  auto *held = reinterpret_cast<uint64_t *>(spans + bookPages);
  auto *region = new (book) Region{static_cast<uint8_t *>(memory),
                                   bytes / kPage,
                                   spans,
                                   held,
                                   isBare ? held + bookPages * bitWords : nullptr,
                                   isBare ? bytes / kPage : 0};
  bare += region->bare;
  addresses += isBare ? bytes : 0;
  Region **at =
      std::upper_bound(regions, regions + numRegions, region,
                       [](const Region *a, const Region *b) { return a->memory < b->memory; });
  std::move_backward(at, regions + numRegions, regions + numRegions + 1);
  *at = region;
  ++numRegions;
  return region;
}

bool SpanHeap::addRegion(uint64_t pages) {
  uint64_t least = pages * kPage;
  Region *region;
  if (source.hasAddresses()) {
    // As many as there are: few regions, whose free spans can join.
    uint64_t wanted = std::clamp(addresses, kLeastAddresses, kMostAddresses);
    region = makeRegion(std::max(wanted, least), std::max(wanted, least) / kPage, true);
  } else {
    // An eighth more each time: few regions of a large pool, little surplus of a
    // small one. Just what is needed when that is all there is.
    uint64_t wanted = std::clamp(source.reserved / 8, kSmallestRegion, kLargestRegion);
    wanted = std::max(std::min(wanted, source.room()) & ~(kPage - 1), least);
    region = makeRegion(wanted, wanted / kPage, false);
    if (!region && wanted != least)
      region = makeRegion(least, pages, false);
  }
  if (!region)
    return false;
  setEnds(*region, 0, region->pages, Kind::Free);
  insertFree(*region, region->spans);
  return true;
}

void *SpanHeap::allocateHuge(uint64_t bytes) {
  Region *region = makeRegion(alignUp(bytes, kPage), 1, false);
  if (!region)
    return nullptr;
  region->spans[0].kind = Kind::Huge;
  return region->memory;
}

/// Its free spans are in no bin any more.
void SpanHeap::removeRegion(Region *region) {
  Region **at = std::find(regions, regions + numRegions, region);
  std::move(at + 1, regions + numRegions, at);
  --numRegions;
  uint64_t bytes = region->pages * kPage;
  bare -= region->bare;
  if (region->backed) {
    addresses -= bytes;
    source.releaseAddresses(region->memory, bytes, bytes - region->bare * kPage);
  } else {
    source.release(region->memory, bytes);
  }
  std::free(region);
}

uint64_t SpanHeap::trim(uint64_t keep) {
  for (Span *&slabsOfClass : slabs)
    for (Span *slab = slabsOfClass, *next; slab; slab = next) {
      next = slab->next;
      if (slab->freeBlocks == kSlabShapes[slab->sizeClass].blocks)
        freeSlab(*regionOf(slab->blocks), slab);
    }
  uint64_t before = source.reserved;
  for (uint32_t i = numRegions; i-- > 0 && freeBytes() > keep;)
    if (regions[i]->isEmpty()) {
      removeFree(regions[i]->spans);
      removeRegion(regions[i]);
    }
  if (freeBytes() > keep)
    stripFree(freeBytes() - keep);
  return before - source.reserved;
}

//===----------------------------------------------------------------------===//
// Memory of pages
//===----------------------------------------------------------------------===//

/// Calls `visit(word, mask)` for the bits [first, first + count).
template <typename Visit>
static void forEachWord(uint64_t *words, uint64_t first, uint64_t count, Visit visit) {
  for (uint64_t end = first + count; first < end;) {
    uint64_t bit = first % 64, length = std::min<uint64_t>(64 - bit, end - first);
    visit(words[first / 64], (~uint64_t(0) >> (64 - length)) << bit);
    first += length;
  }
}

bool SpanHeap::back(Region &region, uint32_t first, uint64_t pages, bool mayGrow) {
  if (!region.bare)
    return true;
  uint64_t missing = pages;
  forEachWord(region.backed, first, pages, [&](uint64_t word, uint64_t mask) {
    missing -= uint64_t(std::popcount(word & mask));
  });
  if (!missing)
    return true;
  if (!mayGrow)
    return false;
  uint64_t bytes = missing * kPage;
  if (source.room() < bytes)
    stripFree(bytes - source.room());
  if (!source.obtain(region.memory + first * kPage, pages * kPage, bytes))
    return false;
  forEachWord(region.backed, first, pages, [](uint64_t &word, uint64_t mask) { word |= mask; });
  region.bare -= missing;
  bare -= missing;
  return true;
}

uint64_t SpanHeap::strip(Region &region, uint32_t first, uint64_t pages) {
  uint64_t found = 0;
  if (!region.backed)
    return 0;
  forEachWord(region.backed, first, pages, [&](uint64_t &word, uint64_t mask) {
    found += uint64_t(std::popcount(word & mask));
    word &= ~mask;
  });
  if (found)
    source.drop(region.memory + first * kPage, pages * kPage, found * kPage);
  region.bare += found;
  bare += found;
  return found * kPage;
}

uint64_t SpanHeap::stripFree(uint64_t bytes) {
  uint64_t found = 0;
  for (uint32_t bin = kNumBins; bin-- > 0 && found < bytes;)
    for (Span *span = bins[bin]; span && found < bytes; span = span->next)
      found += strip(*span->region, span->first, span->pages);
  return found;
}

//===----------------------------------------------------------------------===//
// Spans
//===----------------------------------------------------------------------===//

void SpanHeap::setEnds(Region &region, uint32_t first, uint64_t pages, Kind kind) {
  Span &head = region.spans[first], &tail = region.spans[first + pages - 1];
  head.pages = uint32_t(pages);
  head.kind = tail.kind = kind;
  head.first = tail.first = first;
}

SpanHeap::Span *SpanHeap::findFree(uint64_t pages) const {
  // In the size's own bin, spans may be too small, unless it is the bin's least
  // size; in later ones they all fit.
  uint32_t bin = binOf(pages, kNumBins);
  for (Span *span = bins[bin]; span; span = span->next) {
    if (span->pages >= pages)
      return span;
    // The last bin holds any size, the others nearly equal ones.
    if (bin != kNumBins - 1)
      break;
  }
  for (uint32_t word = ++bin / 64; word < std::size(binMap); ++word) {
    uint64_t bits = binMap[word];
    if (word == bin / 64)
      bits &= ~uint64_t(0) << bin % 64;
    if (bits)
      return bins[word * 64 + uint32_t(std::countr_zero(bits))];
  }
  return nullptr;
}

SpanHeap::Span *SpanHeap::takeSpan(uint64_t pages, Kind kind, bool mayGrow, Region *&region) {
  Span *span = findFree(pages);
  if (!span && mayGrow && addRegion(pages))
    span = findFree(pages);
  if (!span)
    return nullptr;
  removeFree(span);
  region = span->region;
  uint32_t first = span->first;
  if (!back(*region, first, pages, mayGrow)) [[unlikely]] {
    insertFree(*region, span);
    return nullptr;
  }
  uint64_t rest = span->pages - pages;
  setEnds(*region, first, pages, kind);
  if (rest) {
    setEnds(*region, uint32_t(first + pages), rest, Kind::Free);
    insertFree(*region, &region->spans[first + pages]);
  }
  return span;
}

void SpanHeap::freeSpan(Region &region, Span *span) {
  uint32_t first = span->first;
  uint64_t pages = span->pages;
  if (first && region.spans[first - 1].kind == Kind::Free) {
    Span *before = &region.spans[region.spans[first - 1].first];
    removeFree(before);
    pages += before->pages;
    first = before->first;
  }
  uint64_t end = span->first + span->pages;
  if (end != region.pages && region.spans[end].kind == Kind::Free) {
    removeFree(&region.spans[end]);
    pages += region.spans[end].pages;
  }
  setEnds(region, first, pages, Kind::Free);
  insertFree(region, &region.spans[first]);
  if (freeBytes() <= retain) [[likely]]
    return;
  if (region.isEmpty()) {
    removeFree(region.spans);
    removeRegion(&region);
  } else {
    strip(region, first, pages);
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool SpanHeap::makeSlab(uint32_t sizeClass, bool mayGrow) {
  Region *region;
  uint64_t pages = kSlabShapes[sizeClass].pages;
  Span *slab = takeSpan(pages, Kind::Slab, mayGrow, region);
  if (!slab)
    return false;
  for (uint64_t page = 1; page != pages; ++page)
    slab[page].first = slab->first;
  slab->sizeClass = uint8_t(sizeClass);
  slab->freeBlocks = kSlabShapes[sizeClass].blocks;
  slab->blocks = nullptr;
  uint64_t size = classBytes(sizeClass);
  // In the order of addresses.
  for (uint32_t i = slab->freeBlocks; i-- > 0;) {
    auto *block = reinterpret_cast<FreeBlock *>(region->memoryOf(slab) + i * size);
    block->next = slab->blocks;
    slab->blocks = block;
  }
  slack += pages * kPage;
  link(slabs[sizeClass], slab);
  return true;
}

void *SpanHeap::allocate(uint32_t sizeClass, bool mayGrow) {
  uint64_t size = classBytes(sizeClass);
  if (sizeClass >= Slabs::kNumClasses || !kSlabShapes[sizeClass].pages) {
    Region *region;
    Span *span = takeSpan(size / kPage, Kind::Large, mayGrow, region);
    if (!span)
      return nullptr;
    span->sizeClass = uint8_t(sizeClass);
    return region->memoryOf(span);
  }
  if (!slabs[sizeClass] && !makeSlab(sizeClass, mayGrow))
    return nullptr;
  Span *slab = slabs[sizeClass];
  FreeBlock *block = slab->blocks;
  slab->blocks = block->next;
  if (--slab->freeBlocks == 0)
    unlink(slabs[sizeClass], slab);
  slack -= size;
  return block;
}

void SpanHeap::toSlab(Region &region, Span *slab, void *memory) {
  uint32_t sizeClass = slab->sizeClass;
  uint64_t size = classBytes(sizeClass);
  auto *block = static_cast<FreeBlock *>(memory);
  block->next = slab->blocks;
  slab->blocks = block;
  slack += size;
  if (++slab->freeBlocks == 1)
    link(slabs[sizeClass], slab);
  // The last slab of a small class stays, or one block back and forth would make
  // and unmake it; of large ones, too much memory would lie there.
  bool isLast = size <= kLargestKeptClass && slabs[sizeClass] == slab && !slab->next;
  if (slab->freeBlocks == kSlabShapes[sizeClass].blocks && !isLast)
    freeSlab(region, slab);
}

void SpanHeap::freeSlab(Region &region, Span *slab) {
  unlink(slabs[slab->sizeClass], slab);
  slack -= slab->pages * kPage;
  freeSpan(region, slab);
}

void SpanHeap::release(void *block) {
  Region *region = regionOf(block);
  // Of a heap that was abandoned after a fork.
  if (!region)
    return;
  if (region->spans[0].kind == Kind::Huge)
    return removeRegion(region);
  Span *span = region->spanOf(block);
  if (span->kind == Kind::Slab)
    toSlab(*region, span, block);
  else
    freeSpan(*region, span);
}

bool SpanHeap::isHeld(void *memory, uint64_t &size) const {
  const Region *region = regionOf(memory);
  if (!region || uintptr_t(memory) % kAlignment)
    return false;
  bool huge = region->spans[0].kind == Kind::Huge;
  if (huge && memory != region->memory)
    return false;
  uint64_t unit = uint64_t(static_cast<uint8_t *>(memory) - region->memory) / kAlignment;
  if (!(region->held[unit / 64] >> unit % 64 & 1))
    return false;
  size = huge ? region->pages * kPage : classBytes(region->spanOf(memory)->sizeClass);
  return true;
}

void SpanHeap::markHeld(void *block, bool held) {
  const Region *region = regionOf(block);
  uint64_t unit = uint64_t(static_cast<uint8_t *>(block) - region->memory) / kAlignment;
  uint64_t bit = uint64_t(1) << unit % 64;
  region->held[unit / 64] = held ? region->held[unit / 64] | bit : region->held[unit / 64] & ~bit;
}

} // namespace kiln::rt
