//===- LinkTest.cpp - Objects to a library --------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestObjects.h"
#include "kiln/Target/Link/Artefact.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <sys/stat.h>
#include <thread>

using namespace llvm;
using namespace kiln;
using namespace kiln::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Elf = object::ELF64LE;

static std::string linkText(const LinkInputs &inputs) {
  Expected<std::string> linked = linkShared(inputs);
  if (linked)
    return *linked;
  ADD_FAILURE() << toString(linked.takeError());
  return {};
}

static std::string linkError(StringRef ir) {
  std::string object = compileIR(ir);
  LinkInputs inputs = modelInputs();
  inputs.objects.push_back({object, "extra"});
  Expected<std::string> linked = linkShared(inputs);
  return linked ? "linked" : toString(linked.takeError());
}

static std::vector<std::string> exportsOf(StringRef image) {
  object::ELFFile<Elf> file = cantFail(object::ELFFile<Elf>::create(image));
  std::vector<std::string> names;
  for (const Elf::Shdr &section : cantFail(file.sections())) {
    if (section.sh_type != ELF::SHT_DYNSYM)
      continue;
    StringRef strings = cantFail(file.getStringTableForSymtab(section));
    for (const Elf::Sym &symbol : cantFail(file.symbols(&section)))
      if (symbol.isDefined() && symbol.getBinding() != ELF::STB_LOCAL)
        names.push_back(cantFail(symbol.getName(strings)).str());
  }
  llvm::sort(names);
  return names;
}

TEST(Link, needs_libc_and_libm_only) {
  std::string image = linkText(modelInputs());
  object::ELFFile<Elf> file = cantFail(object::ELFFile<Elf>::create(image));
  auto object = cantFail(object::ObjectFile::createELFObjectFile(MemoryBufferRef(image, "so")));
  std::vector<std::string> needed, versions;
  StringRef strings;
  for (const Elf::Shdr &section : cantFail(file.sections()))
    if (cantFail(file.getSectionName(section)) == ".dynstr")
      strings = cantFail(file.getStringTable(section));
  for (const Elf::Dyn &entry : cantFail(file.dynamicEntries())) {
    if (entry.getTag() == ELF::DT_NEEDED)
      needed.push_back(strings.drop_front(entry.getVal()).data());
    EXPECT_FALSE(is_contained({ELF::DT_INIT, ELF::DT_FINI, ELF::DT_INIT_ARRAY, ELF::DT_FINI_ARRAY},
                              static_cast<int>(entry.getTag())));
  }
  EXPECT_THAT(needed, ElementsAre("libc.so.6", "libm.so.6"));
  for (const Elf::Phdr &segment : cantFail(file.program_headers()))
    EXPECT_NE(segment.p_type, ELF::PT_TLS);
  for (const Elf::Shdr &section : cantFail(file.sections()))
    if (section.sh_type == ELF::SHT_GNU_verneed)
      for (const object::VerNeed &need : cantFail(file.getVersionDependencies(section)))
        for (const object::VernAux &entry : need.AuxV)
          versions.push_back(need.File.c_str() + std::string(" ") + entry.Name.c_str());
  // What the symbols mean on every glibc from 2.34 on, whatever this machine has.
  EXPECT_THAT(versions, ElementsAre("libc.so.6 GLIBC_2.2.5", "libm.so.6 GLIBC_2.27"));
}

TEST(Link, exports_the_query_functions_only) {
  EXPECT_THAT(exportsOf(linkText(modelInputs())),
              ElementsAre("kiln_m_model_0123abcd", "kiln_model_query"));
  LinkInputs inputs = modelInputs();
  inputs.modelSymbol.clear();
  EXPECT_THAT(exportsOf(linkText(inputs)), ElementsAre("kiln_model_query"));
}

TEST(Link, same_inputs_give_same_bytes) {
  LinkInputs inputs = modelInputs();
  std::string first = linkText(inputs);
  TemporaryFolder folder;
  SmallString<128> before;
  ASSERT_FALSE(sys::fs::current_path(before));
  ASSERT_FALSE(sys::fs::set_current_path(folder.path));
  EXPECT_EQ(linkText(inputs), first);
  ASSERT_FALSE(sys::fs::set_current_path(before));
  inputs.buildId = "0123456789abcdef";
  std::string other = linkText(inputs);
  EXPECT_NE(other, first);
  EXPECT_EQ(linkText(inputs), other);
}

TEST(Link, several_threads_may_link) {
  std::string first = linkText(modelInputs());
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::string &result : results)
    threads.emplace_back([&result] { result = linkText(modelInputs()); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, first);
}

