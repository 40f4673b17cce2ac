//===- BuiltInRules.cpp - The built-in rules' bytes -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/RuleLibrary.h"

// The assembler includes the file; the compiler would take long to read it.
asm(".section .rodata.kiln_rules,\"a\",@progbits\n"
    "kiln_rule_pack_begin:\n"
    ".incbin \"" KILN_RULE_PACK "\"\n"
    "kiln_rule_pack_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char kiln_rule_pack_begin[];
extern const char kiln_rule_pack_end[];
}

llvm::StringRef kiln::builtInRulePack() {
  return {kiln_rule_pack_begin, static_cast<size_t>(kiln_rule_pack_end - kiln_rule_pack_begin)};
}
