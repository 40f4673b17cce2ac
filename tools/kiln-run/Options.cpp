//===- Options.cpp - The command line of kiln-run -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace kiln::run {
namespace {

struct Option {
  const char *name;
  const char *argument; // null: a flag
  const char *help;
  Failure (*parse)(Options &, const std::string &value);
};

Failure badValue(const char *option, const std::string &value, const char *expected) {
  return {ExitUsage, std::string("for the --") + option + " option: '" + value +
                         "' is invalid, expected " + expected};
}

bool parseCount(const std::string &text, uint64_t limit, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= limit;
}

bool parseReal(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && std::isfinite(value) && value >= 0;
}

/// NAME=VALUE, with '=' allowed in the name but not in the value.
bool splitPair(const std::string &text, std::string &name, std::string &value) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

Failure parseTolerance(const char *option, const std::string &value, std::optional<double> &into) {
  double number;
  if (!parseReal(value, number))
    return badValue(option, value, "a number that is not negative");
  into = number;
  return {};
}

Failure parseShapeOption(Options &options, const std::string &text) {
  constexpr const char *form = "NAME=1x3x224x224 (NAME=scalar for rank 0)";
  std::string name, value;
  if (!splitPair(text, name, value))
    return badValue("shape", text, form);
  std::vector<int64_t> shape;
  for (size_t at = 0; value != "scalar" && at <= value.size();) {
    size_t end = std::min(value.find('x', at), value.size());
    uint64_t dim;
    if (!parseCount(value.substr(at, end - at), uint64_t(1) << 40, dim))
      return badValue("shape", text, form);
    shape.push_back(int64_t(dim));
    at = end + 1;
  }
  if (!options.shapes.emplace(name, shape).second)
    return {ExitUsage, "--shape is given twice for input '" + name + "'"};
  return {};
}

const Option kOptions[] = {
    {"input", "NAME=FILE.npy|FILE.pb|random[:SEED]",
     "Value of an input; an input may be given by its name or its number",
     [](Options &options, const std::string &value) -> Failure {
       std::string name, source;
       if (!splitPair(value, name, source))
         return badValue("input", value, "NAME=FILE.npy, NAME=FILE.pb or NAME=random[:SEED]");
       options.inputs.push_back(value);
       return {};
     }},
    {"shape", "NAME=1x3x224x224", "Shape of an input with random values and dynamic dimensions",
     parseShapeOption},
    {"data-set", "DIR", "Take input_<n>.pb, and compare with output_<n>.pb (ONNX test data)",
     [](Options &options, const std::string &value) -> Failure {
       options.dataSet = value;
       return {};
     }},
    {"expect", "NAME=FILE.npy|FILE.pb", "Compare an output with a file",
     [](Options &options, const std::string &value) -> Failure {
       std::string name, source;
       if (!splitPair(value, name, source))
         return badValue("expect", value, "NAME=FILE.npy or NAME=FILE.pb");
       options.expected.push_back(value);
       return {};
     }},
    {"output-dir", "DIR", "Write every output to <name>.npy there (made if need be)",
     [](Options &options, const std::string &value) -> Failure {
       options.outputDir = value;
       return {};
     }},
    {"rtol", "R", "Relative tolerance of a comparison (default 1e-3)",
     [](Options &options, const std::string &value) {
       return parseTolerance("rtol", value, options.tolerance.rtol);
     }},
    {"atol", "A", "Absolute tolerance of a comparison (default 1e-7)",
     [](Options &options, const std::string &value) {
       return parseTolerance("atol", value, options.tolerance.atol);
     }},
    {"max-ulp", "N",
     "Tolerance in units of the last place; alone, or together with --rtol and --atol",
     [](Options &options, const std::string &value) -> Failure {
       uint64_t number;
       if (!parseCount(value, UINT64_MAX, number))
         return badValue("max-ulp", value, "a whole number");
       options.tolerance.maxUlp = number;
       return {};
     }},
    {"bench", "N",
     "Run N times after a warm-up and print latencies; inputs without value are random",
     [](Options &options, const std::string &value) -> Failure {
       if (!parseCount(value, 1000000000, options.bench) || options.bench == 0)
         return badValue("bench", value, "1 to 1000000000");
       return {};
     }},
    {"threads", "N", "Threads of a run (default: all CPUs that the process may use)",
     [](Options &options, const std::string &value) -> Failure {
       uint64_t number;
       if (!parseCount(value, 4096, number))
         return badValue("threads", value, "0 to 4096");
       options.threads = uint32_t(number);
       return {};
     }},
    {"device", "D",
     "Device to run on: cpu, cuda:0, sim:sm_80; never replaced by another but with --twin",
     [](Options &options, const std::string &value) -> Failure {
       options.device = value;
       return {};
     }},
    {"twin", nullptr, "When the device fails or is not there, go on with the CPU's plan",
     [](Options &options, const std::string &) -> Failure {
       options.twin = true;
       return {};
     }},
    {"sim-report", "FILE",
     "With a simulated device: write what it found and counted (- for stdout)",
     [](Options &options, const std::string &value) -> Failure {
       options.simReport = value;
       return {};
     }},
    {"info", nullptr, "Print what the model is; runs it only if inputs are given too",
     [](Options &options, const std::string &) -> Failure {
       options.info = true;
       return {};
     }},
    {"manifest", nullptr,
     "Print what the model was made of (JSON, docs/manifest.md); runs it only if inputs are given "
     "too",
     [](Options &options, const std::string &) -> Failure {
       options.manifest = true;
       return {};
     }},
    {"trust-weights", nullptr, "Do not compare the checksums of the weights",
     [](Options &options, const std::string &) -> Failure {
       options.trustWeights = true;
       return {};
     }},
    {"require-signature", "PUBLIC.pem",
     "Open the model only if this key's owner signed it (kilnc --sign); may be repeated",
     [](Options &options, const std::string &value) -> Failure {
       options.trustedKeys.push_back(value);
       return {};
     }},
    {"check-weights", "rolling|every-run|background[,keyed]",
     "Check weights while runs go on; damaged ones are read again from the file",
     [](Options &options, const std::string &value) -> Failure {
       std::string rate = value.substr(0, value.find(','));
       if ((rate != "rolling" && rate != "every-run" && rate != "background") ||
           (value != rate && value != rate + ",keyed"))
         return badValue("check-weights", value,
                         "rolling, every-run or background, with ,keyed or without");
       options.checkWeights = value;
       return {};
     }},
    {"finite", "OUTPUT", "Fail when this output holds NaN or an infinity; may be repeated",
     [](Options &options, const std::string &value) -> Failure {
       options.finite.push_back(value);
       return {};
     }},
    {"profile", "table|json:FILE|trace:FILE",
     "Time every launch: print a table, write rows, or a trace for Perfetto; may be repeated",
     [](Options &options, const std::string &value) -> Failure {
       if (value == "table")
         options.profileTable = true;
       else if (value.starts_with("json:") && value.size() > 5)
         options.profileJson = value.substr(5);
       else if (value.starts_with("trace:") && value.size() > 6)
         options.profileTrace = value.substr(6);
       else
         return badValue("profile", value, "table, json:FILE or trace:FILE");
       return {};
     }},
    {"mem-report", "FILE.html", "Write a page on the arena's plan and the pool",
     [](Options &options, const std::string &value) -> Failure {
       options.memoryReport = value;
       return {};
     }},
    {"metrics", "FILE", "Write the metrics as Prometheus reads them ('-': standard output)",
     [](Options &options, const std::string &value) -> Failure {
       options.metrics = value;
       return {};
     }},
    {"json", "FILE", "Write all results as JSON ('-': standard output)",
     [](Options &options, const std::string &value) -> Failure {
       options.json = value;
       return {};
     }},
    {"help", nullptr, "Print this text",
     [](Options &options, const std::string &) -> Failure {
       options.help = true;
       return {};
     }},
    {"version", nullptr, "Print the version",
     [](Options &options, const std::string &) -> Failure {
       options.version = true;
       return {};
     }},
};

const Option *findOption(const std::string &name) {
  for (const Option &option : kOptions)
    if (name == option.name)
      return &option;
  return nullptr;
}

} // namespace

