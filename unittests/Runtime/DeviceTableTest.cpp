//===- DeviceTableTest.cpp - A device's table that makes no sense ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceSupport.h"

using namespace kiln::test;

namespace {

/// A copy of the test model's table, to spoil.
class DeviceTable : public DeviceTest {
protected:
  DeviceTable()
      : module(kiln_test_dense), table(*module.device), plan(*table.plan),
        kernels(table.kernels, table.kernels + table.num_kernels),
        images(table.images, table.images + table.num_images) {
    module.device = &table;
    table.plan = &plan;
    table.kernels = kernels.data();
    table.images = images.data();
  }
  /// Before anything of it is used, by a session that asks for the device.
  void expectRefused(const char *because, kiln_status_t status = KILN_CORRUPT) {
    open(module);
    EXPECT_EQ(create(), status);
    EXPECT_TRUE(has(modelReason(), because)) << modelReason();
    EXPECT_EQ(session, nullptr);
  }

  kiln_module module;
  kiln_module_device table;
  kiln_module plan;
  std::vector<kiln_module_device_kernel> kernels;
  std::vector<kiln_module_image> images;
};

TEST_F(DeviceTable, IsUsedAsItIs) {
  open(module);
  EXPECT_EQ(create(), KILN_OK) << modelReason();
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
}

TEST_F(DeviceTable, NeedsKernels) {
  table.kernels = nullptr;
  expectRefused("do not fit together");
}

TEST_F(DeviceTable, NeedsImages) {
  table.images = nullptr;
  expectRefused("do not fit together");
}

TEST_F(DeviceTable, NeedsAPlan) {
  plan.magic = 0;
  expectRefused("no magic number");
}

TEST_F(DeviceTable, NeedsNamesOfKernels) {
  kernels[1].name = nullptr;
  expectRefused("kernel 1 of the device's table has no name");
}

TEST_F(DeviceTable, RefusesAnImageOfNoKernel) {
  images[2].kernel = table.num_kernels;
  expectRefused("image 2 of the device's table makes no sense");
}

TEST_F(DeviceTable, RefusesAGridThatLaunchesDoNotHave) {
  kernels[images[3].kernel].num_grids = 1;
  images[3].grid = 2;
  expectRefused("image 3 of the device's table makes no sense");
}

TEST_F(DeviceTable, RefusesBlocksWithoutWork) {
  images[0].units_per_block = 0;
  expectRefused("image 0 of the device's table makes no sense");
}

TEST_F(DeviceTable, RefusesImpossibleImages) {
  using Spoil = void (*)(kiln_module_image &);
  for (Spoil spoil : {Spoil([](kiln_module_image &i) { i.arch = nullptr; }),
                      Spoil([](kiln_module_image &i) { i.bytes = nullptr; }),
                      Spoil([](kiln_module_image &i) { i.kind = 77; }),
                      Spoil([](kiln_module_image &i) { i.threads = 0; }),
                      Spoil([](kiln_module_image &i) { i.threads = 1025; }),
                      Spoil([](kiln_module_image &i) { i.shared_bytes = UINT32_MAX; }),
                      Spoil([](kiln_module_image &i) { i.uses_scratch = 2; }),
                      Spoil([](kiln_module_image &i) { i.reserved = 1; })}) {
    kiln_module_image kept = images[1];
    spoil(images[1]);
    expectRefused("image 1 of the device's table makes no sense");
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    model = nullptr;
    images[1] = kept;
  }
}

} // namespace
