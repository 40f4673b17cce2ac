//===- LoaderSupport.h - What tests of libkiln share --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H
#define KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H

#include "TestSupport.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace kiln::test {

inline std::string artefactPath(const std::string &name) {
  return std::string(KILN_TEST_DIR) + "/" + name + ".so";
}

inline std::string readBytes(const std::string &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// A file that is gone at the end of the test.
class Scratch {
public:
  explicit Scratch(const std::string &bytes) {
    path = testing::TempDir() + "kiln-loader-test-" + std::to_string(getpid()) + ".so";
    write(bytes);
  }
  ~Scratch() { std::remove(path.c_str()); }
  void write(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string path;
};

/// Opens a TestModel and compares what it computes.
inline void expectRuns(const kiln_api *api) {
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
  ASSERT_EQ(kiln_session_create(model, nullptr, &session), KILN_OK);
  Tensor x({40, 8}), y({40, 4}), z({80, 4});
  x.fill(3);
  DLTensor late = {};
  const DLTensor *inputs[] = {&x.view};
  DLTensor *outputs[] = {&y.view, &z.view, &late};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  EXPECT_EQ(y.values, Expected(x.values).y);
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H