Failure parseOptions(int argc, char **argv, Options &options) {
  bool onlyFiles = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (onlyFiles || argument.size() < 2 || argument[0] != '-') {
      if (!options.model.empty())
        return {ExitUsage, "more than one model: '" + options.model + "' and '" + argument + "'"};
      options.model = argument;
      continue;
    }
    if (argument == "--") {
      onlyFiles = true;
      continue;
    }
    argument.erase(0, argument[1] == '-' ? 2 : 1);
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    const Option *option = findOption(name);
    if (!option)
      return {ExitUsage, "unknown option '" + std::string(argv[i]) + "'; try --help"};
    std::string value;
    if (option->argument && equals != std::string::npos)
      value = argument.substr(equals + 1);
    else if (option->argument && i + 1 == argc)
      return {ExitUsage, "for the --" + name + " option: requires a value"};
    else if (option->argument)
      value = argv[++i];
    else if (equals != std::string::npos)
      return {ExitUsage, "for the --" + name + " option: takes no value"};
    if (Failure failure = option->parse(options, value))
      return failure;
  }
  if (options.model.empty() && !options.help && !options.version)
    return {ExitUsage, "no model given; try --help"};
  return {};
}

std::string helpText() {
  std::string text = "OVERVIEW: Runs a model that kilnc has compiled\n\n"
                     "USAGE: kiln-run [options] <model.so>\n\nOPTIONS:\n\n";
  for (const Option &option : kOptions) {
    std::string head = std::string("  --") + option.name;
    if (option.argument)
      head += std::string("=<") + option.argument + ">";
    constexpr size_t column = 26;
    if (head.size() < column)
      head.resize(column, ' ');
    else
      head += "\n" + std::string(column, ' ');
    text += head + "- " + option.help + "\n";
  }
  text += "\nEXIT CODES: 0 ran, and equal where compared; 1 out of tolerance; 2 usage; 3 shape or\n"
          "type is not the model's; 4 file or system; 5 artefact rejected; 70 internal error\n";
  return text;
}

} // namespace kiln::run
