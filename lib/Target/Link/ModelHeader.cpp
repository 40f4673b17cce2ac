//===- ModelHeader.cpp - Names of a model ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/ModelHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace kiln;

std::string kiln::sanitizeIdentifier(StringRef text) {
  std::string result;
  for (char c : text) {
    if (isAlnum(c))
      result += c;
    // Two underscores in a row are reserved in C++.
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  if (result.empty() || isDigit(result.front()))
    result.insert(0, result.empty() ? "unnamed" : "n");
  return result;
}

static std::string digest8(StringRef digest) { return digest.take_front(8).lower(); }

std::string kiln::modelSymbolName(StringRef name, StringRef digest) {
  return "kiln_m_" + sanitizeIdentifier(name) + "_" + digest8(digest);
}

/// Text of a model inside a comment: one line, and no end of the comment.
static std::string commentText(StringRef text) {
  std::string result;
  for (char c : text) {
    bool endsComment = c == '/' && !result.empty() && result.back() == '*';
    result += static_cast<unsigned char>(c) < 32 || c == 127 || endsComment ? '?' : c;
  }
  return result;
}

static std::string literal(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    unsigned char byte = c;
    if (byte < 32 || byte > 126 || strchr("\"\\?", c)) {
      // Three digits: a digit that follows belongs to the text.
      result += '\\';
      for (int shift : {6, 3, 0})
        result += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

static std::string shape(const ModelHeaderTensor &tensor) {
  std::string result = "[";
  for (const ModelHeaderDim &dim : tensor.dims) {
    result += &dim == tensor.dims.data() ? "" : ", ";
    result += commentText(dim.text.empty() ? std::to_string(dim.size) : dim.text);
  }
  return result + "]";
}

namespace {

class HeaderWriter {
public:
  HeaderWriter(const ModelHeaderInfo &info) : info(info) {}
  std::string write();

private:
  void writeNames(const std::string &prefix);
  void writeTensors(StringRef direction, const std::string &prefix,
                    ArrayRef<ModelHeaderTensor> tensors);

  const ModelHeaderInfo &info;
  std::string text;
  raw_string_ostream out{text};
};

} // namespace

void HeaderWriter::writeTensors(StringRef direction, const std::string &prefix,
                                ArrayRef<ModelHeaderTensor> tensors) {
  // Names that differ only in what C does not allow get a number; it must not
  // meet a name that the model has anyway.
  StringSet<> taken;
  std::vector<std::string> names;
  for (const ModelHeaderTensor &tensor : tensors) {
    std::string name = StringRef(sanitizeIdentifier(tensor.name)).upper(), candidate = name;
    for (unsigned n = 2; !taken.insert(candidate).second; ++n)
      candidate = name + "_" + std::to_string(n);
    names.push_back(candidate);
  }
  std::string upper = StringRef(prefix).upper();
  out << "\nenum {\n";
  for (auto [index, tensor] : enumerate(tensors))
    out << "  /* \"" << commentText(tensor.name) << "\": " << commentText(tensor.dtype) << ' '
        << shape(tensor) << " */\n  " << upper << '_' << direction << '_' << names[index] << " = "
        << index << ",\n";
  out << "  " << upper << "_NUM_" << direction << "S = " << tensors.size() << "\n};\n";
  for (size_t index = 0; index != tensors.size(); ++index) {
    const ModelHeaderTensor &tensor = tensors[index];
    auto macro = [&](StringRef what) -> raw_ostream & {
      return out << "#define " << upper << '_' << what << '_' << direction << '_' << names[index]
                 << ' ';
    };
    macro("NAME") << literal(tensor.name) << '\n';
    macro("TYPE") << tensor.cType << '\n';
    macro("RANK") << tensor.dims.size() << '\n';
    int64_t elements = 1;
    bool counted = true;
    for (auto [axis, dim] : enumerate(tensor.dims)) {
      if (dim.size >= 0)
        macro("DIM" + std::to_string(axis)) << dim.size << '\n';
      counted = counted && dim.size >= 0 && !MulOverflow(elements, dim.size, elements);
    }
    if (counted)
      macro("ELEMENTS") << elements << '\n';
  }
}

void HeaderWriter::writeNames(const std::string &prefix) {
  out << "\nstatic inline const kiln_api *" << prefix << "_model_query(void) {\n  return "
      << modelSymbolName(info.name, info.digest) << "(KILN_ABI_VERSION);\n}\n";
  writeTensors("INPUT", prefix, info.inputs);
  writeTensors("OUTPUT", prefix, info.outputs);
}

std::string HeaderWriter::write() {
  std::string name = sanitizeIdentifier(info.name), unique = name + "_" + digest8(info.digest);
  std::string symbol = modelSymbolName(info.name, info.digest);
  std::string guard = "KILN_MODEL_" + StringRef(unique).upper() + "_H";
  std::string names = "KILN_MODEL_NAMES_" + StringRef(name).upper();
  out << "/* Model \"" << commentText(info.name) << "\", made by " << commentText(info.producer)
      << "; do not edit.\n * For programs that link the artefact directly: several of these\n"
      << " * headers fit into one program. */\n#ifndef " << guard << "\n#define " << guard
      << "\n\n#include <kiln-c/Runtime.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "/* Its name is of this model and of the way it was built: a header and an\n"
      << " * artefact that do not belong together do not link. */\n"
      << "const kiln_api *" << symbol << "(uint32_t version);\n";
  writeNames(unique);
  out << "\n/* The same under short names, unless another model has them. */\n#ifndef " << names
      << "\n#define " << names << '\n';
  writeNames(name);
  out << "\n#endif /* " << names << " */\n\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n"
      << "#endif /* " << guard << " */\n";
  return text;
}

std::string kiln::writeModelHeader(const ModelHeaderInfo &info) {
  return HeaderWriter(info).write();
}
