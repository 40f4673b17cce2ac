//===- RecordsTest.cpp - What rules are worth, measured -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Records.h"
#include "dialects/Kiln/IR/KilnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace kiln;

static Measurement measurement(const char *dtype, unsigned flops, unsigned bytes,
                               const char *pattern = "Pattern") {
  Measurement m;
  m.pattern = pattern;
  m.instance = "f32[8,64], f32[64]";
  m.size = "small";
  m.seed = 7;
  m.bucket = {dtype, flops, bytes};
  m.kernelHash = "0123456789abcdef";
  m.pairs = 30;
  m.unfused = {1500, 10};
  m.fused = {1000, 8};
  m.savedBytes = -64;
  m.peakBytesChange = 128;
  m.maxError = 1.25e-7;
  m.errorBound = 2e-4;
  return m;
}

static RuleRecord record(const char *rule = "add_relu", const char *device = "amd-zen4-avx512") {
  RuleRecord r;
  r.rule = rule;
  r.device = {device, "AMD \"EPYC\"", 2, {"avx2", "fma"}, {{"l1d", 32768}}};
  r.clock = "CLOCK_MONOTONIC";
  r.date = "2026-11-30";
  r.kiln = "kiln 0.1.0";
  r.compiler = "LLVM 22";
  r.measurements = {measurement("f32", 20, 18), measurement("f16", 20, 17),
                    measurement("f32", 10, 12)};
  return r;
}

static std::string faultOf(llvm::StringRef text) {
  auto parsed = parseRecord(text);
  return parsed ? "" : llvm::toString(parsed.takeError());
}

