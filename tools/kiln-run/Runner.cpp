//===- Runner.cpp - An open model, its inputs and its results -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runner.h"

#include "TensorFiles.h"

#include <algorithm>
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
    return ExitSystem;
  case KILN_ABI_MISMATCH:
  case KILN_CPU_UNSUPPORTED:
  case KILN_INVALID_ARTEFACT:
  case KILN_CORRUPT:
    return ExitArtefact;
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
  kiln_status_t status = kiln_open(options.model.c_str(), &openOptions, &artefact);
  if (status != KILN_OK)
    return {exitCodeOf(status), reason};
  kiln_model_options modelOptions = {};
  modelOptions.struct_size = sizeof modelOptions;
  modelOptions.error = reason;
  modelOptions.error_size = sizeof reason;
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
    return {ExitUsage, std::string(option) + " is given twice for " + kind + " '" +
                           specs[index]->name + "'"};
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
  return kiln_run(session, inputPointers.data(), uint32_t(inputPointers.size()),
                  outputPointers.data(), uint32_t(outputPointers.size()), nullptr);
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
