//===- SessionErrorsTest.cpp - Broken contracts: a status and a sentence each -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Model.h"
#include "TestSupport.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

using namespace kiln::test;

extern "C" const kiln_api *kiln_model_query(uint32_t abi);
extern "C" const kiln_module kiln_generated_module;

namespace {

class SessionErrors : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
    kiln_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    ASSERT_EQ(kiln_session_create(model, &options, &session), KILN_OK);
    reset();
  }
  void TearDown() override {
    // Whatever went wrong, the session still works.
    reset();
    expect(KILN_OK, "");
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
  }

  void reset() {
    xShape[0] = 4;
    xShape[1] = 8;
    x.view.shape = xShape;
    x.view.ndim = 2;
    x.view.dtype = {kDLFloat, 32, 1};
    x.view.device = {kDLCPU, 0};
    x.view.data = x.values.data();
    numInputs = 1;
    numOutputs = 3;
    inputs[0] = &x.view;
    outputs[0] = &y;
    y = z = late = {};
    runOptions = nullptr;
  }

  void expect(kiln_status_t status, const char *text) {
    EXPECT_EQ(kiln_run(session, inputs, numInputs, outputs, numOutputs, runOptions), status);
    EXPECT_STREQ(kiln_session_error(session), text);
    reset();
  }

  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  Tensor x{{64, 8}};
  int64_t xShape[3] = {4, 8, 1};
  DLTensor y = {}, z = {}, late = {};
  const DLTensor *inputs[3] = {&x.view, nullptr, nullptr};
  DLTensor *outputs[3] = {&y, &z, &late};
  uint32_t numInputs = 1, numOutputs = 3;
  const kiln_run_options *runOptions = nullptr;
};

} // namespace

TEST_F(SessionErrors, NameInputAxisExpectedAndGot) {
  xShape[1] = 7;
  expect(KILN_INVALID_SHAPE, "input 'x' axis 1: expected 8, got 7");
  xShape[0] = 65;
  expect(KILN_INVALID_SHAPE, "input 'x' axis 0: expected n of 1 to 64, got 65");
  xShape[0] = -3;
  expect(KILN_INVALID_SHAPE, "input 'x' axis 0: expected n of 1 to 64, got -3");
  x.view.ndim = 3;
  expect(KILN_INVALID_SHAPE, "input 'x': expected rank 2 [n, 8], got rank 3 [4, 8, 1]");
  x.view.ndim = -1;
  expect(KILN_INVALID_SHAPE, "input 'x': expected rank 2 [n, 8], got rank -1 ");
  x.view.shape = nullptr;
  expect(KILN_INVALID_SHAPE, "input 'x': expected rank 2 [n, 8], got rank 2 ");
  x.view.dtype = {kDLFloat, 64, 1};
  expect(KILN_INVALID_TYPE, "input 'x': expected float32, got float64");
  x.view.dtype = {kDLFloat, 32, 4};
  expect(KILN_INVALID_TYPE, "input 'x': expected float32, got float32x4");
  x.view.device = {kDLCUDA, 0};
  expect(KILN_UNSUPPORTED, "input 'x': expected CPU memory, got device type 2");
  xShape[0] = 13;
  expect(KILN_CONSTRAINT, "n must not be 13: got 13 and 13");
}