/// A good record's text with one part replaced.
static std::string edited(llvm::StringRef part, llvm::StringRef by) {
  RuleRecord r = record();
  std::string text = writeRecord(r);
  size_t at = text.find(part.str());
  EXPECT_NE(at, std::string::npos) << part.str();
  return text.replace(at, part.size(), by.str());
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST(Records, DevicesAreVendorCoreAndVectors) {
  EXPECT_EQ(deviceSlug("znver4", 512), "amd-zen4-avx512");
  EXPECT_EQ(deviceSlug("sapphirerapids", 512), "intel-sapphirerapids-avx512");
  EXPECT_EQ(deviceSlug("icelake-server", 256), "intel-icelake_server-avx2");
  EXPECT_EQ(deviceSlug("x86-64-v2", 128), "generic-x86_64_v2-sse");
  for (llvm::StringRef good : {"amd-zen4-avx512", "generic-x86_64_v2-sse"})
    EXPECT_TRUE(isDeviceSlug(good)) << good.str();
  for (llvm::StringRef bad :
       {"", "amd", "amd-zen4", "amd-zen4-avx2-x", "AMD-zen4-avx2", "../a-b-c"})
    EXPECT_FALSE(isDeviceSlug(bad)) << bad.str();
  EXPECT_EQ(deviceLikeness("amd-zen4-avx512", "amd-zen4-avx512"), 3u);
  EXPECT_EQ(deviceLikeness("amd-zen4-avx512", "amd-zen4-avx2"), 2u);
  EXPECT_EQ(deviceLikeness("amd-zen4-avx2", "amd-zen3-avx2"), 1u);
  EXPECT_EQ(deviceLikeness("amd-zen4-avx2", "intel-zen4-avx2"), 0u);
}

TEST(Records, ThisDeviceIsDescribed) {
  DeviceFacts device = thisDevice("amd-zen4-avx512", {"avx2"});
  EXPECT_FALSE(device.cpu.empty());
  EXPECT_GE(device.cores, 1u);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Records, TextIsCanonical) {
  RuleRecord first = record(), second = record();
  std::reverse(second.measurements.begin(), second.measurements.end());
  std::string text = writeRecord(first);
  EXPECT_EQ(text, writeRecord(second));
  auto parsed = parseRecord(text);
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_TRUE(isAsWritten(*parsed));
  EXPECT_EQ(writeRecord(*parsed), text);
  EXPECT_EQ(parsed->device.cpu, "AMD \"EPYC\"");
  EXPECT_EQ(parsed->measurements.front().bucket.dtype, "f16");
  EXPECT_EQ(parsed->measurements.back().savedBytes, -64);
}

TEST(Records, BlanksDoNotMatterAndContentsDo) {
  auto spaced = parseRecord(edited("\"fused_ns\"", "\n  \"fused_ns\" "));
  ASSERT_TRUE(bool(spaced));
  EXPECT_TRUE(isAsWritten(*spaced));
  for (auto [part, by] :
       {std::pair("\"n\": 30", "\"n\": 31"), std::pair("add_relu", "add_relo"),
        std::pair("1.250e-07", "1.249e-07"), std::pair("32768", "32769"),
        std::pair("2026-11-30", "2026-11-29"), std::pair("\"seed\": 7", "\"seed\": 8")}) {
    auto parsed = parseRecord(edited(part, by));
    ASSERT_TRUE(bool(parsed)) << part << ": " << llvm::toString(parsed.takeError());
    EXPECT_FALSE(isAsWritten(*parsed)) << part;
  }
}

TEST(Records, FaultsSayWhereAndWhat) {
  EXPECT_NE(faultOf("{"), "");
  EXPECT_EQ(faultOf("[]"), "the document: is no object");
  EXPECT_EQ(faultOf(edited("\"n\": 30, ", "")), "measurements[0].n: is missing");
  EXPECT_EQ(faultOf(edited("\"n\": 30", "\"n\": 0")),
            "measurements[0].n: 0 is no integer from 1 to 1000000");
  EXPECT_EQ(faultOf(edited("\"median\": 1500", "\"median\": -4")),
            "measurements[0].unfused_ns.median: -4 is no integer from 1 to 3600000000000");
  EXPECT_EQ(faultOf(edited("\"median\": 1000", "\"median\": 1.5")),
            "measurements[0].fused_ns.median: 1.5 is no integer from 1 to 3600000000000");
  EXPECT_EQ(faultOf(edited("\"median\": 1000", "\"median\": \"fast\"")),
            "measurements[0].fused_ns.median: \"fast\" is no integer from 1 to 3600000000000");
  EXPECT_EQ(faultOf(edited("\"speedup\": 1.500", "\"speedup\": 9.5")),
            "measurements[0].speedup: 9.500 is not what the times say, 1.500");
  EXPECT_EQ(faultOf(edited("1.250e-07", "-1.0")),
            "measurements[0].error.max_abs: -1 is no finite number from 0 on");
  EXPECT_EQ(faultOf(edited("1.250e-07", "0.5")), "measurements[0].error: is larger than its bound");
  // JSON has no NaN.
  EXPECT_NE(faultOf(edited("1.250e-07", "NaN")).find("Invalid JSON"), std::string::npos);
  EXPECT_EQ(faultOf(edited("\"n\": 30", "\"n\": 30, \"m\": 1")),
            "measurements[0].m: there is no such member");
  EXPECT_EQ(faultOf(edited("\"flops\": 20", "\"flops\": 64")),
            "measurements[0].bucket.flops: 64 is no integer from 0 to 63");
  EXPECT_EQ(faultOf(edited("\"0123456789abcdef\"", "\"0123\"")),
            "measurements[0].kernel_hash: is not of 16 or more hexadecimal digits");
  EXPECT_EQ(faultOf(edited("\"format\": \"1.0\"", "\"format\": \"2.0\"")),
            "format: this Kiln reads 1.0, not 2.0");
  EXPECT_EQ(faultOf(edited("2026-11-30", "yesterday!")), "date: is not of the form YYYY-MM-DD");
  EXPECT_EQ(faultOf(edited("\"amd-zen4-avx512\"", "\"../../etc\"")),
            "device.slug: is not of the form vendor-microarchitecture-instructions");
}

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

static std::string packOf(std::vector<RuleRecord> records) {
  std::map<std::string, std::string> files;
  for (RuleRecord &r : records)
    files[r.device.slug + "/" + r.rule + ".json"] = writeRecord(r);
  return packRecords(files);
}

TEST(Records, LookupPrefersTheDeviceThenTheBucketThenThePattern) {
  RuleRecord zen4 = record(), zen3 = record("add_relu", "amd-zen3-avx2"),
             intel = record("add_relu", "intel-skylake-avx2");
  zen3.measurements = {measurement("f32", 20, 18), measurement("f32", 18, 18)};
  zen4.measurements = {measurement("f32", 22, 18), measurement("f32", 21, 17, "Other"),
                       measurement("f32", 21, 17)};
  std::string pack = packOf({zen4, zen3, intel});
  RecordLibrary library(pack);
  DiagnosticEngine diags;
  auto find = [&](Bucket bucket, const char *device) {
    return library.find("add_relu", "Pattern", bucket, device, diags);
  };
  auto own = find({"f32", 20, 17}, "amd-zen4-avx512");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->record->device.slug, "amd-zen4-avx512");
  EXPECT_EQ(own->likeness, 3u);
  EXPECT_EQ(own->distance, 1u);
  EXPECT_EQ(own->measurement->pattern, "Pattern");
  auto near = find({"f32", 20, 18}, "amd-zen5-avx2");
  ASSERT_TRUE(near);
  EXPECT_EQ(near->record->device.slug, "amd-zen3-avx2");
  EXPECT_EQ(near->likeness, 1u);
  EXPECT_EQ(near->distance, 0u);
  // Its own bucket is too far off: another device of the family has a nearer one.
  auto other = find({"f32", 18, 18}, "amd-zen4-avx512");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->record->device.slug, "amd-zen4-avx512");
  EXPECT_EQ(other->distance, 3u);
  auto far = find({"f32", 16, 18}, "amd-zen4-avx512");
  ASSERT_TRUE(far);
  EXPECT_EQ(far->record->device.slug, "amd-zen3-avx2");
  EXPECT_FALSE(find({"f32", 40, 18}, "amd-zen4-avx512"));
  EXPECT_FALSE(find({"bf16", 20, 18}, "amd-zen4-avx512"));
  EXPECT_FALSE(find({"f32", 20, 18}, "arm-a78-neon"));
  EXPECT_FALSE(library.find("other", "Pattern", {"f32", 20, 18}, "amd-zen4-avx512", diags));
  EXPECT_TRUE(diags.all().empty());
}

