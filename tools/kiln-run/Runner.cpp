//===- Runner.cpp - An open model, its inputs and its results -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runner.h"

#include "Simulated.h"

#include "TensorFiles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace kiln::run {

static double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

int exitCodeOf(kiln_status_t status) {
  switch (status) {
  case KILN_OK:
    return ExitEqual;
  case KILN_INVALID_ARGUMENT:
  case KILN_UNSUPPORTED:
    return ExitUsage;
  case KILN_INVALID_SHAPE:
  case KILN_INVALID_TYPE:
  case KILN_CONSTRAINT:
  case KILN_BUFFER_TOO_SMALL:
    return ExitContract;
  case KILN_OUT_OF_MEMORY:
  case KILN_IO:
  case KILN_DEVICE_FAILED:
    return ExitSystem;
  case KILN_ABI_MISMATCH:
  case KILN_CPU_UNSUPPORTED:
  case KILN_INVALID_ARTEFACT:
  case KILN_CORRUPT:
  case KILN_UNSIGNED:
  case KILN_UNTRUSTED:
  case KILN_TAMPERED:
  case KILN_DAMAGED:
  case KILN_CIRCUIT_OPEN:
    return ExitArtefact;
  case KILN_NOT_FINITE:
    return ExitDifferent;
  case KILN_BUSY:
  case KILN_INTERNAL:
  // Of batchers, which kiln-run has none of.
  case KILN_OVERLOADED:
  case KILN_CANCELLED:
  case KILN_DEADLINE:
  case KILN_CLOSED:
    break;
  }
  return ExitInternal;
}

Runner::~Runner() {
  kiln_session_destroy(session);
  kiln_executor_destroy(executor);
  kiln_model_close(model);
  kiln_close(artefact);
}

Failure Runner::failed(kiln_status_t status) const {
  const char *reason = kiln_session_error(session);
  return {exitCodeOf(status), *reason ? reason : kiln_status_name(status)};
}

Failure Runner::open(const Options &options) {
  double start = now();
  char reason[1024] = "";
  kiln_open_options openOptions = {};
  openOptions.struct_size = sizeof openOptions;
  openOptions.flags = options.trustWeights ? KILN_OPEN_TRUST_WEIGHTS : 0;
  openOptions.error = reason;
  openOptions.error_size = sizeof reason;
  std::vector<std::array<uint8_t, 32>> keys(options.trustedKeys.size());
  for (size_t i = 0; i != keys.size(); ++i)
    if (kiln_status_t status = kiln_public_key_read(options.trustedKeys[i].c_str(), keys[i].data(),
                                                    reason, sizeof reason))
      return {exitCodeOf(status), reason};
  openOptions.trusted_keys = keys.empty() ? nullptr : keys[0].data();
  openOptions.num_trusted_keys = uint32_t(keys.size());
  kiln_status_t status = kiln_open(options.model.c_str(), &openOptions, &artefact);
  if (status != KILN_OK)
    return {exitCodeOf(status), reason};
  kiln_model_options modelOptions = {};
  modelOptions.struct_size = sizeof modelOptions;
  modelOptions.error = reason;
  modelOptions.error_size = sizeof reason;
  std::vector<const char *> finite;
  for (const std::string &name : options.finite)
    finite.push_back(name.c_str());
  kiln_integrity_options watch = {};
  watch.struct_size = sizeof watch;
  watch.rate = options.checkWeights.starts_with("rolling")      ? KILN_CHECK_ROLLING
               : options.checkWeights.starts_with("every-run")  ? KILN_CHECK_EVERY_RUN
               : options.checkWeights.starts_with("background") ? KILN_CHECK_BACKGROUND
                                                                : KILN_CHECK_NEVER;
  watch.flags = options.checkWeights.ends_with(",keyed") ? KILN_INTEGRITY_KEYED : 0;
  watch.reload = kiln_artefact_reload;
  watch.reload_user = artefact;
  watch.finite_outputs = finite.data();
  watch.num_finite_outputs = uint32_t(finite.size());
  if (watch.rate != KILN_CHECK_NEVER || !finite.empty())
    modelOptions.integrity = &watch;
  status = kiln_model_open(kiln_artefact_api(artefact), &modelOptions, &model);
  if (status != KILN_OK)
    return {exitCodeOf(status), reason};
  modelInfo.struct_size = sizeof modelInfo;
  kiln_model_get_info(model, &modelInfo);
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i)
    inputs.push_back(spec);
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_output(model, i); ++i)
    outputs.push_back(spec);
  values.resize(inputs.size());
  given.resize(inputs.size());
  openTime = (now() - start) * 1e-6;
  return {};
}