TEST_F(SessionErrors, NullPointersAndCounts) {
  inputs[0] = nullptr;
  expect(KILN_INVALID_ARGUMENT, "input 'x' is missing (input 1 of 2)");
  x.view.data = nullptr;
  expect(KILN_INVALID_ARGUMENT, "input 'x': data is NULL");
  numInputs = 0;
  expect(KILN_INVALID_ARGUMENT, "input 'x' is missing (input 1 of 2)");
  numInputs = 3;
  expect(KILN_INVALID_ARGUMENT, "expected 2 inputs, got 3");
  numOutputs = 2;
  expect(KILN_INVALID_ARGUMENT, "expected 3 outputs, got 2");
  outputs[0] = nullptr;
  expect(KILN_INVALID_ARGUMENT, "output 'y' is NULL");
  EXPECT_EQ(kiln_run(session, nullptr, 1, outputs, 3, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(kiln_session_error(session), "the array of inputs is NULL");
  EXPECT_EQ(kiln_run(session, inputs, 1, nullptr, 3, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_run(nullptr, inputs, 1, outputs, 3, nullptr), KILN_INVALID_ARGUMENT);
}

TEST_F(SessionErrors, Outputs) {
  Tensor wrong({5, 4}), right({4, 4});
  outputs[0] = &wrong.view;
  expect(KILN_INVALID_SHAPE, "output 'y' axis 0: expected 4 (n), got 5");
  int64_t strides[] = {1, 4};
  right.view.strides = strides;
  outputs[0] = &right.view;
  expect(KILN_UNSUPPORTED,
         "output 'y': its memory must be dense and row-major, its strides are not");
  right.view.strides = nullptr;
  right.view.dtype = {kDLInt, 32, 1};
  outputs[0] = &right.view;
  expect(KILN_INVALID_TYPE, "output 'y': expected float32, got int32");
  right.view.dtype = {kDLFloat, 32, 1};
  Tensor shared({8, 4});
  right.view.data = shared.values.data() + 4;
  outputs[0] = &right.view;
  z = shared.view;
  expect(KILN_INVALID_ARGUMENT, "outputs 'y' and 'z' share memory");
}

TEST_F(SessionErrors, LateOutputTooSmall) {
  for (float &value : x.values)
    value = 1;
  std::vector<int64_t> found(16);
  int64_t room = 2;
  late = x.view;
  late.dtype = {kDLInt, 64, 1};
  late.ndim = 1;
  late.shape = &room;
  late.data = found.data();
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_BUFFER_TOO_SMALL);
  EXPECT_STREQ(kiln_session_error(session),
               "output 'positive': it has 64 bytes, there is room for 16");
  room = 16;
  y = z = {};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  EXPECT_EQ(room, 8);
}

TEST_F(SessionErrors, RunOptions) {
  kiln_run_options options = {};
  options.struct_size = sizeof options;
  runOptions = &options;
  expect(KILN_OK, "");
  options.flags = KILN_RUN_ASYNC;
  runOptions = &options;
  expect(KILN_UNSUPPORTED, "KILN_RUN_ASYNC: the CPU has none");
  options.flags = 0;
  options.stream = &options;
  runOptions = &options;
  expect(KILN_UNSUPPORTED, "stream: the CPU has none");
  options.stream = nullptr;
  options.struct_size = 3;
  runOptions = &options;
  expect(KILN_INVALID_ARGUMENT, "struct_size of the options is wrong");
}

TEST_F(SessionErrors, FailedManagedRunsLeaveNothing) {
  uint64_t before = api->live_objects();
  xShape[0] = 13;
  DLManagedTensorVersioned *results[3] = {};
  EXPECT_EQ(kiln_run_managed(session, inputs, 1, results, 3, nullptr), KILN_CONSTRAINT);
  EXPECT_EQ(api->live_objects(), before);
  EXPECT_EQ(results[0], nullptr);
}

TEST_F(SessionErrors, SessionOptions) {
  auto create = [&](const kiln_session_options &options, kiln_status_t status, const char *text) {
    kiln_session *made = nullptr;
    EXPECT_EQ(kiln_session_create(model, &options, &made), status);
    EXPECT_EQ(made, nullptr);
    char reason[256] = "";
    kiln_model_error(model, reason, sizeof reason);
    EXPECT_STREQ(reason, text);
  };
  kiln_session_options options = {};
  options.struct_size = sizeof options;
  options.device = "cuda:0";
  create(options, KILN_UNSUPPORTED, "device 'cuda:0': this artefact has plans for cpu only");
  options.device = nullptr;
  options.threads = 100000;
  create(options, KILN_INVALID_ARGUMENT, "threads: expected 0 to 4096, got 100000");
  options.threads = 0;
  options.flags = 64;
  create(options, KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x40");
  options.flags = 0;
  options.stream = &options;
  create(options, KILN_UNSUPPORTED, "stream: the CPU has none");
  EXPECT_EQ(kiln_session_create(nullptr, nullptr, &session), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_session_create(model, nullptr, nullptr), KILN_INVALID_ARGUMENT);
}

TEST_F(SessionErrors, ModelsInUseStayOpen) {
  EXPECT_EQ(kiln_model_close(model), KILN_BUSY);
  EXPECT_EQ(kiln_model_close(nullptr), KILN_OK);
}

TEST(ModelChecks, RefuseDamagedTables) {
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  auto open = [&](const kiln_module &module, kiln_status_t status, const char *part) {
    char reason[256] = "";
    kiln_model_options options = {};
    options.struct_size = sizeof options;
    options.flags = KILN_MODEL_VERIFY_WEIGHTS;
    options.error = reason;
    options.error_size = sizeof reason;
    kiln_model *model = nullptr;
    EXPECT_EQ(kiln::rt::Model::open(*api, module, &options, &model), status) << reason;
    EXPECT_NE(std::strstr(reason, part), nullptr) << reason;
    EXPECT_EQ(model, nullptr);
  };
  kiln_module module = kiln_generated_module;
  module.magic = 1;
  open(module, KILN_CORRUPT, "magic");
  module = kiln_generated_module;
  module.abi_major = KILN_MODULE_ABI_MAJOR + 1;
  open(module, KILN_ABI_MISMATCH, ("module ABI " + std::to_string(module.abi_major) + ".").c_str());
  module = kiln_generated_module;
  module.run = nullptr;
  open(module, KILN_CORRUPT, "fit together");
  module = kiln_generated_module;
  module.num_input_symbols = 9;
  open(module, KILN_CORRUPT, "fit together");
  module = kiln_generated_module;
  module.features = "sse2,imaginary";
  open(module, KILN_CPU_UNSUPPORTED, "this CPU has no imaginary");
  module = kiln_generated_module;
  module.weights_size = 140;
  open(module, KILN_CORRUPT, "default of input 'bias'");
  module = kiln_generated_module;
  kiln_module_weight weights[2] = {module.weight_table[0], module.weight_table[1]};
  weights[1].crc32c ^= 1;
  module.weight_table = weights;
  open(module, KILN_CORRUPT, "weight 'bias' is damaged");
  module = kiln_generated_module;
  kiln_module_tensor inputs[2] = {module.inputs[0], module.inputs[1]};
  const kiln_module_dim expression[2] = {{-1, 1, 0, "2*n"}, {8, -1, 0, "8"}};
  inputs[0].dims = expression;
  module.inputs = inputs;
  open(module, KILN_CORRUPT, "input 'x' axis 0");
}

TEST(ModelChecks, AnotherMajorGetsNoTable) {
  EXPECT_EQ(kiln_model_query((KILN_ABI_MAJOR + 1) << 16), nullptr);
  EXPECT_NE(kiln_model_query(KILN_ABI_MAJOR << 16 | 77), nullptr);
}

TEST(ModelChecks, ShapesThatDependOnValues) {
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  kiln_module module = kiln_generated_module;
  module.reads_inputs = 1;
  module.bind = [](int64_t *symbols, const void *const *inputs, kiln_module_fault *fault) {
    auto first = int64_t(static_cast<const float *>(inputs[0])[0]);
    symbols[1] = 2 * symbols[0];
    *fault = {0, 0, first, 0};
    return int32_t(first == 0 ? KILN_MODULE_OK : KILN_MODULE_CONSTRAINT);
  };
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln::rt::Model::open(*api, module, nullptr, &model), KILN_OK);
  ASSERT_EQ(kiln_session_create(model, nullptr, &session), KILN_OK);
  Tensor x({2, 8});
  const DLTensor *inputs[] = {&x.view};
  DLTensor *none[] = {nullptr, nullptr, nullptr};
  EXPECT_EQ(kiln_output_shapes(session, inputs, 1, none, 3), KILN_OK);
  x.view.data = nullptr;
  EXPECT_EQ(kiln_output_shapes(session, inputs, 1, none, 3), KILN_CONSTRAINT);
  EXPECT_STREQ(kiln_session_error(session),
               "shapes depend on the values of an input: give the inputs' data");
  x.view.data = x.values.data();
  DLTensor y = {}, z = {}, late = {};
  DLTensor *outputs[] = {&y, &z, &late};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  x.values[0] = 5;
  y = z = late = {};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_CONSTRAINT);
  EXPECT_STREQ(kiln_session_error(session), "n must not be 13: got 5 and 0");
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}
