//===- PackRecords.cpp - Packs the built-in records -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   kiln-pack-records PACK DEVICE/RULE.json...
//
// Run when Kiln is built. A record that cannot be used stops the build.
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Records.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace kiln;
using llvm::StringRef;

static int fail(StringRef file, const llvm::Twine &what) {
  llvm::errs() << "kiln-pack-records: " << file << ": " << what << "\n";
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return fail("usage", "kiln-pack-records PACK DEVICE/RULE.json...");
  std::map<std::string, std::string> files;
  for (StringRef path : llvm::ArrayRef(argv + 2, argv + argc)) {
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return fail(path, text.getError().message());
    files[path.str()] = (*text)->getBuffer().str();
  }
  std::string pack = packRecords(files);
  RecordLibrary library(pack);
  DiagnosticEngine diags;
  for (const auto &[path, text] : files)
    library.of(llvm::sys::path::stem(path), diags);
  diags.printText(llvm::errs());
  if (!diags.all().empty())
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream os(argv[1], error);
  os << pack;
  os.close();
  return error ? fail(argv[1], error.message()) : 0;
}
