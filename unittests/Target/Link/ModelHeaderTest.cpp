//===- ModelHeaderTest.cpp - Names of a model -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/ModelHeader.h"
#include "TestObjects.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace kiln;
using namespace kiln::test;
using ::testing::HasSubstr;

static ModelHeaderInfo magika() {
  ModelHeaderInfo info;
  info.name = "magika";
  info.digest = "0123ABCDef";
  info.producer = "kiln 0.1.0";
  info.inputs = {{"bytes", "int32_t", "int32", {{-1, "batch"}, {2048, ""}}}};
  info.outputs = {{"target.label", "float", "float32", {{2, ""}, {214, "214"}}}};
  return info;
}

TEST(ModelHeader, identifiers) {
  EXPECT_EQ(sanitizeIdentifier("input.1"), "input_1");
  EXPECT_EQ(sanitizeIdentifier("a//b::c"), "a_b_c");
  EXPECT_EQ(sanitizeIdentifier("__x__"), "x");
  EXPECT_EQ(sanitizeIdentifier("3d conv"), "n3d_conv");
  EXPECT_EQ(sanitizeIdentifier("\xe6\x97\xa5"), "unnamed");
  EXPECT_EQ(modelSymbolName("my model", "0123ABCDef"), "kiln_m_my_model_0123abcd");
}

TEST(ModelHeader, names_and_dims) {
  std::string text = writeModelHeader(magika());
  EXPECT_THAT(text, HasSubstr("const kiln_api *kiln_m_magika_0123abcd(uint32_t version);"));
  EXPECT_THAT(text, HasSubstr("  /* \"bytes\": int32 [batch, 2048] */\n  MAGIKA_INPUT_BYTES = 0,"));
  EXPECT_THAT(text, HasSubstr("#define MAGIKA_DIM1_INPUT_BYTES 2048\n"));
  EXPECT_THAT(text, HasSubstr("#define MAGIKA_ELEMENTS_OUTPUT_TARGET_LABEL 428\n"));
  EXPECT_EQ(text.find("DIM0_INPUT_BYTES"), std::string::npos);
  EXPECT_EQ(text.find("ELEMENTS_INPUT_BYTES"), std::string::npos);
}

TEST(ModelHeader, compiles_with_a_namesake_in_c_and_cxx) {
  auto compiler = sys::findProgramByName("clang-22");
  if (!compiler)
    compiler = sys::findProgramByName("cc");
  if (!compiler)
    GTEST_SKIP() << "no C compiler";
  TemporaryFolder folder;
  ModelHeaderInfo odd;
  odd.name = "magika";
  odd.digest = "99999999";
  odd.producer = "*/ #error";
  odd.inputs = {{"a.b", "float", "float32", {{-1, "*/"}}},
                {"a b", "float", "float32", {}},
                {"a_b_2", "float", "float32", {}},
                {"\"\n\\?\?/", "uint8_t", "bool", {{int64_t(1) << 40, ""}, {int64_t(1) << 40, ""}}},
                {"*/", "uint16_t", "float16", {{0, ""}}}};
  ModelHeaderInfo other = odd;
  other.name = "2nd \xc3\xa4 model";
  cantFail(errorCodeToError(sys::fs::create_directory(folder / "kiln-c")));
  cantFail(writeFileAtomically(folder / "kiln-c/Runtime.h", "#include <stdint.h>\n"
                                                            "#define KILN_ABI_VERSION 1u\n"
                                                            "typedef struct kiln_api kiln_api;\n"));
  cantFail(writeFileAtomically(folder / "one.h", writeModelHeader(magika())));
  cantFail(writeFileAtomically(folder / "two.h", writeModelHeader(odd)));
  cantFail(writeFileAtomically(folder / "three.h", writeModelHeader(other)));
  std::string program =
      "#include \"one.h\"\n#include \"two.h\"\n#include \"three.h\"\n"
      "#include \"one.h\"\n"
      "int x[MAGIKA_NUM_INPUTS == 1 && MAGIKA_99999999_NUM_INPUTS == 5 &&\n"
      "      N2ND_MODEL_INPUT_A_B_2_2 == 2 && N2ND_MODEL_INPUT_A_B_2 == 1 ? 1 : -1];\n"
      "const void *f(void) { return magika_model_query(); }\n"
      "const char *g(void) { return MAGIKA_99999999_NAME_INPUT_UNNAMED; }\n";
  for (auto [name, standard] :
       {std::pair("main.c", "-std=c11"), std::pair("main.cpp", "-std=c++17")}) {
    std::string source = folder / name, include = "-I" + folder.path, errors = folder / "errors";
    cantFail(writeFileAtomically(source, program));
    std::optional<StringRef> redirects[] = {std::nullopt, std::nullopt, StringRef(errors)};
    int status = sys::ExecuteAndWait(*compiler,
                                     {*compiler, standard, "-Wall", "-Wextra", "-Wpedantic",
                                      "-Werror", "-fsyntax-only", include, source},
                                     std::nullopt, redirects);
    EXPECT_EQ(status, 0) << readFile(errors);
  }
}
