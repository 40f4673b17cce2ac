//===- TestObjects.cpp - Objects and folders for tests --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestObjects.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace kiln;

std::string test::compileIR(StringRef text) {
  static bool initialized = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(text, diagnostic, context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getMessage().str();
    return {};
  }
  module->setSourceFileName("model");
  Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  TargetOptions options;
  options.UseInitArray = true;
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64", "", options, Reloc::PIC_, CodeModel::Small));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  SmallVector<char> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
  passes.run(*module);
  return std::string(object.data(), object.size());
}

const std::string &test::modelObject() {
  static const std::string object = compileIR(R"(
    @kiln_weights = external hidden constant [0 x i8]
    declare float @expf(float)
    declare ptr @malloc(i64)
    define ptr @kiln_model_query(i32 %version) {
      ret ptr @kiln_weights
    }
    define hidden float @helper(float %x) {
      %p = call ptr @malloc(i64 8)
      store float %x, ptr %p
      %y = call float @expf(float %x)
      ret float %y
    }
    @root = hidden constant ptr @helper
    @llvm.used = appending global [1 x ptr] [ptr @root], section "llvm.metadata"
  )");
  return object;
}

LinkInputs test::modelInputs() {
  LinkInputs inputs;
  inputs.objects.push_back({modelObject(), "model"});
  inputs.soname = "model.so";
  inputs.modelSymbol = "kiln_m_model_0123abcd";
  return inputs;
}

test::TemporaryFolder::TemporaryFolder() {
  SmallString<128> made;
  if (sys::fs::createUniqueDirectory("kiln-test", made))
    ADD_FAILURE() << "no temporary folder";
  path = made.str().str();
}

test::TemporaryFolder::~TemporaryFolder() { sys::fs::remove_directories(path); }

std::vector<std::string> test::TemporaryFolder::entries() const {
  std::vector<std::string> names;
  std::error_code code;
  for (sys::fs::directory_iterator it(path, code), end; it != end && !code; it.increment(code))
    names.push_back(sys::path::filename(it->path()).str());
  llvm::sort(names);
  return names;
}

std::string test::readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    ADD_FAILURE() << path.str() << ": " << buffer.getError().message();
    return {};
  }
  return (*buffer)->getBuffer().str();
}
