//===- Record.cpp - What an executor without a plan would ask for ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Record.h"

#include "kiln-c/Loader.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace bench {

void fail(const std::string &text) {
  std::fprintf(stderr, "pool-bench: %s\n", text.c_str());
  std::exit(1);
}

namespace {

struct Shape {
  std::string input;
  std::vector<int64_t> dims;
};

std::vector<Shape> parseShapes(const std::string &text) {
  std::vector<Shape> shapes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t equals = part.find('=');
    if (equals == std::string::npos)
      fail("'" + part + "': expected INPUT=1x17");
    Shape shape = {part.substr(0, equals), {}};
    std::istringstream dims(part.substr(equals + 1));
    for (std::string dim; std::getline(dims, dim, 'x');)
      shape.dims.push_back(std::stoll(dim));
    shapes.push_back(shape);
  }
  return shapes;
}

} // namespace

void record(const char *path, int count, char **lines) {
  kiln_artefact *artefact;
  kiln_model *model;
  kiln_session *session;
  if (kiln_open(path, nullptr, &artefact) != KILN_OK ||
      kiln_model_open(kiln_artefact_api(artefact), nullptr, &model) != KILN_OK ||
      kiln_session_create(model, nullptr, &session) != KILN_OK)
    fail(std::string("cannot open ") + path);
  uint32_t base = 0;
  for (int line = 0; line != count; ++line) {
    std::vector<Shape> shapes = parseShapes(lines[line]);
    std::vector<std::vector<uint8_t>> data;
    std::vector<DLTensor> tensors;
    std::vector<const DLTensor *> inputs;
    for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i) {
      auto shape = std::find_if(shapes.begin(), shapes.end(),
                                [&](const Shape &s) { return s.input == spec->name; });
      if (shape == shapes.end())
        fail(std::string("no shape for input ") + spec->name);
      uint64_t bytes = spec->dtype.bits / 8;
      for (int64_t dim : shape->dims)
        bytes *= uint64_t(dim);
      data.emplace_back(bytes);
      DLTensor tensor = {};
      tensor.data = data.back().data();
      tensor.device = {kDLCPU, 0};
      tensor.dtype = spec->dtype;
      tensor.ndim = int32_t(shape->dims.size());
      tensor.shape = shape->dims.data();
      tensors.push_back(tensor);
    }
    for (const DLTensor &tensor : tensors)
      inputs.push_back(&tensor);
    kiln_model_info info = {};
    info.struct_size = sizeof info;
    kiln_model_get_info(model, &info);
    std::vector<DLTensor> results(info.num_outputs);
    std::vector<DLTensor *> outputs;
    for (DLTensor &result : results)
      outputs.push_back(&result);
    if (kiln_run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(), info.num_outputs,
                 nullptr) != KILN_OK)
      fail(kiln_session_error(session));
    kiln_memory_plan plan = {};
    plan.struct_size = sizeof plan;
    kiln_session_memory_plan(session, &plan, nullptr, 0);
    std::vector<kiln_plan_buffer> buffers(plan.num_buffers);
    kiln_session_memory_plan(session, &plan, buffers.data(), plan.num_buffers);
    for (uint32_t launch = 0; launch <= plan.num_launches; ++launch) {
      for (uint32_t i = 0; i != buffers.size(); ++i)
        if (buffers[i].bytes && buffers[i].first == launch)
          std::printf("%u %" PRIu64 "\n", base + i, buffers[i].bytes);
      for (uint32_t i = 0; i != buffers.size(); ++i)
        if (buffers[i].bytes && buffers[i].last == launch)
          std::printf("%u 0\n", base + i);
    }
    base += uint32_t(buffers.size());
  }
  kiln_session_destroy(session);
  kiln_model_close(model);
  kiln_close(artefact);
}

} // namespace bench
