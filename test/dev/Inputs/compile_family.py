# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lints and compiles a family of another folder: compile_family.py SOURCE BUILD FOLDER NAME."""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

source, build, folder = map(Path, sys.argv[1:4])
name = sys.argv[4]
family = f"dialects/Kiln/ops/{name}/{name}"
prefix = subprocess.run(["llvm-config", "--includedir"], capture_output=True, text=True, check=True).stdout.strip()
includes = [f"-I{folder}", f"-I{source}", f"-I{source / 'include'}"]

sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "tools/lint"))
import rules.blanks  # noqa: E402
import rules.clang_format  # noqa: E402
import rules.families  # noqa: E402
import rules.licence  # noqa: E402
import tree  # noqa: E402

files = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
for rule in (rules.blanks, rules.families, rules.licence):
    for finding in rule.check(tree.Sample(files)):
        sys.exit(f"{finding.path}: {finding.text}")
style = f"--style=file:{source / '.clang-format'}"
paths = [folder / path for path in files if path.endswith((".h", ".cpp"))]
subprocess.run([rules.clang_format.TOOL, "--dry-run", "-Werror", style, *paths], check=True)

for kind, suffix in (("-gen-op-decls", "h.inc"), ("-gen-op-defs", "cpp.inc")):
    out = folder / "generated" / f"{family}.{suffix}"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mlir-tblgen", kind, folder / f"{family}.td", *includes, f"-I{prefix}", "-o", out], check=True
    )


def compile_facet(facet):
    flags = ["-std=c++17", "-fno-exceptions", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    # As in the build, generated code may not warn.
    system = ["-isystem", prefix, "-isystem", folder / "generated", "-isystem", build / "generated"]
    path = folder / f"{family}{facet}.cpp"
    return subprocess.run(["clang++-22", *flags, *includes, *system, path]).returncode


with ThreadPoolExecutor(2) as pool:
    if any(pool.map(compile_facet, ["", ".import", ".reference", ".kernels"])):
        sys.exit("a facet does not compile")