TEST(Link, loads_and_runs_under_both_names) {
  TemporaryFolder folder;
  std::string path = folder / "model.so";
  ASSERT_EQ(toString(writeArtefact(path, linkText(modelInputs()), {})), "");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_LT(status.st_size, 32 << 10);
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << ::dlerror();
  auto *query = reinterpret_cast<const char *(*)(uint32_t)>(::dlsym(handle, "kiln_model_query"));
  ASSERT_TRUE(query);
  EXPECT_EQ(::dlsym(handle, "kiln_m_model_0123abcd"), reinterpret_cast<void *>(query));
  EXPECT_EQ(*query(1), 0);
  ::dlclose(handle);
}

TEST(Link, undefined_symbol_names_the_object) {
  std::string text = linkError("declare void @nowhere()\n"
                               "define void @caller() { call void @nowhere() ret void }\n"
                               "@keep = constant ptr @caller\n"
                               "@llvm.used = appending global [1 x ptr] [ptr @keep]\n");
  EXPECT_THAT(text, HasSubstr("undefined symbol: nowhere"));
  EXPECT_THAT(text, HasSubstr("extra:(caller)"));
  EXPECT_EQ(text.find("/proc/self"), std::string::npos) << text;
}

TEST(Link, all_errors_are_reported) {
  std::string ir;
  for (int i = 0; i != 40; ++i) {
    std::string n = std::to_string(i);
    ir += "declare void @missing" + n + "()\ndefine void @f" + n + "() { call void @missing" + n +
          "() ret void }\n@k" + n + " = constant ptr @f" + n + "\n";
  }
  ir += "@llvm.used = appending global [2 x ptr] [ptr @k0, ptr @k39]\n";
  std::string text = linkError(ir);
  EXPECT_THAT(text, HasSubstr("undefined symbol: missing0\n"));
  EXPECT_THAT(text, HasSubstr("undefined symbol: missing39\n"));
}

TEST(Link, duplicate_definition_is_an_error) {
  std::string text = linkError("define ptr @kiln_model_query(i32 %v) { ret ptr null }");
  EXPECT_THAT(text, HasSubstr("duplicate symbol: kiln_model_query"));
}

TEST(Link, hidden_declaration_of_the_query_is_caught) {
  std::string text =
      linkError("declare hidden ptr @kiln_model_query(i32)\n"
                "define ptr @f() { %p = call ptr @kiln_model_query(i32 1) ret ptr %p "
                "}\n@k = hidden constant ptr @f\n"
                "@llvm.used = appending global [1 x ptr] [ptr @k]\n");
  EXPECT_THAT(text, HasSubstr("does not export 'kiln_model_query'"));
}

TEST(Link, constructors_and_thread_locals_are_refused) {
  EXPECT_THAT(linkError("define internal void @f() { ret void }\n@llvm.global_ctors = appending "
                        "global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr "
                        "null }]"),
              HasSubstr("has constructors"));
  EXPECT_THAT(linkError("@t = hidden thread_local(localdynamic) global i32 1\n"
                        "@llvm.used = appending global [1 x ptr] [ptr @t]\n"),
              HasSubstr("has thread-local storage"));
}

TEST(Link, garbage_is_refused) {
  LinkInputs inputs = modelInputs();
  inputs.objects.push_back({"not an object", "extra"});
  Expected<std::string> linked = linkShared(inputs);
  ASSERT_FALSE(linked);
  EXPECT_EQ(toString(linked.takeError()), "cannot link: 'extra' is not an object file");
  // An error does not spoil the next link.
  EXPECT_FALSE(linkText(modelInputs()).empty());
}

TEST(Link, relocatable_keeps_the_model_symbol_only) {
  Expected<std::string> linked = linkRelocatable(modelInputs());
  ASSERT_TRUE(bool(linked)) << toString(linked.takeError());
  auto object = cantFail(object::ObjectFile::createELFObjectFile(MemoryBufferRef(*linked, "o")));
  std::vector<std::string> defined, undefined;
  for (const object::SymbolRef &symbol : object->symbols()) {
    uint32_t flags = cantFail(symbol.getFlags());
    if (flags & object::SymbolRef::SF_Undefined)
      undefined.push_back(cantFail(symbol.getName()).str());
    else if (flags & object::SymbolRef::SF_Global)
      defined.push_back(cantFail(symbol.getName()).str());
  }
  llvm::sort(undefined);
  EXPECT_THAT(defined, ElementsAre("kiln_m_model_0123abcd"));
  EXPECT_THAT(undefined, ElementsAre("expf", "malloc"));
}

TEST(Link, relocatable_refuses_what_no_program_has) {
  std::string object = compileIR("declare void @nowhere()\n"
                                 "define hidden void @caller() { call void @nowhere() ret void }");
  LinkInputs inputs = modelInputs();
  inputs.objects.push_back({object, "extra"});
  Expected<std::string> linked = linkRelocatable(inputs);
  ASSERT_FALSE(linked);
  EXPECT_THAT(toString(linked.takeError()), HasSubstr("undefined symbol: nowhere"));
}