Failure Runner::createSession(const Options &options) {
  if (options.device.starts_with("sim:"))
    findSimulator();
  char reason[512] = "";
  kiln_executor_options executorOptions = {};
  executorOptions.struct_size = sizeof executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.error = reason;
  executorOptions.error_size = sizeof reason;
  kiln_status_t status = kiln_shared_executor_create(&executorOptions, &executor);
  if (status != KILN_OK)
    return {exitCodeOf(status), reason};
  usedThreads = kiln_executor_threads(executor);
  kiln_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.device = options.device.empty() ? nullptr : options.device.c_str();
  sessionOptions.flags = (options.metrics.empty() ? 0 : KILN_SESSION_TIME_RUNS) |
                         (options.profiles() ? KILN_SESSION_PROFILE : 0) |
                         (options.twin ? KILN_SESSION_TWIN : 0);
  // The latest runs of most models.
  sessionOptions.trace_events = options.profileTrace.empty() ? 0 : 1u << 16;
  samplesMemory = !options.memoryReport.empty();
  // One thread needs no executor in its way.
  if (usedThreads == 1)
    sessionOptions.threads = 1;
  else
    sessionOptions.executor = executor;
  status = kiln_session_create(model, &sessionOptions, &session);
  if (status != KILN_OK) {
    kiln_model_error(model, reason, sizeof reason);
    return {exitCodeOf(status), reason};
  }
  return {};
}

std::pair<const char *, const char *> Runner::askForDevice() const {
  const char *name = "cpu", *why = "";
  kiln_session_get_device(session, &name, &why); // an older artefact has the CPU alone
  return {name, why};
}

kiln_pool *Runner::pool() const {
  kiln_pool *there = kiln_session_device_pool(session);
  return there ? there : kiln_session_pool(session);
}

Failure Runner::find(const std::vector<const kiln_tensor_spec *> &specs, const char *kind,
                     const std::string &name, uint32_t &index) {
  for (index = 0; index != specs.size(); ++index)
    if (name == specs[index]->name)
      return {};
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error == std::errc() && end == name.data() + name.size() && index < specs.size())
    return {};
  std::string known;
  for (const kiln_tensor_spec *spec : specs)
    known += std::string(known.empty() ? "'" : ", '") + spec->name + "'";
  return {ExitUsage, std::string("the model has no ") + kind + " '" + name +
                         "'; it has: " + (known.empty() ? "none" : known)};
}

Failure Runner::findOnce(const std::vector<const kiln_tensor_spec *> &specs, const char *kind,
                         const char *option, const std::string &name, std::set<uint32_t> &seen,
                         uint32_t &index) {
  if (Failure failure = find(specs, kind, name, index))
    return failure;
  if (!seen.insert(index).second)
    return {ExitUsage,
            std::string(option) + " is given twice for " + kind + " '" + specs[index]->name + "'"};
  return {};
}

Failure Runner::readDataSet(const std::string &directory) {
  if (access(directory.c_str(), F_OK) != 0)
    return {ExitSystem, "cannot open '" + directory + "': " + std::strerror(errno)};
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    std::string path = directory + "/input_" + std::to_string(i) + ".pb";
    // Trailing inputs with a default are left out of a data set.
    if (access(path.c_str(), F_OK) != 0)
      continue;
    HostTensor tensor;
    if (Failure failure = readTensor(path, tensor))
      return failure;
    uint32_t index = i;
    for (uint32_t other = 0; other != inputs.size(); ++other)
      if (!tensor.name.empty() && tensor.name == inputs[other]->name)
        index = other;
    values[index] = std::move(tensor);
    given[index] = true;
  }
  return {};
}

