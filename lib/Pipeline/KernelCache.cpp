//===- KernelCache.cpp - Objects of kernels that were compiled ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/KernelCache.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Elements in a resource are printed by their name only.
static bool holdsResource(plan::KernelOp kernel) {
  auto result = kernel->walk([](Operation *op) {
    for (NamedAttribute attr : op->getAttrs())
      if (isa<DenseResourceElementsAttr>(attr.getValue()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

std::string KernelCache::keyOf(plan::KernelOp kernel, const CPUTarget &target, unsigned optLevel) {
  if (holdsResource(kernel))
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  return ContentCache::keyOf(
      {"kernel", target.cpu, target.features, std::to_string(optLevel), text});
}

//===----------------------------------------------------------------------===//
// Entries: fields, a 64-bit length and bytes each
//===----------------------------------------------------------------------===//

// A field that is forgotten here would make cached builds differ from others.
static_assert(sizeof(KernelFacts) == 3 * sizeof(Expr) + sizeof(void *),
              "a new fact: write and read it below");

static std::string encode(const CompiledKernel &kernel) {
  std::string body;
  auto field = [&](StringRef bytes) {
    char length[8];
    llvm::support::endian::write64le(length, bytes.size());
    body.append(length, sizeof(length));
    body += bytes;
  };
  field(kernel.name);
  field(kernel.facts.units.str());
  field(kernel.facts.picosecondsPerUnit.str());
  field(kernel.facts.scratchBytes.str());
  field(kernel.facts.vectorize ? "1" : "0");
  field(StringRef(kernel.object.data(), kernel.object.size()));
  return body;
}

static std::optional<CompiledKernel> decode(StringRef body) {
  auto field = [&] {
    if (body.size() < 8)
      return StringRef();
    uint64_t length = llvm::support::endian::read64le(body.data());
    StringRef result = body.substr(8, length);
    body = body.drop_front(8 + result.size());
    return result;
  };
  CompiledKernel kernel;
  kernel.name = field().str();
  for (Expr *fact :
       {&kernel.facts.units, &kernel.facts.picosecondsPerUnit, &kernel.facts.scratchBytes}) {
    auto expr = Expr::parse(field());
    if (!expr)
      return std::nullopt;
    *fact = *expr;
  }
  kernel.facts.vectorize = field() == "1";
  StringRef object = field();
  kernel.object.assign(object.begin(), object.end());
  return kernel;
}

std::optional<CompiledKernel> KernelCache::load(StringRef key) const {
  auto bytes = loadBytes(key);
  return bytes ? decode(*bytes) : std::nullopt;
}

void KernelCache::store(StringRef key, const CompiledKernel &kernel) {
  storeBytes(key, encode(kernel));
}

//===----------------------------------------------------------------------===//
// Compile
//===----------------------------------------------------------------------===//

FailureOr<std::vector<CompiledKernel>> KernelCache::compile(KernelCompiler &compiler,
                                                            ArrayRef<plan::KernelOp> kernels,
                                                            const KernelOptions &options) {
  numHits = 0;
  if (options.keepLLVMIR || options.keepAssembly)
    return compiler.compile(kernels, options);
  std::vector<CompiledKernel> results(kernels.size());
  std::vector<std::string> keys;
  std::vector<plan::KernelOp> missing;
  std::vector<size_t> places;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    keys.push_back(keyOf(kernel, compiler.target(), options.optLevel));
    std::optional<CompiledKernel> found;
    if (!keys.back().empty())
      found = load(keys.back());
    if (found) {
      results[i] = std::move(*found);
      ++numHits;
    } else {
      missing.push_back(kernel);
      places.push_back(i);
    }
  }
  auto compiled = compiler.compile(missing, options);
  if (failed(compiled))
    return failure();
  for (auto [place, kernel] : llvm::zip(places, *compiled)) {
    if (!keys[place].empty())
      store(keys[place], kernel);
    results[place] = std::move(kernel);
  }
  trim();
  return results;
}
