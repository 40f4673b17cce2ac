# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs the programs of docs/runtime.md that use CUDA, on the simulator.

usage: program.py PAGE MODEL DEVICE BUILD INCLUDE CC CXX
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

page, model, device, build, include, cc, cxx = sys.argv[1:]
programs = re.findall(r"^```(c|cpp)\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
programs = [(language, text) for language, text in programs if "<cuda.h>" in text]
if {language for language, _ in programs} != {"c", "cpp"}:
    sys.exit("program.py: there is none in C, or none in C++")
cuda = re.search(r"^KILN_CUDA_INCLUDE:PATH=(.*)$", pathlib.Path(build, "CMakeCache.txt").read_text(), re.M).group(1)
# What stands in for libcuda.
driver = str(pathlib.Path(build, "lib", "libkiln-cudasim.so").resolve())
environment = dict(os.environ, KILN_CUDASIM=driver, KILN_SIM_SEED="3")
with tempfile.TemporaryDirectory() as folder:
    for number, (language, text) in enumerate(programs):
        source = pathlib.Path(folder, f"program{number}.{language}")
        source.write_text(text)
        compiler = [cc, "-std=c11"] if language == "c" else [cxx, "-std=c++17"]
        program = source.with_suffix("")
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", f"-I{include}", "-isystem",
                        cuda, source, f"{build}/lib/libkiln.a", driver, f"-Wl,-rpath,{pathlib.Path(driver).parent}", "-pthread",
                        "-ldl", "-o", program], check=True)
        subprocess.run([program, model, device], check=True, env=environment)