/// The size that other inputs give to a symbol, or the only one it can have.
Failure Runner::sizeOf(const kiln_dim_spec &dim, const kiln_tensor_spec &spec,
                       int64_t &size) const {
  if (dim.size >= 0) {
    size = dim.size;
    return {};
  }
  for (uint32_t i = 0; dim.symbol && i != inputs.size(); ++i) {
    if (!given[i] || values[i].shape.size() != inputs[i]->rank)
      continue;
    for (uint32_t axis = 0; axis != inputs[i]->rank; ++axis) {
      const char *symbol = inputs[i]->dims[axis].symbol;
      if (symbol && std::strcmp(symbol, dim.symbol) == 0) {
        size = values[i].shape[axis];
        return {};
      }
    }
  }
  if (dim.lo == dim.hi) {
    size = dim.lo;
    return {};
  }
  return {ExitUsage, std::string("input '") + spec.name + "' of shape " + specText(spec) + ": '" +
                         dim.text + "' has no size; give one with --shape " + spec.name + "=..."};
}

Failure Runner::makeRandom(uint32_t index, uint64_t seed, const Options &options) {
  const kiln_tensor_spec &spec = *inputs[index];
  HostTensor &tensor = values[index];
  tensor.type = spec.dtype;
  auto shape = options.shapes.find(spec.name);
  if (shape == options.shapes.end())
    shape = options.shapes.find(std::to_string(index));
  if (shape != options.shapes.end()) {
    tensor.shape = shape->second;
  } else {
    tensor.shape.resize(spec.rank);
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      if (Failure failure = sizeOf(spec.dims[axis], spec, tensor.shape[axis]))
        return failure;
  }
  if (Failure failure = tensor.allocate())
    return failure;
  fillRandom(tensor, seed + index);
  given[index] = true;
  return {};
}

Failure Runner::prepareInputs(const Options &options) {
  uint32_t index;
  std::set<uint32_t> shaped, valued;
  for (const auto &[name, shape] : options.shapes)
    if (Failure failure = findOnce(inputs, "input", "--shape", name, shaped, index))
      return failure;
  if (!options.dataSet.empty())
    if (Failure failure = readDataSet(options.dataSet))
      return failure;
  struct Random {
    uint32_t index;
    uint64_t seed;
  };
  std::vector<Random> random;
  for (const std::string &text : options.inputs) {
    size_t at = text.rfind('=');
    std::string source = text.substr(at + 1);
    if (Failure failure = findOnce(inputs, "input", "--input", text.substr(0, at), valued, index))
      return failure;
    if (source == "random" || source.starts_with("random:")) {
      uint64_t seed = 0;
      const char *begin = source.c_str() + std::min<size_t>(source.size(), 7);
      const char *end = source.c_str() + source.size();
      if (begin != end) {
        auto [stop, error] = std::from_chars(begin, end, seed);
        if (error != std::errc() || stop != end)
          return {ExitUsage, "'" + source + "': the seed is no number"};
      }
      random.push_back({index, seed});
      continue;
    }
    if (Failure failure = readTensor(source, values[index]))
      return failure;
    adoptType(values[index], inputs[index]->dtype);
    given[index] = true;
  }
  auto isRandom = [&](uint32_t i) {
    return std::any_of(random.begin(), random.end(), [&](Random r) { return r.index == i; });
  };
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    if (given[i] || isRandom(i) || (inputs[i]->flags & KILN_TENSOR_OPTIONAL))
      continue;
    if (!options.bench && !options.shapes.count(inputs[i]->name))
      return {ExitUsage, std::string("input '") + inputs[i]->name + "' (" +
                             typeName(inputs[i]->dtype) + " " + specText(*inputs[i]) +
                             ") has no value; give one with --input " + inputs[i]->name + "=..."};
    random.push_back({i, 0});
  }
  // Those with a shape of their own first: they give sizes to the others.
  auto hasShape = [&](Random r) {
    return options.shapes.count(inputs[r.index]->name) ||
           options.shapes.count(std::to_string(r.index));
  };
  for (bool withShape : {true, false})
    for (Random r : random)
      if (hasShape(r) == withShape)
        if (Failure failure = makeRandom(r.index, r.seed, options))
          return failure;

  inputViews.resize(inputs.size());
  inputPointers.resize(inputs.size());
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    inputViews[i] = values[i].view();
    inputPointers[i] = given[i] ? &inputViews[i] : nullptr;
  }
  outputViews.assign(outputs.size(), DLTensor{});
  outputPointers.resize(outputs.size());
  for (uint32_t i = 0; i != outputs.size(); ++i)
    outputPointers[i] = &outputViews[i];
  return {};
}

