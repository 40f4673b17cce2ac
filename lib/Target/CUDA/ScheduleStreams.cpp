//===- ScheduleStreams.cpp - Configurations of kernels that stream --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that read their operands about once: rows, columns, windows, elements.
//
//===----------------------------------------------------------------------===//

#include "ScheduleSearch.h"

using namespace kiln::cuda;

std::optional<Choice<RowConfig>> kiln::cuda::chooseRows(const DeviceFacts &device, int64_t rows,
                                                        int64_t columns, int widestVector,
                                                        int elementBytes, int resultBytes) {
  Best<RowConfig> best;
  for (int threadsPerRow : powers(1, DeviceFacts::threadsPerBlock))
    for (int rowsPerBlock : powers(1, DeviceFacts::threadsPerBlock / threadsPerRow))
      for (int vector : powers(1, widestVector)) {
        // As many vectors as the row needs, or as registers hold.
        int vectors = static_cast<int>(
            std::min<int64_t>(ceilDiv(columns, static_cast<int64_t>(threadsPerRow) * vector), 64));
        while (vectors > 1 && vectors * vector > 64)
          --vectors;
        RowConfig config{threadsPerRow, rowsPerBlock, vectors, vector};
        bool fits = config.capacity() >= columns;
        if (!config.legal() || (!fits && rowsPerBlock > 1))
          continue;
        Work work;
        work.shape = config.launch(rows);
        work.registers = vectors * vector + 32;
        work.traffic = rowTraffic(rows, columns, fits ? 1 : 2, elementBytes, resultBytes);
        work.bytesInFlight = std::max(1, (fits ? vectors : 1) * vector * elementBytes);
        // Lanes that hold nothing issue all the same: about twelve instructions an element, eight
        // a vector, and twenty for each meeting of a row's threads.
        int64_t held = fits ? config.capacity()
                            : roundUp(columns, static_cast<int64_t>(threadsPerRow) * vector);
        work.instructions = static_cast<double>(work.shape.blocks[0] * rowsPerBlock) *
                            (static_cast<double>(held) * (12 + 8.0 / vector) / warpLanes +
                             40.0 * std::max(1.0, threadsPerRow / double(warpLanes)));
        // Lanes of several rows: each row's part in sectors of its own.
        work.coalescing = std::min(1.0, threadsPerRow * vector * elementBytes / 32.0);
        // Each trip of the loop of a long row waits, and so do two barriers.
        work.memoryWaits = fits ? 1 : static_cast<double>(held) / (threadsPerRow * vector);
        work.cacheWaits = threadsPerRow > warpLanes ? 0.5 : 0.25;
        Choice<RowConfig> choice{config, 1, 1, predict(device, work), 0};
        choice.seconds = choice.prediction.seconds();
        best.offer(choice);
      }
  return best.best;
}

std::optional<Choice<FlatConfig>> kiln::cuda::chooseFlat(const DeviceFacts &device,
                                                         const FlatDemand &demand) {
  Best<FlatConfig> best;
  for (int threads : powers(warpLanes, DeviceFacts::threadsPerBlock)) {
    FlatConfig config{threads};
    Work work;
    work.shape = config.launch(demand.threads);
    work.registers = demand.registers;
    work.traffic = demand.traffic;
    work.bytesInFlight = demand.bytesInFlight;
    work.coalescing = demand.coalescing;
    work.memoryWaits = demand.memoryWaits;
    work.cacheWaits = demand.cacheWaits;
    work.instructions =
        static_cast<double>(ceilDiv(demand.threads, warpLanes)) * demand.instructionsPerThread;
    Choice<FlatConfig> choice{config, 1, 1, predict(device, work), 0};
    choice.seconds = choice.prediction.seconds();
    best.offer(choice);
  }
  return best.best;
}

std::optional<Choice<ColumnConfig>> kiln::cuda::chooseColumns(const DeviceFacts &device,
                                                              int64_t outers, int64_t length,
                                                              int64_t columns, int elementBytes,
                                                              int resultBytes) {
  Best<ColumnConfig> best;
  for (int warps : powers(1, std::min<int64_t>(length, DeviceFacts::threadsPerBlock / warpLanes))) {
    ColumnConfig config{warps};
    if (!config.legal())
      continue;
    Work work;
    work.shape = config.launch(outers, columns, 1);
    work.registers = 32;
    work.staticSharedBytes = static_cast<int64_t>(warps) * warpLanes * 4;
    work.traffic = reductionTraffic(outers * length * columns, outers * columns, 1, elementBytes,
                                    resultBytes, 4);
    work.coalescing = std::min(1.0, static_cast<double>(columns) / warpLanes);
    // A warp takes every warps-th place, about four loads at a time; its sum then passes through
    // shared memory to the first warp.
    double places = static_cast<double>(ceilDiv(length, warps));
    work.bytesInFlight = static_cast<int>(std::min(places, 4.0)) * elementBytes;
    work.instructions = static_cast<double>(work.shape.blocks[0] * outers) *
                        (warps * (places * 12 + 20) + warps * 4);
    work.memoryWaits = std::max(1.0, places / 4);
    work.cacheWaits = warps > 1 ? 0.25 : 0;
    Choice<ColumnConfig> choice{config, 1, 1, predict(device, work), 0};
    choice.seconds = choice.prediction.seconds();
    best.offer(choice);
  }
  return best.best;
}

