//===- Runner.h - An open model, its inputs and its results -- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_RUNNER_H
#define KILN_TOOLS_KILN_RUN_RUNNER_H

#include "Options.h"
#include "Reports.h"
#include "kiln-c/Loader.h"

#include <set>

namespace kiln::run {

/// Latencies in nanoseconds.
struct BenchResult {
  uint64_t runs = 0;
  double min = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double p99 = 0;
};

class Runner {
public:
  Runner() = default;
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;
  ~Runner();

  /// Opens and checks the artefact.
  Failure open(const Options &options);
  Failure createSession(const Options &options);

  const kiln_model_info &info() const { return modelInfo; }
  const std::vector<const kiln_tensor_spec *> &inputSpecs() const { return inputs; }
  const std::vector<const kiln_tensor_spec *> &outputSpecs() const { return outputs; }
  uint32_t threads() const { return usedThreads; }
  /// Where runs are made, and why there.
  std::string device() const { return askForDevice().first; }
  std::string deviceReason() const { return askForDevice().second; }
  bool sealed() const { return kiln_artefact_is_sealed(artefact); }
  double openMilliseconds() const { return openTime; }

  /// Index of the input or output with this name, or number.
  static Failure find(const std::vector<const kiln_tensor_spec *> &specs, const char *kind,
                      const std::string &name, uint32_t &index);
  /// The same for an option that may be given once for each of them.
  static Failure findOnce(const std::vector<const kiln_tensor_spec *> &specs, const char *kind,
                          const char *option, const std::string &name, std::set<uint32_t> &seen,
                          uint32_t &index);

  /// Values for all inputs, from files, random numbers and the data set.
  Failure prepareInputs(const Options &options);
  const HostTensor *input(uint32_t index) const { return given[index] ? &values[index] : nullptr; }

  Failure run();
  Failure bench(uint64_t runs, BenchResult &result);
  /// A copy of output `index` of the latest run.
  Failure output(uint32_t index, HostTensor &tensor) const;
  /// Of the runs of bench(), or of the one run.
  Failure profile(LaunchProfile &profile) const;
  Failure memory(MemoryReport &report) const;
  std::string metricsText() const;
  double firstRunMilliseconds() const { return firstRunTime; }

private:
  Failure readDataSet(const std::string &directory);
  Failure makeRandom(uint32_t index, uint64_t seed, const Options &options);
  Failure sizeOf(const kiln_dim_spec &dim, const kiln_tensor_spec &spec, int64_t &size) const;
  /// A run may have changed it.
  std::pair<const char *, const char *> askForDevice() const;
  kiln_pool *pool() const;
  kiln_status_t callRun();
  void sampleMemory();
  Failure failed(kiln_status_t status) const;

  kiln_artefact *artefact = nullptr;
  kiln_model *model = nullptr;
  kiln_executor *executor = nullptr;
  kiln_session *session = nullptr;
  kiln_model_info modelInfo = {};
  uint32_t usedThreads = 1;
  double openTime = 0;
  double firstRunTime = 0;
  bool samplesMemory = false;
  uint64_t profiledRuns = 0;
  std::vector<kiln_pool_stats> samples;
  std::vector<const kiln_tensor_spec *> inputs, outputs;
  std::vector<HostTensor> values;
  std::vector<bool> given;
  std::vector<DLTensor> inputViews, outputViews;
  std::vector<const DLTensor *> inputPointers;
  std::vector<DLTensor *> outputPointers;
};

/// What a status means for who called the program.
int exitCodeOf(kiln_status_t status);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_RUNNER_H