kiln_status_t Runner::callRun() {
  // The session's memory: no shape has to be known beforehand.
  for (DLTensor &view : outputViews)
    view.data = nullptr;
  ++profiledRuns;
  kiln_status_t status = kiln_run(session, inputPointers.data(), uint32_t(inputPointers.size()),
                                  outputPointers.data(), uint32_t(outputPointers.size()), nullptr);
  if (samplesMemory)
    sampleMemory();
  return status;
}

void Runner::sampleMemory() {
  // As many as a page can show; every other one goes when there are too many.
  constexpr size_t most = 512;
  if (samples.size() == most) {
    for (size_t i = 1; i != most / 2; ++i)
      samples[i] = samples[2 * i];
    samples.resize(most / 2);
  }
  kiln_pool_stats stats = {};
  stats.struct_size = sizeof stats;
  kiln_pool_get_stats(pool(), &stats);
  samples.push_back(stats);
}

Failure Runner::profile(LaunchProfile &profile) const {
  uint32_t count = 0;
  if (kiln_status_t status = kiln_session_profile(session, nullptr, 0, &count))
    return failed(status);
  profile.rows.resize(count);
  if (kiln_status_t status = kiln_session_profile(session, profile.rows.data(), count, &count))
    return failed(status);
  if (kiln_status_t status = kiln_session_trace(session, nullptr, 0, &count))
    return failed(status);
  profile.events.resize(count);
  if (kiln_status_t status = kiln_session_trace(session, profile.events.data(), count, &count))
    return failed(status);
  profile.runs = profiledRuns;
  profile.device = device();
  return {};
}

Failure Runner::memory(MemoryReport &report) const {
  report.model = modelInfo.name;
  report.device = device();
  report.samples = samples;
  report.plan = {};
  report.plan.struct_size = sizeof report.plan;
  if (kiln_status_t status = kiln_session_memory_plan(session, &report.plan, nullptr, 0))
    return failed(status);
  report.buffers.resize(report.plan.num_buffers);
  if (kiln_status_t status = kiln_session_memory_plan(session, &report.plan, report.buffers.data(),
                                                      report.plan.num_buffers))
    return failed(status);
  return {};
}

std::string Runner::metricsText() const {
  std::string text(kiln_model_metrics_text(model, nullptr, 0) + 1, 0);
  // It may have grown a digit meanwhile; then the last line is cut.
  kiln_model_metrics_text(model, text.data(), text.size());
  text.resize(text.find('\0'));
  return text;
}

Failure Runner::run() {
  double start = now();
  kiln_status_t status = callRun();
  if (firstRunTime == 0)
    firstRunTime = (now() - start) * 1e-6;
  return status == KILN_OK ? Failure() : failed(status);
}

Failure Runner::bench(uint64_t runs, BenchResult &result) {
  constexpr double shortest = 50e6;
  uint64_t warmUp = std::clamp<uint64_t>(runs / 10, 3, 50);
  // Clocks and caches settle within milliseconds, not within a few runs of a
  // small model.
  double start = now();
  for (uint64_t i = 0; i < warmUp || (now() - start < shortest && i < runs); ++i)
    if (kiln_status_t status = callRun())
      return failed(status);
  kiln_session_reset_profile(session); // refused where there is none
  profiledRuns = 0;
  std::vector<double> times(runs);
  double before = now();
  for (double &time : times) {
    if (kiln_status_t status = callRun())
      return failed(status);
    double after = now();
    time = after - before;
    before = after;
  }
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) {
    return times[std::min<size_t>(size_t(std::ceil(q * double(runs))), runs) - (q > 0)];
  };
  result.runs = runs;
  result.min = times.front();
  result.median = quantile(0.5);
  result.p90 = quantile(0.9);
  result.p99 = quantile(0.99);
  double sum = 0;
  for (double time : times)
    sum += time;
  result.mean = sum / double(runs);
  return {};
}

Failure Runner::output(uint32_t index, HostTensor &tensor) const {
  const DLTensor &view = outputViews[index];
  tensor.name = outputs[index]->name;
  tensor.type = view.dtype;
  tensor.shape.assign(view.shape, view.shape + view.ndim);
  if (Failure failure = tensor.allocate())
    return failure;
  if (!tensor.bytes.empty())
    std::memcpy(tensor.bytes.data(), static_cast<const char *>(view.data) + view.byte_offset,
                tensor.bytes.size());
  return {};
}

} // namespace kiln::run
