//===- BuiltInRules.cpp - The built-in rules' and records' bytes ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Records.h"
#include "kiln/Patterns/RuleLibrary.h"

// The assembler includes the files; the compiler would take long to read them.
asm(".section .rodata.kiln_rules,\"a\",@progbits\n"
    "kiln_rule_pack_begin:\n"
    ".incbin \"" KILN_RULE_PACK "\"\n"
    "kiln_rule_pack_end:\n"
    ".byte 0\n"
    "kiln_record_pack_begin:\n"
    ".incbin \"" KILN_RECORD_PACK "\"\n"
    "kiln_record_pack_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char kiln_rule_pack_begin[];
extern const char kiln_rule_pack_end[];
extern const char kiln_record_pack_begin[];
extern const char kiln_record_pack_end[];
}

llvm::StringRef kiln::builtInRulePack() {
  return {kiln_rule_pack_begin, static_cast<size_t>(kiln_rule_pack_end - kiln_rule_pack_begin)};
}

llvm::StringRef kiln::builtInRecordPack() {
  return {kiln_record_pack_begin,
          static_cast<size_t>(kiln_record_pack_end - kiln_record_pack_begin)};
}