namespace {
/// A folder of records that is removed again.
struct Folder {
  Folder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("kiln-records", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  void write(const std::string &file, const std::string &text) {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, file);
    EXPECT_FALSE(llvm::sys::fs::create_directories(llvm::sys::path::parent_path(full)));
    std::error_code error;
    llvm::raw_fd_ostream(full, error) << text;
    EXPECT_FALSE(error);
  }
  llvm::SmallString<128> path;
};
} // namespace

TEST(Records, FoldersTakeThePlaceOfBuiltInRecords) {
  std::string pack = packOf({record(), record("conv_relu")});
  RuleRecord newer = record();
  newer.date = "2027-01-01";
  Folder folder;
  folder.write("amd-zen4-avx512/add_relu.json", writeRecord(newer));
  folder.write("README.md", "nothing");
  RecordLibrary library(pack);
  DiagnosticEngine diags;
  EXPECT_TRUE(library.addFolder(folder.path, diags));
  ASSERT_EQ(library.of("add_relu", diags).size(), 1u);
  EXPECT_EQ(library.of("add_relu", diags).front().date, "2027-01-01");
  EXPECT_EQ(library.of("conv_relu", diags).front().date, "2026-11-30");
  EXPECT_TRUE(diags.all().empty());
}

TEST(Records, WhatCannotBeUsedIsAWarningOnce) {
  RuleRecord good = record();
  std::string text = writeRecord(good);
  Folder folder;
  folder.write("amd-zen4-avx512/edited.json", edited("\"n\": 30", "\"n\": 31"));
  folder.write("amd-zen4-avx512/renamed.json", text);
  folder.write("intel-skylake-avx2/add_relu.json", text);
  folder.write("amd-zen4-avx512/broken.json", "{\"format\": ");
  RecordLibrary library;
  DiagnosticEngine diags;
  EXPECT_TRUE(library.addFolder(folder.path, diags));
  for (int twice = 0; twice < 2; ++twice)
    for (const char *rule : {"add_relu", "broken", "edited", "renamed"})
      EXPECT_TRUE(library.of(rule, diags).empty()) << rule;
  ASSERT_EQ(diags.all().size(), 4u);
  EXPECT_EQ(diags.all()[0].diag, Diag::RecordUnusable);
  EXPECT_NE(diags.all()[0].message.find("of device 'amd-zen4-avx512'"), std::string::npos);
  EXPECT_EQ(diags.all()[2].diag, Diag::RecordEdited);
  // Each with its place, and the line that a caret points into.
  const std::pair<const char *, const char *> places[] = {
      {"intel-skylake-avx2/add_relu.json:4:21", "\"amd-zen4-avx512\""},
      {"broken.json:1:12", ""},
      {"edited.json:", "\"sha256:"},
      {"renamed.json:3:10", "\"add_relu\""}};
  for (auto [diag, place] : llvm::zip_equal(diags.all(), places)) {
    EXPECT_NE(diag.file.find(place.first), std::string::npos) << diag.file;
    ASSERT_EQ(diag.notes.size(), 2u);
    llvm::StringRef line = diag.notes[0], caret = diag.notes[1];
    EXPECT_EQ(caret.ltrim(' '), "^");
    EXPECT_TRUE(line.drop_front(caret.size() - 1).starts_with(place.second)) << line.str();
  }
  EXPECT_FALSE(diags.hasErrors()) << "compilation goes on";
}

