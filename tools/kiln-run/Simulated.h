//===- Simulated.h - What the simulator has to say ------------ -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_SIMULATED_H
#define KILN_TOOLS_KILN_RUN_SIMULATED_H

#include <string>

namespace kiln::run {

/// Lets the runtime find the simulator that lies beside this program.
void findSimulator();
/// After a run on the simulator: how many faults it found in the kernels, and a
/// report of faults and counts.
size_t simulatorFindings();
std::string simulatorReport();

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_SIMULATED_H
