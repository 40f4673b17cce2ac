//===- Schedule.cpp - Which configuration a kernel gets ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSearch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace kiln::cuda;

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {

/// What the model takes for granted; docs/cuda/scheduling.md says where from. None has been
/// measured on a card.
struct Assumptions {
  /// From a global load to its value, when the memory is not busy.
  static constexpr double memoryLatency = 600e-9;
  /// The same where the L2 cache has it.
  static constexpr double cacheLatency = 250e-9;
  /// A kernel's start and end inside a graph.
  static constexpr double launch = 2e-6;
  /// Bytes a clock between the L2 cache and one multiprocessor.
  static constexpr double fabricBytesPerClock = 64;
  /// Warps that keep a multiprocessor's four schedulers busy: two each.
  static constexpr double busyWarps = 8;
  /// The part of the peak bandwidth that a long copy reaches.
  static constexpr double reachableBandwidth = 0.9;
};

constexpr int64_t schedulers = 4;
constexpr int64_t registerUnit = 256;
constexpr int64_t sharedUnit = 128;

} // namespace

double kiln::cuda::launchSeconds() { return Assumptions::launch; }

double kiln::cuda::reachableBandwidth(const DeviceFacts &device) {
  return Assumptions::reachableBandwidth * static_cast<double>(device.memoryBytesPerSecond);
}

Occupancy kiln::cuda::occupancyOf(const DeviceFacts &device, int threads, int registers,
                                  int64_t sharedBytes) {
  Occupancy result;
  int64_t warps = ceilDiv(threads, warpLanes);
  int64_t perWarp = roundUp(std::max<int64_t>(registers, 1) * warpLanes, registerUnit);
  int64_t warpsByRegisters =
      DeviceFacts::registersPerMultiprocessor / schedulers / perWarp * schedulers;
  int64_t shared = roundUp(sharedBytes + device.sharedReservedPerBlock, sharedUnit);
  const std::pair<int64_t, Occupancy::Limit> limits[] = {
      {device.threadsPerMultiprocessor / (warps * warpLanes), Occupancy::threads},
      {device.blocksPerMultiprocessor, Occupancy::blocksLimit},
      {warpsByRegisters / warps, Occupancy::registers},
      {shared == 0 ? INT64_MAX : device.sharedPerMultiprocessor / shared, Occupancy::sharedMemory},
  };
  auto least = *std::min_element(std::begin(limits), std::end(limits),
                                 [](auto a, auto b) { return a.first < b.first; });
  bool launchable = threads >= 1 && threads <= DeviceFacts::threadsPerBlock &&
                    registers <= DeviceFacts::registersPerThread &&
                    sharedBytes <= device.sharedPerBlock;
  result.blocks = launchable ? least.first : 0;
  result.limit = least.second;
  result.warps = result.blocks * warps;
  result.fraction = static_cast<double>(result.warps) * warpLanes /
                    static_cast<double>(device.threadsPerMultiprocessor);
  return result;
}

Prediction kiln::cuda::predict(const DeviceFacts &device, const Work &work) {
  Prediction p;
  p.occupancy = occupancyOf(device, work.shape.threads, work.registers,
                            work.shape.sharedBytes + work.staticSharedBytes);
  if (p.occupancy.blocks == 0) {
    p.compute = INFINITY;
    return p;
  }
  int64_t blocks = work.shape.blocks[0] * work.shape.blocks[1] * work.shape.blocks[2];
  int64_t together = p.occupancy.blocks * device.multiprocessors;
  p.waves = ceilDiv(blocks, together);
  p.waveFill = static_cast<double>(blocks) / static_cast<double>(p.waves * together);

  // The busiest multiprocessor decides; how well it works depends on its warps.
  int64_t busiest = ceilDiv(blocks, device.multiprocessors);
  double share = static_cast<double>(busiest) / static_cast<double>(blocks);
  double clock = static_cast<double>(device.clockHz);
  double processors = static_cast<double>(device.multiprocessors);
  double warps = static_cast<double>(std::min(busiest, p.occupancy.blocks) *
                                     ceilDiv(work.shape.threads, warpLanes));
  double busy = std::min(1.0, warps / Assumptions::busyWarps);
  if (int64_t rate = device.rate(work.unit))
    p.compute = work.operations * share * processors / (static_cast<double>(rate) * busy);
  else
    p.compute = work.operations > 0 ? INFINITY : 0;
  p.issue = work.instructions * share / (schedulers * clock * busy);
  p.shared = work.wavefronts * share / (clock * busy);

  // What does not fit the L2 cache is fetched again as often as it is read.
  const Traffic &t = work.traffic;
  double moved = static_cast<double>(t.readBytes + t.writtenBytes);
  double unique = static_cast<double>(t.uniqueReadBytes + t.uniqueWrittenBytes);
  double resident = std::min(1.0, static_cast<double>(device.l2Bytes) / std::max(1.0, unique));
  double fetched = unique + std::max(0.0, moved - unique) * (1 - resident);
  if (work.fetchedBytes >= 0)
    fetched = std::clamp(work.fetchedBytes, unique, fetched);
  double active = std::min<double>(processors, static_cast<double>(blocks));
  p.fabric = moved / work.coalescing / (Assumptions::fabricBytesPerClock * clock * active);
  // Little's law: bytes under way / latency.
  double underWay = std::min<double>(static_cast<double>(blocks), static_cast<double>(together)) *
                    work.shape.threads * work.bytesInFlight;
  double bandwidth = std::min(reachableBandwidth(device), underWay / Assumptions::memoryLatency);
  p.memory = fetched / bandwidth;
  p.latency = static_cast<double>(p.waves) * (work.memoryWaits * Assumptions::memoryLatency +
                                              work.cacheWaits * Assumptions::cacheLatency);
  p.launch = Assumptions::launch;
  return p;
}

