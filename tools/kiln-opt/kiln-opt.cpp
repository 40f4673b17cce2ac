//===- kiln-opt.cpp - Runs passes on Kiln's IR ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/Registration.h"
#include "kiln/Target/CPU/CPUTarget.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

static llvm::cl::opt<std::string>
    cpu("cpu", llvm::cl::value_desc("name"), llvm::cl::init("x86-64-v3"),
        llvm::cl::desc("Processor that kiln-plan packs constants for (default x86-64-v3)"));

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kiln::registerAllDialects(registry);
  kiln::PassTables tables;
  kiln::VectorTarget target;
  kiln::registerAllPasses(tables, target);
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Kiln's optimizer driver\n", registry);
  auto machine = kiln::CPUTarget::create(cpu);
  if (!machine) {
    llvm::errs() << "kiln-opt: " << llvm::toString(machine.takeError()) << "\n";
    return 2;
  }
  // Passes are made from the command line after this.
  target = machine->vector;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
