//===- ChecksumKernel.cpp - The runtime's kernel for checks of weights ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln-c/ModuleABI.h"
#include "kiln/Target/CUDA/KernelEmitter.h"
#include "lib/Target/CUDA/Kernels/Checksum/Checksum.config.h"

using namespace kiln;

DeviceKernel kiln::checksumKernel() {
  // Tables are made by each block: sixteen vectors a thread and more pay for them.
  constexpr cuda::ChecksumConfig config{256, 64 << 10};
  static_assert(config.legal());
  std::string shape = std::to_string(config.threads) + ", " + std::to_string(config.segmentBytes);
  DeviceKernel kernel;
  kernel.name = KILN_MODULE_CHECKSUM_KERNEL;
  kernel.algorithm = "Checksum";
  kernel.comment = "// " + kernel.name + " (" + kernel.algorithm +
                   ")\n//   weights on the device, compared with the artefact's checksums\n";
  kernel.threads = config.threads;
  kernel.unitsPerBlock = config.segmentBytes;
  kernel.slots = 4;
  kernel.text =
      "#include \"kiln/cuda/Math.h\"\n\nKILN_UNWATCHED_BEGIN\n"
      "#include \"Checksum/Checksum.cuh\"\nKILN_UNWATCHED_END\n\n"
      "extern \"C\" __global__ void __launch_bounds__(" +
      std::to_string(config.threads) + ", 1)\n" + kernel.name +
      "(const unsigned char *data, int64_t bytes, int64_t seed, uint32_t *crc, int64_t) {\n"
      "  kiln::cuda::Checksum<" +
      shape + ">::run(data, bytes, static_cast<uint32_t>(seed), crc);\n}\n";
  return kernel;
}
