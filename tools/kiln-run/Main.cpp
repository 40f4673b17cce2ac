//===- Main.cpp - kiln-run: run, compare and time a compiled model --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Json.h"
#include "Runner.h"
#include "Simulated.h"
#include "TensorFiles.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#ifndef KILN_VERSION
#define KILN_VERSION "unknown"
#endif

namespace kiln::run {
namespace {

struct Results {
  struct Output {
    HostTensor tensor;
    bool compared = false;
    Comparison comparison;
  };
  std::vector<Output> outputs;
  bool ran = false;
  bool benched = false;
  BenchResult bench;
};

std::string hex(const uint8_t *bytes, size_t size) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i != size; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

std::string rangeText(const kiln_dim_spec &dim) {
  std::string text = dim.symbol ? dim.symbol : dim.text;
  if (dim.hi == INT64_MAX)
    return text + " >= " + std::to_string(dim.lo);
  return text + " in " + std::to_string(dim.lo) + ".." + std::to_string(dim.hi);
}

void printSpecs(const char *title, const std::vector<const kiln_tensor_spec *> &specs) {
  std::printf("%s:\n", title);
  for (const kiln_tensor_spec *spec : specs) {
    std::printf("  %s: %s %s", spec->name, typeName(spec->dtype).c_str(), specText(*spec).c_str());
    for (uint32_t axis = 0; axis != spec->rank; ++axis)
      if (spec->dims[axis].symbol)
        std::printf("%s%s", axis ? ", " : "  ", rangeText(spec->dims[axis]).c_str());
    if (spec->flags & KILN_TENSOR_OPTIONAL)
      std::printf("  (optional: has a default)");
    if (spec->flags & KILN_TENSOR_LATE)
      std::printf("  (size known only after the run)");
    std::printf("\n");
  }
}

void printInfo(const Runner &runner) {
  const kiln_model_info &info = runner.info();
  std::printf("model: %s\n", info.name);
  std::printf("built by: %s, for %s\n", info.producer, info.target);
  std::printf("needs: %s\n", *info.features ? info.features : "the baseline instruction set");
  std::printf("devices: %s\n", info.devices);
  if (info.batch)
    std::printf("batch dimension: %s, %s%s\n", info.batch,
                info.separable ? "separable" : "not separable: ",
                info.batch_obstacle ? info.batch_obstacle : "");
  std::printf("steps: %u, weights: %u of %" PRIu64 " bytes\n", info.num_launches, info.num_weights,
              info.weights_size);
  std::printf("ABI: %u.%u, module %u.%u\n", info.abi >> 16, info.abi & 0xffff,
              info.module_abi >> 16, info.module_abi & 0xffff);
  std::printf("digest: %s\n", hex(info.digest, sizeof info.digest).c_str());
  std::printf("loaded from: %s\n",
              runner.sealed() ? "a sealed copy that was checked" : "its path, not sealed");
  printSpecs("inputs", runner.inputSpecs());
  printSpecs("outputs", runner.outputSpecs());
}

void printBench(const BenchResult &bench, uint32_t threads) {
  double scale = bench.median >= 1e6 ? 1e-6 : 1e-3;
  const char *unit = bench.median >= 1e6 ? "ms" : "us";
  std::printf("%" PRIu64 " runs, %u thread%s: min %.3f %s, median %.3f, p90 %.3f, p99 %.3f, "
              "mean %.3f\n",
              bench.runs, threads, threads == 1 ? "" : "s", bench.min * scale, unit,
              bench.median * scale, bench.p90 * scale, bench.p99 * scale, bench.mean * scale);
}

void printOutput(const HostTensor &tensor) {
  std::printf("output '%s': %s %s", tensor.name.c_str(), typeName(tensor.type).c_str(),
              shapeText(tensor.shape).c_str());
  constexpr uint64_t shown = 8;
  for (uint64_t i = 0; i < tensor.numElements() && i != shown; ++i)
    std::printf("%s%.6g", i ? ", " : " = ", tensor.valueAt(i));
  std::printf("%s\n", tensor.numElements() > shown ? ", ..." : "");
}

/// A name of an ONNX value as the name of a file.
std::string fileName(const std::string &name) {
  std::string file = name;
  for (char &c : file)
    if (c == '/' || c == '\\' || c == ':' || uint8_t(c) < 0x20)
      c = '_';
  return file.empty() || file[0] == '.' ? "_" + file : file;
}

Failure writeOutputs(const Results &results, const std::string &directory) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    return {ExitSystem, "cannot make '" + directory + "': " + std::strerror(errno)};
  for (const Results::Output &output : results.outputs) {
    std::string path = directory + "/" + fileName(output.tensor.name) + ".npy";
    if (Failure failure = writeFile(path, formatNpy(output.tensor)))
      return failure;
  }
  return {};
}

void compareWith(Results::Output &output, HostTensor &expected, const Tolerance &tolerance) {
  adoptType(expected, output.tensor.type);
  output.comparison = compare(output.tensor, expected, tolerance);
  output.compared = true;
}

Failure compareOutputs(const Runner &runner, const Options &options, Results &results) {
  for (uint32_t i = 0; !options.dataSet.empty() && i != results.outputs.size(); ++i) {
    std::string path = options.dataSet + "/output_" + std::to_string(i) + ".pb";
    if (access(path.c_str(), F_OK) != 0)
      return {ExitSystem, "cannot open '" + path + "': " + std::strerror(errno)};
    HostTensor expected;
    if (Failure failure = readTensor(path, expected))
      return failure;
    compareWith(results.outputs[i], expected, options.tolerance);
  }
  std::set<uint32_t> seen;
  for (const std::string &text : options.expected) {
    size_t at = text.rfind('=');
    uint32_t index;
    if (Failure failure = Runner::findOnce(runner.outputSpecs(), "output", "--expect",
                                           text.substr(0, at), seen, index))
      return failure;
    HostTensor expected;
    if (Failure failure = readTensor(text.substr(at + 1), expected))
      return failure;
    compareWith(results.outputs[index], expected, options.tolerance);
  }
  return {};
}

void writeSpecs(JsonWriter &json, const std::vector<const kiln_tensor_spec *> &specs) {
  json.beginArray();
  for (const kiln_tensor_spec *spec : specs) {
    json.beginObject().key("name").value(spec->name);
    json.key("type").value(typeName(spec->dtype));
    json.key("dims").beginArray();
    for (uint32_t axis = 0; axis != spec->rank; ++axis) {
      const kiln_dim_spec &dim = spec->dims[axis];
      json.beginObject().key("text").value(dim.text).key("size").value(dim.size);
      json.key("lo").value(dim.lo).key("hi").value(dim.hi);
      if (dim.symbol)
        json.key("symbol").value(dim.symbol);
      json.endObject();
    }
    json.endArray();
    json.key("optional").value(bool(spec->flags & KILN_TENSOR_OPTIONAL));
    json.key("late").value(bool(spec->flags & KILN_TENSOR_LATE)).endObject();
  }
  json.endArray();
}

void writeComparison(JsonWriter &json, const Comparison &comparison) {
  json.key("accepted").value(comparison.accepted());
  if (!comparison.mismatch.empty()) {
    json.key("mismatch").value(comparison.mismatch);
    return;
  }
  json.key("rejected").value(comparison.rejected).key("elements").value(comparison.elements);
  json.key("max_abs").value(comparison.maxAbs).key("max_rel").value(comparison.maxRel);
  json.key("max_scaled").value(comparison.maxScaled).key("max_ulp").value(comparison.maxUlp);
  json.key("worst_index").value(comparison.worstIndex);
  json.key("worst_got").value(comparison.worstGot);
  json.key("worst_expected").value(comparison.worstExpected);
  json.key("ulp_histogram").beginArray();
  for (uint64_t count : comparison.histogram)
    json.value(count);
  json.endArray();
}

std::string toJson(const Runner &runner, const Options &options, const Results &results,
                   int exitCode) {
  const kiln_model_info &info = runner.info();
  JsonWriter json;
  json.beginObject().key("format").value("kiln-run 1.0").key("exit_code").value(exitCode);
  json.key("model").beginObject().key("file").value(options.model).key("name").value(info.name);
  json.key("producer").value(info.producer).key("target").value(info.target);
  json.key("features").value(info.features).key("devices").value(info.devices);
  if (info.batch)
    json.key("batch").value(info.batch).key("separable").value(info.separable != 0);
  if (info.batch_obstacle)
    json.key("batch_obstacle").value(info.batch_obstacle);
  json.key("digest").value(hex(info.digest, sizeof info.digest));
  json.key("launches").value(info.num_launches).key("weights_bytes").value(info.weights_size);
  json.key("sealed").value(runner.sealed());
  json.key("inputs");
  writeSpecs(json, runner.inputSpecs());
  json.key("outputs");
  writeSpecs(json, runner.outputSpecs());
  json.endObject();
  json.key("open_ms").value(runner.openMilliseconds());
  if (results.ran) {
    json.key("device").value(runner.device()).key("device_reason").value(runner.deviceReason());
    json.key("threads").value(runner.threads());
    json.key("first_run_ms").value(runner.firstRunMilliseconds());
    json.key("outputs").beginArray();
    for (const Results::Output &output : results.outputs) {
      json.beginObject().key("name").value(output.tensor.name);
      json.key("type").value(typeName(output.tensor.type)).key("shape").value(output.tensor.shape);
      if (output.compared)
        writeComparison(json, output.comparison);
      json.endObject();
    }
    json.endArray();
  }
  if (results.benched) {
    const BenchResult &bench = results.bench;
    json.key("bench").beginObject().key("runs").value(bench.runs);
    json.key("min_ns").value(bench.min).key("median_ns").value(bench.median);
    json.key("mean_ns").value(bench.mean).key("p90_ns").value(bench.p90);
    json.key("p99_ns").value(bench.p99).endObject();
  }
  json.endObject();
  return json.text() + "\n";
}

Failure writeReports(const Runner &runner, const Options &options, bool quiet) {
  LaunchProfile profile;
  if (options.profiles())
    if (Failure failure = runner.profile(profile))
      return failure;
  if (options.profileTable)
    std::fputs(profileTable(profile).c_str(), quiet ? stderr : stdout);
  struct File {
    const std::string &path;
    std::string text;
  };
  std::vector<File> files;
  const char *name = runner.info().name;
  if (!options.profileJson.empty())
    files.push_back({options.profileJson, profileJson(profile, name)});
  if (!options.profileTrace.empty())
    files.push_back({options.profileTrace, chromeTrace(profile, name)});
  if (!options.metrics.empty())
    files.push_back({options.metrics, runner.metricsText()});
  if (!options.memoryReport.empty()) {
    MemoryReport report;
    if (Failure failure = runner.memory(report))
      return failure;
    files.push_back({options.memoryReport, memoryPage(report)});
  }
  for (const File &file : files) {
    if (file.path == "-")
      std::fputs(file.text.c_str(), stdout);
    else if (Failure failure = writeFile(file.path, file.text))
      return failure;
  }
  return {};
}

Failure runModel(Runner &runner, const Options &options, Results &results, bool quiet) {
  if (Failure failure = runner.createSession(options))
    return failure;
  if (Failure failure = runner.prepareInputs(options))
    return failure;
  if (Failure failure = runner.run())
    return failure;
  results.ran = true;
  if (options.twin && runner.device() == "cpu" && options.device != "cpu")
    std::fprintf(stderr, "kiln-run: note: the CPU runs it: %s\n", runner.deviceReason().c_str());
  results.outputs.resize(runner.outputSpecs().size());
  for (uint32_t i = 0; i != results.outputs.size(); ++i)
    if (Failure failure = runner.output(i, results.outputs[i].tensor))
      return failure;
  if (!options.outputDir.empty())
    if (Failure failure = writeOutputs(results, options.outputDir))
      return failure;
  if (Failure failure = compareOutputs(runner, options, results))
    return failure;
  if (options.bench) {
    if (Failure failure = runner.bench(options.bench, results.bench))
      return failure;
    results.benched = true;
  }
  if (quiet)
    return writeReports(runner, options, quiet);
  for (const Results::Output &output : results.outputs) {
    if (output.compared)
      std::fputs(describe(output.comparison, output.tensor.name, output.tensor.type).c_str(),
                 stdout);
    else if (!options.bench)
      printOutput(output.tensor);
  }
  if (options.bench)
    printBench(results.bench, runner.threads());
  return writeReports(runner, options, quiet);
}

int report(const Failure &failure) {
  std::fprintf(stderr, "kiln-run: error: %s\n", failure.message.c_str());
  if (failure.exitCode == ExitInternal)
    std::fprintf(stderr, "kiln-run: this is a fault in Kiln; please report it\n");
  return failure.exitCode;
}

int runProgram(int argc, char **argv) {
  Options options;
  if (Failure failure = parseOptions(argc, argv, options))
    return report(failure);
  if (options.help) {
    std::fputs(helpText().c_str(), stdout);
    return ExitEqual;
  }
  if (options.version) {
    std::printf("kiln-run %s\n", KILN_VERSION);
    return ExitEqual;
  }
  Runner runner;
  if (Failure failure = runner.open(options))
    return report(failure);
  // Standard output is the JSON's alone when that goes there.
  bool quiet = options.json == "-";
  if (options.info && !quiet)
    printInfo(runner);
  Results results;
  if (options.manifest && !quiet)
    std::printf("%s\n", indentJson(runner.info().manifest).c_str());
  bool wantsRun = (!options.info && !options.manifest) || options.bench ||
                  !options.inputs.empty() || !options.dataSet.empty() || !options.shapes.empty();
  if (wantsRun)
    if (Failure failure = runModel(runner, options, results, quiet)) {
      std::fputs(simulatorFindings() ? simulatorReport().c_str() : "", stderr);
      return report(failure);
    }
  if (options.simReport == "-")
    std::fputs(simulatorReport().c_str(), stdout);
  else if (!options.simReport.empty())
    if (Failure failure = writeFile(options.simReport, simulatorReport()))
      return report(failure);
  int exitCode = ExitEqual;
  if (size_t count = simulatorFindings()) {
    std::fprintf(stderr, "kiln-run: the simulator found %zu fault%s:\n%s\n", count,
                 count == 1 ? "" : "s", simulatorReport().c_str());
    exitCode = ExitDifferent;
  }
  for (const Results::Output &output : results.outputs)
    if (output.compared && !output.comparison.accepted())
      exitCode = ExitDifferent;
  if (!options.json.empty()) {
    std::string text = toJson(runner, options, results, exitCode);
    if (quiet)
      std::fputs(text.c_str(), stdout);
    else if (Failure failure = writeFile(options.json, text))
      return report(failure);
  }
  if (std::fflush(stdout) != 0)
    return report(
        {ExitSystem, std::string("cannot write to standard output: ") + std::strerror(errno)});
  return exitCode;
}

} // namespace
} // namespace kiln::run

int main(int argc, char **argv) { return kiln::run::runProgram(argc, argv); }