double Prediction::seconds() const {
  return std::max({compute, issue, shared, fabric, memory, latency}) + launch;
}

StringRef Prediction::boundBy() const {
  double longest = seconds() - launch;
  if (longest < launch)
    return "launch";
  return longest == compute   ? "arithmetic"
         : longest == issue   ? "instructions"
         : longest == shared  ? "shared memory"
         : longest == latency ? "latency"
         : longest == fabric  ? "L2"
                              : "memory";
}

std::string Prediction::text() const {
  return formatv(
             "predicted {0:f1} us, bound by {1}: arithmetic {2:f1}, instructions {3:f1}, "
             "shared memory {4:f1}, L2 {5:f1}, memory {6:f1}, latency {7:f1}, launch {8:f1} us; "
             "{9} blocks a multiprocessor ({10:P0}), {11} waves {12:P0} full",
             seconds() * 1e6, boundBy(), compute * 1e6, issue * 1e6, shared * 1e6, fabric * 1e6,
             memory * 1e6, latency * 1e6, launch * 1e6, occupancy.blocks, occupancy.fraction, waves,
             waveFill)
      .str();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {

/// Tiles of one round that lie nearly in a square share most.
int groupOf(double together, int tileM, int tileN) {
  return std::max(1, static_cast<int>(std::lround(std::sqrt(together * tileN / tileM))));
}

/// A thread loads its part of the next step into registers, computes, and stores it. Besides the
/// fragments and products, an element staged costs about eight instructions.
void describeSteps(Work &work, const SimtMatMulConfig &config, const MatMulDemand &demand,
                   double blockSteps, double steps) {
  double warps = config.threads() / warpLanes, perThread = config.threads();
  double staged = (config.tileM / static_cast<double>(demand.vectorA) +
                   config.tileN / static_cast<double>(demand.vectorB)) *
                  config.tileK / perThread;
  double elements = (config.tileM + config.tileN) * config.tileK / perThread;
  double products =
      config.tileK * (config.threadM * config.threadN + (config.threadM + config.threadN) / 4.0);
  work.instructions = blockSteps * warps * (products + 8 * staged + elements + 16);
  work.bytesInFlight = std::max(1, static_cast<int>(elements * demand.elementBytes));
  work.cacheWaits = steps;
}

/// Copies run ahead by all stages but one. A step of an mma waits for its fragments and products:
/// about a quarter of a trip to the L2 cache.
void describeSteps(Work &work, const TensorMatMulConfig &config, const MatMulDemand &demand,
                   double blockSteps, double steps) {
  double mmas = static_cast<double>(config.tileK) * demand.elementBytes / 32;
  double chunks = static_cast<double>(config.stageBytes()) / vectorBytes / config.threads();
  // Loads of an operand that does not lie in whole chunks, which then pass through registers: about
  // as much again for each as a copy takes, and two conversions and moves an element.
  double perChunk = vectorBytes / static_cast<double>(demand.elementBytes);
  double ofTile = static_cast<double>(config.tileK) / config.threads();
  double loads = 0, staged = 0;
  for (auto [extent, vector] :
       {std::pair(config.tileM, demand.vectorA), std::pair(config.tileN, demand.vectorB)})
    if (vector < perChunk) {
      loads += extent * ofTile / vector;
      staged += extent * ofTile;
    }
  double fragments = (config.warpM + config.warpN) / 16.0;
  double products = config.warpM / 16.0 * (config.warpN / 8.0);
  work.instructions = blockSteps * config.warps() *
                      (mmas * (products + 3 * fragments) + 8 * (chunks + loads) + 2 * staged + 24);
  work.bytesInFlight = std::max(1, static_cast<int>(chunks * vectorBytes) * (config.stages - 1));
  work.cacheWaits = steps * std::max(1.0 / (config.stages - 1), mmas * 0.25);
}

/// Tries every split of K that leaves a step to each part and still adds blocks to a round.
template <class Config>
void offerMatMul(Best<Config> &best, const DeviceFacts &device, const MatMulDemand &demand,
                 const Config &config, Unit unit) {
  const MatMulExtents &e = demand.extents;
  int64_t steps = ceilDiv(e.k, config.tileK);
  for (int splits = 1; splits <= steps; splits *= 2) {
    Work work;
    work.shape = matMulLaunch(config, e, splits);
    work.registers = config.estimatedRegisters();
    work.unit = unit;
    double tiles = static_cast<double>(work.shape.blocks[0] * e.batches);
    double depth = static_cast<double>(stepsPerSplit(e.k, config.tileK, splits) * splits);
    work.operations = tiles * config.tileM * config.tileN * depth * config.tileK * 2;
    work.wavefronts = tiles * depth * static_cast<double>(config.readWavefronts());
    work.traffic = matMulTraffic(config, e, splits, demand.elementBytes, demand.elementBytes,
                                 demand.resultBytes);
    describeSteps(work, config, demand, tiles * depth, depth / splits);
    Choice<Config> choice{config, splits, 1, predict(device, work), 0};
    // What one round of blocks shares comes from memory once.
    double together =
        static_cast<double>(choice.prediction.occupancy.blocks * device.multiprocessors);
    choice.group = groupOf(together, config.tileM, config.tileN);
    double lines = choice.group * config.tileM + together / choice.group * config.tileN;
    work.fetchedBytes = static_cast<double>(choice.prediction.waves) * lines *
                            (static_cast<double>(e.k) / splits) * demand.elementBytes +
                        static_cast<double>(work.traffic.uniqueWrittenBytes);
    choice.prediction = predict(device, work);
    choice.seconds = choice.prediction.seconds();
    if (splits > 1) {
      Work sum;
      sum.shape = {{ceilDiv(e.m * ceilDiv(e.n, 4), 128), 1, e.batches}, 128, 0};
      sum.registers = 32;
      int64_t results = e.batches * e.m * e.n;
      sum.traffic = {results * 4 * splits, results * demand.resultBytes, results * 4 * splits,
                     results * demand.resultBytes};
      choice.seconds += predict(device, sum).seconds();
    }
    best.offer(choice);
    if (!demand.maySplit || choice.prediction.waves > 1)
      break;
  }
}

} // namespace

std::optional<Choice<SimtMatMulConfig>> kiln::cuda::chooseSimtMatMul(const DeviceFacts &device,
                                                                     const MatMulDemand &demand) {
  Best<SimtMatMulConfig> best;
  const MatMulExtents &e = demand.extents;
  auto conflicts = [&](const SimtMatMulConfig &config) {
    return (demand.alongKA && !stagingIsFree(config, demand.vectorA)) ||
           (demand.alongKB && !stagingIsFree(config, demand.vectorB));
  };
  for (bool mayConflict : {false, true}) {
    for (int tileM : powers(warpLanes, covering(e.m, warpLanes)))
      for (int tileN : powers(warpLanes, covering(e.n, warpLanes)))
        for (int tileK : powers(8, covering(e.k, 8)))
          for (int threadM : powers(4, tileM))
            for (int threadN : powers(4, tileN)) {
              SimtMatMulConfig config{tileM, tileN, tileK, threadM, threadN};
              if (config.legal() && (mayConflict || !conflicts(config)))
                offerMatMul(best, device, demand, config, Unit::fp32);
            }
    if (best.best)
      break;
  }
  return best.best;
}

std::optional<Choice<TensorMatMulConfig>>
kiln::cuda::chooseTensorMatMul(const DeviceFacts &device, Unit unit, const MatMulDemand &demand) {
  Best<TensorMatMulConfig> best;
  const MatMulExtents &e = demand.extents;
  if (device.rate(unit) == 0)
    return std::nullopt;
  int perMma = 32 / demand.elementBytes;
  // Words that do not run along K are read one by one, from lines of at least eight chunks.
  int leastN = demand.alongKB || demand.elementBytes != 4 ? 16 : 32;
  for (int tileM : powers(16, covering(e.m, 16)))
    for (int tileN : powers(leastN, covering(e.n, leastN)))
      for (int tileK : powers(perMma, covering(e.k, perMma)))
        for (int warpM : powers(16, tileM))
          for (int warpN : powers(16, tileN))
            for (int stages = 2;; ++stages) {
              TensorMatMulConfig config{
                  tileM, tileN, tileK, warpM, warpN, stages, demand.elementBytes};
              if (config.sharedBytes() > device.sharedPerBlock || !config.legal())
                break;
              offerMatMul(best, device, demand, config, unit);
            }
  return best.best;
}

std::optional<Choice<NormLinearConfig>>
kiln::cuda::chooseNormLinear(const DeviceFacts &device, const MatMulDemand &demand, bool centred) {
  MatMulDemand whole = demand;
  whole.maySplit = false;
  // Room for the statistics of the tallest tile.
  DeviceFacts smaller = device;
  smaller.sharedPerBlock -= 8 * DeviceFacts::threadsPerBlock;
  auto product = chooseSimtMatMul(smaller, whole);
  if (!product)
    return std::nullopt;
  // The statistics come first: passes over the rows of a block's tile, which lie in the L2 cache
  // when other blocks have them too, two or three instructions an element and a meeting a row.
  const MatMulExtents &e = demand.extents;
  NormLinearConfig config{product->config};
  Traffic all = normLinearTraffic(config, e, centred, demand.elementBytes, demand.resultBytes),
          alone = matMulTraffic(config.product, e, 1, demand.elementBytes, demand.elementBytes,
                                demand.resultBytes);
  Work statistics;
  statistics.shape = config.launch(e);
  statistics.registers = config.product.estimatedRegisters();
  statistics.traffic = {all.readBytes - alone.readBytes, 0, e.m * e.k * demand.elementBytes, 0};
  double elements = static_cast<double>(statistics.traffic.readBytes) / demand.elementBytes;
  statistics.instructions = elements / warpLanes * (3 + 4.0 / demand.vectorA);
  statistics.bytesInFlight = demand.vectorA * demand.elementBytes;
  statistics.cacheWaits = static_cast<double>(config.product.tileM) /
                          (config.threads() / warpLanes) *
                          static_cast<double>(ceilDiv(e.k, warpLanes * demand.vectorA));
  Prediction before = predict(device, statistics);
  Choice<NormLinearConfig> choice{config, 1, product->group, product->prediction, 0};
  for (auto part : {&Prediction::issue, &Prediction::fabric, &Prediction::latency})
    choice.prediction.*part += before.*part;
  choice.seconds = choice.prediction.seconds();
  return choice;
}

std::optional<Choice<SkinnyMatMulConfig>>
kiln::cuda::chooseSkinnyMatMul(const DeviceFacts &device, const MatMulDemand &demand) {
  Best<SkinnyMatMulConfig> best;
  const MatMulExtents &e = demand.extents;
  int rows = static_cast<int>(e.m);
  int widest = demand.alongKB ? std::min(demand.vectorA, demand.vectorB) : demand.vectorB;
  for (int warps : powers(1, DeviceFacts::threadsPerBlock / warpLanes))
    for (int vector : powers(1, widest)) {
      SkinnyMatMulConfig config{rows, warps, vector};
      if (!config.legal())
        continue;
      Work work;
      work.shape = config.launch(e, demand.alongKB);
      if (work.shape.sharedBytes > device.sharedPerBlock)
        continue;
      // Loads that are unrolled, so that they wait together.
      int together = demand.alongKB ? 2 : 4;
      double blocks = static_cast<double>(work.shape.blocks[0] * e.batches);
      double steps = static_cast<double>(
          demand.alongKB ? ceilDiv(e.k, static_cast<int64_t>(warpLanes) * vector)
                         : ceilDiv(e.k, warps));
      // Every block (every warp, along K) reads all of A.
      int64_t readsOfA = work.shape.blocks[0] * (demand.alongKB ? warps : 1);
      int64_t a = e.batches * e.m * e.k * demand.elementBytes,
              b = e.batches * e.k * e.n * demand.elementBytes,
              results = e.batches * e.m * e.n * demand.resultBytes;
      work.traffic = {a * readsOfA + b, results, a + b, results};
      work.registers = rows * (vector + 6) + vector * together + 32;
      work.operations = 2.0 * static_cast<double>(e.batches * e.m * e.n * e.k);
      // A vector of weights with its address, and a load and products for each row.
      work.instructions = blocks * warps * steps * (6 + rows * (3 + vector));
      work.bytesInFlight = together * vector * demand.elementBytes;
      work.memoryWaits = std::ceil(steps / together);
      Choice<SkinnyMatMulConfig> choice{config, 1, 1, predict(device, work), 0};
      choice.seconds = choice.prediction.seconds();
      best.offer(choice);
    }
  return best.best;
}

/// Products of all visible tiles, twice.
template <class Config>
static Work attentionWork(const Config &config, const AttentionExtents &e, bool causal,
                          int elementBytes) {
  Work work;
  work.shape = attentionLaunch(config, e);
  work.traffic = attentionTraffic(config, e, causal, elementBytes, elementBytes);
  double tiles = 0;
  for (int64_t first = 0; first < e.queries; first += config.tileQ)
    tiles +=
        static_cast<double>(ceilDiv(visibleKeys(e, causal, first, config.tileQ), config.tileK));
  double heads = static_cast<double>(e.batches) * e.heads;
  work.operations = heads * tiles * config.tileQ * config.tileK * config.headSize * 4;
  // Exponentials, maxima and sums: about a dozen instructions a score; staging about one a byte
  // of a vector.
  work.instructions = heads * tiles / warpLanes *
                      (config.tileQ * config.tileK * 12.0 +
                       2.0 * config.tileK * config.headSize * elementBytes / vectorBytes * 8);
  // Heads that run together share their keys and values.
  work.fetchedBytes =
      static_cast<double>(work.traffic.uniqueReadBytes + work.traffic.uniqueWrittenBytes);
  work.cacheWaits = static_cast<double>(ceilDiv(e.keys, config.tileK));
  return work;
}

std::optional<Choice<SimtAttentionConfig>>
kiln::cuda::chooseSimtAttention(const DeviceFacts &device, const AttentionExtents &e, bool causal) {
  Best<SimtAttentionConfig> best;
  int headSize = static_cast<int>(roundUp(std::max(e.headSize, e.valueSize), warpLanes));
  for (int warps : powers(1, DeviceFacts::threadsPerBlock / warpLanes))
    for (int tileQ : powers(warps, covering(e.queries, warps)))
      for (int tileK : powers(warpLanes, covering(e.keys, warpLanes))) {
        SimtAttentionConfig config{tileQ, tileK, headSize, warps};
        if (!config.legal() || config.sharedBytes() > device.sharedPerBlock)
          continue;
        Work work = attentionWork(config, e, causal, 4);
        int rows = config.rowsPerWarp();
        work.registers = rows * (headSize + 2 * tileK) / warpLanes + 2 * rows + 48;
        work.cacheWaits *= 2; // nothing is loaded ahead
        // A key's vector and every query's, for all the keys of a lane.
        double reads = tileK / warpLanes * 4.0 + rows;
        work.wavefronts = work.operations / 4 / (double(rows) * tileK * headSize) *
                          (headSize / 4.0 * reads + tileK / 4.0 * (rows + headSize / 8.0));
        Choice<SimtAttentionConfig> choice{config, 1, 1, predict(device, work), 0};
        choice.seconds = choice.prediction.seconds();
        best.offer(choice);
      }
  return best.best;
}

std::optional<Choice<TensorAttentionConfig>>
kiln::cuda::chooseTensorAttention(const DeviceFacts &device, Unit unit, const AttentionExtents &e,
                                  bool causal) {
  Best<TensorAttentionConfig> best;
  if (device.rate(unit) == 0)
    return std::nullopt;
  int headSize = static_cast<int>(covering(std::max(e.headSize, e.valueSize), 16));
  for (int warps : powers(1, DeviceFacts::threadsPerBlock / warpLanes))
    for (int tileK : powers(16, covering(e.keys, 16)))
      for (int stages = 2;; ++stages) {
        TensorAttentionConfig config(tileK, headSize, warps, stages);
        if (!config.legal() || config.sharedBytes() > device.sharedPerBlock)
          break;
        Work work = attentionWork(config, e, causal, 2);
        work.unit = unit;
        // Copies run ahead; two products and a softmax wait for each other.
        work.cacheWaits *= std::max(1.0 / (stages - 1), 1.0);
        work.registers = headSize / 4 + headSize / 2 + tileK / 2 + tileK / 4 + 48;
        work.bytesInFlight = 4 * tileK * headSize * (stages - 1) / config.threads();
        // Each warp reads the tile of keys and that of values: 128 bytes a cycle.
        work.wavefronts = work.operations / 4 / 16 * 4 / 128;
        Choice<TensorAttentionConfig> choice{config, 1, 1, predict(device, work), 0};
        choice.seconds = choice.prediction.seconds();
        best.offer(choice);
      }
  return best.best;
}