std::optional<Choice<DepthwiseConfig>> kiln::cuda::chooseDepthwise(const DeviceFacts &device,
                                                                   const ConvGeometry &g,
                                                                   int elementBytes,
                                                                   int resultBytes) {
  Best<DepthwiseConfig> best;
  double taps = static_cast<double>(g.kernelHeight) * g.kernelWidth;
  for (int tileHeight : powers(1, covering(g.outHeight, 1)))
    for (int tileWidth : powers(1, covering(g.outWidth, 1)))
      for (int threads : powers(warpLanes, DeviceFacts::threadsPerBlock)) {
        DepthwiseConfig config{tileHeight, tileWidth, threads};
        int64_t outputs = static_cast<int64_t>(tileHeight) * tileWidth;
        if (!config.legal() || config.sharedBytes(g) > device.sharedPerBlock ||
            threads > roundUp(outputs, warpLanes))
          continue;
        int64_t window = static_cast<int64_t>(config.windowHeight(g)) * config.windowWidth(g);
        Work work;
        work.shape = config.launch(g);
        double blocks = static_cast<double>(work.shape.blocks[0]);
        double warps = threads / static_cast<double>(warpLanes);
        double staged = static_cast<double>(ceilDiv(window, threads)),
               computed = static_cast<double>(ceilDiv(outputs, threads));
        work.registers = 40;
        work.operations = blocks * static_cast<double>(outputs) * taps * 2;
        // An element staged costs a division and its store; a tap two loads and a product.
        work.instructions = blocks * warps * (staged * 16 + computed * (taps * 3 + 24) + 40);
        work.wavefronts = blocks * warps * (staged + computed * taps * std::min(g.strideWidth, 32));
        int64_t planes = static_cast<int64_t>(g.images) * g.groups;
        int64_t input = planes * g.height * g.width * elementBytes;
        int64_t results = planes * g.filters * g.outHeight * g.outWidth * resultBytes;
        int64_t weights =
            static_cast<int64_t>(g.groups) * g.filters * static_cast<int64_t>(taps) * elementBytes;
        work.traffic = {work.shape.blocks[0] * (window + static_cast<int64_t>(taps)) * elementBytes,
                        results, input + weights, results};
        // Lines of a window begin anywhere in a sector.
        double line = static_cast<double>(config.windowWidth(g)) * elementBytes;
        work.coalescing = line / (line + 32);
        work.bytesInFlight = static_cast<int>(std::min(staged, 4.0)) * elementBytes;
        work.memoryWaits = std::max(1.0, staged / 4);
        work.cacheWaits = 0.5; // weights, the barrier
        Choice<DepthwiseConfig> choice{config, 1, 1, predict(device, work), 0};
        choice.seconds = choice.prediction.seconds();
        best.offer(choice);
      }
  return best.best;
}

std::optional<Choice<PointwiseConfig>> kiln::cuda::choosePointwise(const DeviceFacts &device,
                                                                   const PointwiseDemand &demand) {
  Best<PointwiseConfig> best;
  for (int threads : powers(warpLanes, DeviceFacts::threadsPerBlock))
    for (int vector : powers(1, demand.widestVector))
      for (int perThread : powers(1, 16)) {
        PointwiseConfig config{threads, vector, perThread};
        if (!config.legal())
          continue;
        Work work;
        work.shape = config.launch(demand.rows, demand.columns);
        work.registers = demand.operands * vector * perThread + 24;
        work.traffic = {demand.readBytes, demand.writtenBytes, demand.readBytes,
                        demand.writtenBytes};
        work.bytesInFlight = std::max(1, demand.bytesPerElement * vector * perThread);
        work.instructions = static_cast<double>(ceilDiv(demand.rows * demand.columns, warpLanes)) *
                            (demand.operations + 1 + (4.0 * demand.operands + 8) / vector);
        Choice<PointwiseConfig> choice{config, 1, 1, predict(device, work), 0};
        choice.seconds = choice.prediction.seconds();
        best.offer(choice);
      }
  return best.best;
}

std::optional<Choice<TransposeConfig>>
kiln::cuda::chooseTranspose(const DeviceFacts &device, int64_t batches, int64_t rows,
                            int64_t columns, const Traffic &traffic, double operations) {
  Best<TransposeConfig> best;
  constexpr int tile = TransposeConfig::tile;
  for (int warps : powers(1, tile)) {
    TransposeConfig config{warps};
    if (!config.legal())
      continue;
    Work work;
    work.shape = config.launch(batches, rows, columns);
    work.registers = 40;
    work.staticSharedBytes = tile * config.pitch(4) * 4;
    work.traffic = traffic;
    // Lines of a tile that the matrix does not fill.
    work.coalescing = static_cast<double>(rows * columns) /
                      static_cast<double>(roundUp(rows, 8) * roundUp(columns, 8));
    double lines =
        static_cast<double>(ceilDiv(rows, tile) * ceilDiv(columns, tile) * batches) * tile;
    work.instructions = lines * (operations + 30);
    work.wavefronts = lines * 2;
    work.bytesInFlight = 4 * std::min(tile / warps, 4);
    work.memoryWaits = std::max(1.0, tile / warps / 4.0);
    work.cacheWaits = 0.25; // barriers
    Choice<TransposeConfig> choice{config, 1, 1, predict(device, work), 0};
    choice.seconds = choice.prediction.seconds();
    best.offer(choice);
  }
  return best.best;
}
