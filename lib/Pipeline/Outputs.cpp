//===- Outputs.cpp - What a compilation writes ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Printing.h"
#include "Weights.h"
#include "kiln/Target/Link/OutputFile.h"
#include "kiln/Target/RuntimeObject.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kiln;

bool Compilation::failToWrite(StringRef file, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  StringRef reason = text;
  // The diagnostic says this part.
  if (!reason.consume_front(("cannot write '" + file + "': ").str()))
    reason.consume_front("cannot write to standard output: ");
  diags.report(Diag::FileUnwritable, file == "-" ? "standard output" : file, reason);
  return false;
}

bool Compilation::announceOutput(StringRef output) {
  if (output != "-" && llvm::sys::fs::equivalent(output, path)) {
    diags.report(Diag::Usage, "the output '" + output.str() + "' is the model itself");
    return false;
  }
  auto probe = OutputFile::create(output);
  return probe ? true : failToWrite(output, probe.takeError());
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

bool Compilation::print(Stage stage, raw_ostream &os) {
  switch (stage) {
  case Stage::Onnx:
    printModel(*model, os);
    return true;
  case Stage::Kiln:
  case Stage::Fused:
  case Stage::Plan:
    printModule(*module, options.printWeights, os);
    return true;
  case Stage::Kernels: {
    complaints.clear();
    ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
    return succeeded(printKernels(*module, compiler, os)) ||
           fail(Diag::Internal, "a kernel could not be built");
  }
  case Stage::Cu:
    printDeviceKernels(os);
    return true;
  case Stage::LLVM:
    for (const CompiledKernel &kernel : kernels)
      os << "; kernel " << kernel.name << '\n' << kernel.llvmIR << '\n';
    os << "; program\n" << programIR;
    return true;
  case Stage::Asm:
    for (const CompiledKernel &kernel : kernels)
      os << "# kernel " << kernel.name << '\n' << kernel.assembly << '\n';
    os << "# program\n" << programAssembly;
    return true;
  case Stage::Obj:
  case Stage::Archive:
  case Stage::So:
    break;
  }
  llvm_unreachable("not a text");
}

bool Compilation::writeText(Stage stage, StringRef output) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!print(stage, os))
    return false;
  llvm::Error error = writeFileAtomically(output, text);
  return error ? failToWrite(output, std::move(error)) : true;
}

bool Compilation::writeTemps(Phase phase) {
  if (options.tempsStem.empty())
    return true;
  static constexpr std::pair<Stage, StringLiteral> texts[] = {{Stage::Onnx, ".onnx.txt"},
                                                              {Stage::Kiln, ".kiln.mlir"},
                                                              {Stage::Fused, ".fused.mlir"},
                                                              {Stage::Plan, ".plan.mlir"},
                                                              {Stage::Kernels, ".kernels.mlir"},
                                                              {Stage::Cu, ".cu"},
                                                              {Stage::LLVM, ".ll"},
                                                              {Stage::Asm, ".s"}};
  for (auto [stage, suffix] : texts) {
    if (stage == Stage::Cu && !device)
      continue;
    std::string file = (options.tempsStem + suffix).str();
    if (phaseOf(stage) == phase && (!announceOutput(file) || !writeText(stage, file)))
      return false;
  }
  std::string object = options.tempsStem + ".o";
  return phase != Phase::Generate ||
         (announceOutput(object) && writeLinked(Stage::Obj, object, ""));
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

static std::string digestText(const ModuleInfo &info) {
  return llvm::toHex(ArrayRef(info.digest), /*LowerCase=*/true);
}

LinkInputs Compilation::linkInputs(StringRef output) {
  LinkInputs inputs;
  EmbeddedBytes runtime = runtimeObject();
  inputs.objects.push_back({StringRef(runtime.data, runtime.size), "runtime"});
  inputs.objects.push_back({StringRef(programObject.data(), programObject.size()), "program"});
  for (const CompiledKernel &kernel : kernels)
    inputs.objects.push_back({StringRef(kernel.object.data(), kernel.object.size()), kernel.name});
  std::string digest = digestText(info);
  inputs.soname = llvm::sys::path::filename(output).str();
  inputs.modelSymbol = modelSymbolName(llvm::sys::path::stem(output), digest);
  inputs.weightsSize = layout.weightsSize;
  inputs.buildId = digest.substr(0, 40);
  return inputs;
}

bool Compilation::readSigningKey() {
  if (options.signingKey.empty())
    return true;
  auto key = SigningKey::read(options.signingKey);
  if (!key) {
    diags.report(Diag::UnusableKey, options.signingKey, llvm::toString(key.takeError()));
    return false;
  }
  signingKey = std::make_unique<SigningKey>(std::move(*key));
  return true;
}

bool Compilation::writeLinked(Stage form, StringRef output, StringRef header) {
  bool shared = form == Stage::So;
  llvm::Expected<std::string> linked = [&] {
    PhaseTimer::Scope scope(timer, "lld");
    return shared ? linkShared(linkInputs(output)) : linkRelocatable(linkInputs(output));
  }();
  if (!linked) {
    std::string text;
    bool systemFault = false;
    llvm::handleAllErrors(linked.takeError(), [&](const llvm::ErrorInfoBase &info) {
      text = info.message();
      systemFault = info.convertToErrorCode().category() == std::generic_category();
    });
    if (systemFault)
      diags.report(Diag::FileUnwritable, output, text);
    return systemFault ? false : fail(Diag::Internal, text);
  }
  PhaseTimer::Scope scope(timer, "write");
  // Both files or none: the header waits without a name for the artefact.
  std::unique_ptr<OutputFile> headerFile;
  if (!header.empty()) {
    auto file = OutputFile::create(header);
    if (!file)
      return failToWrite(header, file.takeError());
    headerFile = std::move(*file);
    std::string text = writeModelHeader(headerInfo(llvm::sys::path::stem(output)));
    if (llvm::Error error = headerFile->write(0, StringRef(text)))
      return failToWrite(header, std::move(error));
  }
  ArtefactForm artefact;
  artefact.mode = shared ? 0555 : 0666;
  artefact.key = shared ? signingKey.get() : nullptr;
  if (form == Stage::Archive)
    artefact.member = (llvm::sys::path::stem(output) + ".o").str();
  if (llvm::Error error = writeArtefact(output, *linked, segments, artefact))
    return failToWrite(output, std::move(error));
  if (headerFile)
    if (llvm::Error error = headerFile->commit())
      return failToWrite(header, std::move(error));
  return true;
}

ModelHeaderInfo Compilation::headerInfo(StringRef stem) {
  ModelHeaderInfo header;
  header.name = stem.str();
  header.digest = digestText(info);
  header.producer = producerName().str();
  auto tensors = [](ArrayAttr names, auto types, std::vector<ModelHeaderTensor> &into) {
    for (auto [name, type] : llvm::zip(names, types))
      into.push_back(headerTensor(cast<StringAttr>(name).getValue(), type));
  };
  tensors(program().getInputNames(), program().getBody().getArgumentTypes(), header.inputs);
  tensors(program().getOutputNames(), layout.outputs, header.outputs);
  return header;
}