TEST(Records, FoldersThatCannotBeReadAreReported) {
  Folder folder;
  RecordLibrary library;
  DiagnosticEngine diags;
  EXPECT_FALSE(library.addFolder("/nonexistent/records", diags));
  EXPECT_TRUE(library.addFolder(folder.path, diags));
  ASSERT_EQ(diags.all().size(), 2u);
  EXPECT_EQ(diags.all()[0].diag, Diag::RecordFolderUnreadable);
  EXPECT_EQ(diags.all()[1].diag, Diag::NoRecords);
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

static Bucket bucketOfText(const char *text) {
  mlir::MLIRContext context;
  context.loadDialect<KilnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op :
       (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front().without_terminator())
    ops.push_back(&op);
  return bucketOf(ops);
}

TEST(Records, BucketsCountOperationsAndTraffic) {
  // 2 * 64 * 128 * 256 + 64 * 256 operations; (64 * 128 + 128 * 256 + 2 * 64 * 256) * 4 bytes.
  Bucket product = bucketOfText(R"(
    func.func @f(%x: tensor<64x128xf32>, %w: tensor<128x256xf32>, %r: tensor<64x256xf32>) -> tensor<64x256xf32> {
      %0 = kiln.matmul %x, %w : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
      %1 = kiln.add %0, %r : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
      return %1 : tensor<64x256xf32>
    })");
  EXPECT_EQ(product, (Bucket{"f32", 22, 18})) << product.str();
  // 128 elements in and out, twice an op each.
  Bucket chain = bucketOfText(R"(
    func.func @f(%x: tensor<2x64xf16>) -> tensor<2x64xf16> {
      %0 = kiln.relu %x : (tensor<2x64xf16>) -> tensor<2x64xf16>
      %1 = kiln.tanh %0 : (tensor<2x64xf16>) -> tensor<2x64xf16>
      return %1 : tensor<2x64xf16>
    })");
  EXPECT_EQ(chain, (Bucket{"f16", 8, 9})) << chain.str();
  // 2 * (1 * 8 * 16 * 16) outputs * (4 * 3 * 3) products.
  Bucket conv = bucketOfText(R"(
    func.func @f(%x: tensor<1x4x16x16xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x8x16x16xf32> {
      %0 = kiln.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, pads = #kiln.exprs<"1", "1", "1", "1">} : (tensor<1x4x16x16xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x16x16xf32>
      return %0 : tensor<1x8x16x16xf32>
    })");
  EXPECT_EQ(conv, (Bucket{"f32", 17, 13})) << conv.str();
  EXPECT_EQ(conv.distance(product), 5u);
}
