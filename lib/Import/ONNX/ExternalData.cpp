//===- ExternalData.cpp - Tensors that lie beside the model ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model is untrusted input: it must not make the compiler read files outside
// its own directory into an artefact. The text of the location is checked before
// anything on disk is touched, then the real path, symlinks resolved.
//
//===----------------------------------------------------------------------===//
#include "ExternalData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <climits>
#include <cstdlib>

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;

static std::string parentOf(StringRef path) {
  size_t slash = path.rfind('/');
  if (slash == StringRef::npos)
    return ".";
  return slash == 0 ? "/" : path.take_front(slash).str();
}

static std::string realPathOf(const std::string &path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? std::string(buffer) : std::string();
}

static bool isBelow(StringRef path, StringRef root) {
  if (root.empty() || !path.consume_front(root))
    return false;
  return root == "/" || path.starts_with("/");
}

ExternalData::ExternalData(StringRef modelPath, DiagnosticEngine &diags)
    : diags(diags), directory(parentOf(modelPath)), modelPath(modelPath.str()) {}

/// What is wrong with the text of a location, or "".
static const char *faultOf(StringRef location) {
  if (location.contains('\0'))
    return "holds a zero byte";
  if (location.starts_with("/"))
    return "is absolute; it must be relative to the model";
  llvm::SmallVector<StringRef> parts;
  location.split(parts, '/');
  if (llvm::is_contained(parts, ".."))
    return "leaves the model's directory ('..')";
  return "";
}

std::shared_ptr<const MappedFile> ExternalData::open(StringRef location, StringRef what) {
  auto [it, isNew] = files.try_emplace(location);
  if (!isNew)
    return it->second;
  std::string shown = printable(location);
  if (const char *fault = faultOf(location); *fault) {
    diags.report(Diag::ExternalDataEscapes, what, shown, fault);
    return nullptr;
  }
  if (roots.empty()) {
    roots.push_back(realPathOf(directory));
    // Caches of model hubs keep all files of a model in one directory of blobs
    // and link to them: the data may also be where the model itself really is.
    std::string real = realPathOf(modelPath);
    if (!real.empty())
      roots.push_back(parentOf(real));
  }
  std::string path = directory + "/" + location.str();
  std::string real = realPathOf(path);
  if (!real.empty() && llvm::none_of(roots, [&](StringRef root) { return isBelow(real, root); })) {
    diags.report(Diag::ExternalDataEscapes, what, shown,
                 "leads out of the model's directory through a symbolic link");
    return nullptr;
  }
  MappedFile::Failure failure;
  auto file = MappedFile::open(real.empty() ? path : real, failure);
  switch (failure.kind) {
  case MappedFile::Failure::None:
    break;
  case MappedFile::Failure::NotFound:
    diags.report(Diag::ExternalDataMissing, what, shown, "does not exist")
        .note("looked for " + printable(path, 4096));
    break;
  case MappedFile::Failure::NotRegular:
    diags.report(Diag::ExternalDataMissing, what, shown,
                 "is " + failure.text + ", not a regular file");
    break;
  case MappedFile::Failure::System:
    diags.report(Diag::ExternalDataMissing, what, shown, "cannot be read: " + failure.text);
    break;
  }
  return it->second = file;
}

ExternalData::Range ExternalData::find(llvm::ArrayRef<std::pair<std::string, std::string>> entries,
                                       uint64_t size, StringRef what) {
  auto bad = [&](const std::string &text) {
    diags.report(Diag::BadExternalData, what, text);
    return Range();
  };
  StringRef location;
  uint64_t offset = 0, length = size;
  llvm::SmallVector<StringRef> seen;
  for (const auto &[key, value] : entries) {
    if (llvm::is_contained(seen, StringRef(key)))
      return bad("external data gives '" + printable(key) + "' twice");
    seen.push_back(key);
    if (key == "location") {
      location = value;
    } else if (key == "offset" || key == "length") {
      uint64_t &number = key == "offset" ? offset : length;
      // getAsInteger would take signs of other bases: only digits are meant.
      if (value.empty() || !llvm::all_of(value, llvm::isDigit) ||
          StringRef(value).getAsInteger(10, number))
        return bad("external data " + key + " '" + printable(value) + "' is not a number of bytes");
    }
  }
  if (location.empty())
    return bad("external data has no location");
  auto file = open(location, what);
  if (!file)
    return {};
  if (length != size) {
    diags.report(Diag::WrongDataLength, what, size, "external data", length);
    return {};
  }
  if (offset > file->size() || length > file->size() - offset) {
    diags.report(Diag::ExternalDataTruncated, what, offset, length, printable(location),
                 file->size());
    return {};
  }
  return {file, file->data() + offset};
}
