//===- Options.cpp - Options and the environment --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Simulator.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace kiln::cudasim {
namespace {

constexpr kiln_sim_device kDevices[] = {
#define KILN_SIM_DEVICE(arch, name, major, minor, sms, clock, memoryClock, bus, l2, threads,       \
                        blocks, shared, optin, reserved)                                           \
  {"KilnSim " name " (" #arch ")",                                                                 \
   major,                                                                                          \
   minor,                                                                                          \
   sms,                                                                                            \
   clock,                                                                                          \
   memoryClock,                                                                                    \
   bus,                                                                                            \
   l2 * 1024,                                                                                      \
   threads,                                                                                        \
   blocks,                                                                                         \
   65536,                                                                                          \
   shared * 1024,                                                                                  \
   optin * 1024,                                                                                   \
   reserved * 1024},
#include "Devices.def"
};
constexpr const char *kArchitectures[] = {
#define KILN_SIM_DEVICE(arch, ...) #arch,
#include "Devices.def"
};

struct Field {
  const char *variable;
  size_t offset;
  uint64_t fallback;
};
#define FIELD(variable, name, fallback)                                                            \
  {"KILN_SIM_" variable, offsetof(kiln_sim_options, name), fallback}
constexpr Field kFields[] = {
    FIELD("DEVICE_COUNT", device_count, 1),
    FIELD("MEMORY_BYTES", memory_bytes, uint64_t(8) << 30),
    FIELD("SEED", seed, 1),
    FIELD("NO_CHECKS", no_checks, 0),
    FIELD("REPLAYS", replays, 0),
    FIELD("HOST_THREADS", host_threads, 1),
    FIELD("EAGER", eager, 0),
    FIELD("FAIL_ALLOCATION", fail_allocation, 0),
    FIELD("FAIL_LAUNCH", fail_launch, 0),
    FIELD("STICKY_LAUNCH", sticky_launch, 0),
    FIELD("LOSE_DEVICE", lose_device, 0),
    FIELD("FLIP_LAUNCH", flip_launch, 0),
    FIELD("FLIP_ADDRESS", flip_address, 0),
    FIELD("FLIP_BIT", flip_bit, 0),
    FIELD("FLIP_ALLOCATION", flip_allocation, 0),
    FIELD("STALL_LAUNCH", stall_launch, 0),
    FIELD("STALL_MILLISECONDS", stall_milliseconds, 0),
};
#undef FIELD

bool readNumber(const char *text, uint64_t &value) {
  char *end;
  errno = 0;
  value = strtoull(text, &end, 0);
  return *text && *text != '-' && !*end && errno == 0;
}

} // namespace

bool completeOptions(kiln_sim_options &options, kiln_sim_device &device) {
  for (const Field &field : kFields) {
    auto &value = *reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(&options) + field.offset);
    if (value)
      continue;
    value = field.fallback;
    if (const char *text = getenv(field.variable))
      if (!readNumber(text, value))
        return false;
  }
  if (options.device) {
    device = *options.device;
    device.name[sizeof device.name - 1] = 0;
  } else {
    const char *wanted =
        options.architecture ? options.architecture : getenv("KILN_SIM_ARCHITECTURE");
    if (!wanted)
      wanted = "sm_80";
    bool known = false;
    for (size_t i = 0; i < std::size(kDevices); ++i)
      if (strcmp(wanted, kArchitectures[i]) == 0 ||
          // sm_90a and sm_100a are the same devices.
          (strncmp(wanted, kArchitectures[i], strlen(kArchitectures[i])) == 0 &&
           strcmp(wanted + strlen(kArchitectures[i]), "a") == 0)) {
        device = kDevices[i];
        known = true;
      }
    if (!known)
      return false;
  }
  options.architecture = nullptr; // The caller's; `device` says it from here on.
  options.device = nullptr;
  constexpr uint64_t kMostMemory = uint64_t(1) << 40;
  return options.device_count <= 16 && options.flip_bit < 8 && options.host_threads <= 64 &&
         options.memory_bytes >= DeviceMemory::kPage && options.memory_bytes <= kMostMemory &&
         device.multiprocessors && device.shared_per_block_optin <= kMaxDynamicShared;
}

} // namespace kiln::cudasim
