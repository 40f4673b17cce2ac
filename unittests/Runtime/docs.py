#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs the programs of docs/runtime.md.

usage: docs.py PAGE MODEL INCLUDE LIBRARY CC CXX [FLAG...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

page, model, include, library, cc, cxx, *flags = sys.argv[1:]
programs = re.findall(r"^```(c|cpp)\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
# What needs a model or a driver of its own has a test of its own (test/batcher, test/cuda, test/kilnc).
elsewhere = ("Batcher.h", "cuda.h", "kiln::Batcher", "kiln_public_key_read", "readPublicKey", "into[2]")
programs = [(language, text) for language, text in programs if not any(name in text for name in elsewhere)]
if len(programs) < 5:
    sys.exit(f"docs.py: only {len(programs)} programs in {page}")
failed = 0
with tempfile.TemporaryDirectory() as folder:
    for number, (language, text) in enumerate(programs, 1):
        source = pathlib.Path(folder) / f"program{number}.{language}"
        program = source.with_suffix("")
        source.write_text(text)
        compiler = [cc, "-std=c11"] if language == "c" else [cxx, "-std=c++17"]
        warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-missing-field-initializers"]
        command = [*compiler, *warnings, *flags, f"-I{include}", source, library, "-pthread", "-ldl", "-o", program]
        for step in (command, [program, model]):
            result = subprocess.run(step, capture_output=True, text=True)
            if result.returncode or (step is not command and not result.stdout):
                print(f"program {number} ({language}): {step[0]} gave {result.returncode}\n{result.stdout}{result.stderr}")
                failed += 1
                break
        else:
            print(f"program {number} ({language}): {result.stdout.splitlines()[0]}")
sys.exit(failed != 0)
