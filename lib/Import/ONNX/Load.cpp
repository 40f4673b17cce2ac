//===- Load.cpp - From an ONNX file to a checked graph --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Import/ONNX/Load.h"
#include "Lower.h"
#include "kiln/Support/MappedFile.h"
#include "llvm/ADT/StringExtras.h"
#include <google/protobuf/io/coded_stream.h>
#include <new>

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;

/// Runs `body`, the one place that exceptions of ONNX, protobuf and the C++
/// library can reach. False when one did.
template <typename Body> static bool guarded(DiagnosticEngine &diags, StringRef doing, Body body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc &) {
    diags.report(Diag::OutOfMemory, doing);
  } catch (const std::exception &e) {
    diags.report(Diag::Internal, doing.str() + ": " + printable(e.what(), 1000));
  } catch (...) {
    diags.report(Diag::Internal, doing.str() + ": unknown exception");
  }
  return false;
}

/// What a file that is no model most likely is.
static std::string guessKind(llvm::ArrayRef<uint8_t> bytes) {
  StringRef text(reinterpret_cast<const char *>(bytes.data()), std::min<size_t>(bytes.size(), 512));
  if (text.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer; fetch the file itself with 'git lfs pull'";
  if (text.starts_with("PK\x03\x04"))
    return "it is a zip archive (a PyTorch checkpoint or a package?)";
  if (text.starts_with("\x89HDF"))
    return "it is an HDF5 file (a Keras model?)";
  if (text.starts_with("\x80\x02") || text.starts_with("\x80\x04"))
    return "it is a Python pickle";
  if (text.starts_with("GGUF"))
    return "it is a GGUF file";
  if (text.starts_with("\x1f\x8b"))
    return "it is compressed with gzip";
  if (text.starts_with("\x7f"
                       "ELF"))
    return "it is an ELF file";
  if (text.size() >= 8 && text.substr(4, 4) == "ORTM")
    return "it is a model in ONNX Runtime's own format";
  if (text.size() >= 8 && text.substr(4, 4) == "TFL3")
    return "it is a TensorFlow Lite model";
  if (StringRef(text).ltrim().starts_with("<"))
    return "it is HTML or XML, not a model";
  if (StringRef(text).ltrim().starts_with("{"))
    return "it is JSON, not the binary form of ONNX";
  if (llvm::all_of(text, [](char c) { return llvm::isPrint(c) || llvm::isSpace(c); }))
    return "it is a text file";
  return "its bytes are not a protobuf message";
}

static bool parseSlim(google::protobuf::MessageLite &message, const std::string &slim) {
  if (slim.size() > INT32_MAX)
    return false;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(slim.data()),
                                                static_cast<int>(slim.size()));
  // Our own scan has bounded the graphs; each level is three messages.
  stream.SetRecursionLimit(3 * maxGraphDepth + 100);
  return message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

static bool reportScanError(const ScanResult &scan, llvm::ArrayRef<uint8_t> bytes,
                            DiagnosticEngine &diags) {
  // ir_version, opset_import and graph: with one of them the file began as a model.
  const uint64_t modelFields = uint64_t(1) << 1 | uint64_t(1) << 7 | uint64_t(1) << 8;
  switch (scan.error.kind) {
  case ScanError::None:
    return false;
  case ScanError::TooDeep:
    diags.report(Diag::NestedTooDeeply, maxGraphDepth);
    return true;
  case ScanError::Truncated:
  case ScanError::Malformed:
    break;
  }
  if (!(scan.topFields & modelFields))
    diags.report(Diag::NotAModel, guessKind(bytes));
  else
    diags
        .report(scan.error.kind == ScanError::Truncated ? Diag::TruncatedModel
                                                        : Diag::MalformedModel,
                scan.error.text)
        .note("the file has " + llvm::Twine(bytes.size()) + " bytes");
  return true;
}

static void readHeader(const ONNX_NAMESPACE::ModelProto &proto, Model &model,
                       DiagnosticEngine &diags) {
  model.irVersion = proto.ir_version();
  model.producerName = proto.producer_name();
  model.producerVersion = proto.producer_version();
  model.domain = proto.domain();
  model.docString = proto.doc_string();
  model.modelVersion = proto.model_version();
  for (const auto &entry : proto.metadata_props())
    model.metadata.emplace_back(entry.key(), entry.value());
  if (!proto.has_ir_version())
    diags.report(Diag::BadIRVersion, "missing");
  else if (model.irVersion < 1)
    diags.report(Diag::BadIRVersion, model.irVersion);
  else if (model.irVersion > newestIRVersion)
    diags.report(Diag::IRVersionTooNew, model.irVersion, newestIRVersion);
}

static std::unique_ptr<Model> load(llvm::ArrayRef<uint8_t> bytes, std::shared_ptr<const void> owner,
                                   StringRef path, const LoadOptions &options,
                                   DiagnosticEngine &diags) {
  const size_t errorsBefore = diags.errorCount();
  ScanResult scan = scanMessage(MessageKind::Model, bytes);
  if (reportScanError(scan, bytes, diags))
    return nullptr;
  ONNX_NAMESPACE::ModelProto proto;
  if (!parseSlim(proto, scan.slim)) {
    if (scan.topFields & (uint64_t(1) << 7))
      diags.report(Diag::MalformedModel, "a field inside the model does not parse");
    else
      diags.report(Diag::NotAModel, guessKind(bytes));
    return nullptr;
  }
  scan.slim = std::string();
  if (!proto.has_graph() && !proto.has_ir_version() && proto.opset_import().empty()) {
    diags.report(Diag::NotAModel, guessKind(bytes));
    return nullptr;
  }
  auto model = std::make_unique<Model>();
  model->path = path.str();
  model->bytes = bytes;
  model->bytesOwner = owner;
  model->schemas = std::make_shared<SchemaTable>();
  readHeader(proto, *model, diags);
  if (!proto.has_graph()) {
    diags.report(Diag::NoGraph);
    return nullptr;
  }
  PayloadSource source{bytes, std::move(owner), std::move(scan.payloads)};
  ExternalData external(path, diags);
  Lowering(*model, options, external, diags).lowerModel(proto, source);
  return diags.errorCount() == errorsBefore ? std::move(model) : nullptr;
}

std::unique_ptr<Model> kiln::onnx::loadModelFromMemory(llvm::ArrayRef<uint8_t> bytes,
                                                       std::shared_ptr<const void> owner,
                                                       StringRef path, const LoadOptions &options,
                                                       DiagnosticEngine &diags) {
  if (bytes.empty()) {
    diags.report(Diag::EmptyModelFile);
    return nullptr;
  }
  std::unique_ptr<Model> model;
  if (!guarded(diags, "loading the model",
               [&] { model = load(bytes, std::move(owner), path, options, diags); }))
    return nullptr;
  return model;
}

std::unique_ptr<Model> kiln::onnx::loadModel(StringRef path, const LoadOptions &options,
                                             DiagnosticEngine &diags) {
  auto file = MappedFile::open(path, diags);
  if (!file)
    return nullptr;
  return loadModelFromMemory(file->bytes(), file, path, options, diags);
}

std::optional<Tensor> kiln::onnx::loadTensor(StringRef path, DiagnosticEngine &diags) {
  auto file = MappedFile::open(path, diags);
  if (!file)
    return std::nullopt;
  std::optional<Tensor> tensor;
  guarded(diags, "reading a tensor", [&] {
    ScanResult scan = scanMessage(MessageKind::Tensor, file->bytes());
    ONNX_NAMESPACE::TensorProto proto;
    if (scan.error.kind != ScanError::None || !parseSlim(proto, scan.slim)) {
      diags.report(Diag::MalformedModel, "'" + printable(path, 4096) + "' is not a TensorProto");
      return;
    }
    PayloadSource source{file->bytes(), file, std::move(scan.payloads)};
    ExternalData external(path, diags);
    LoadOptions options;
    tensor = TensorReader(external, options, diags)
                 .read(proto, source, "tensor '" + printable(proto.name()) + "'", "");
  });
  return tensor;
}
