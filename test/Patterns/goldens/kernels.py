# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that runs of models launch, without rules and with them.

usage: kernels.py MODELS [NAME...]        counts of each model, as counts.txt has them
       kernels.py --list MODELS NAME      the kernels of one, in order

MODELS is the folder of fetched and seeded models; kilnc is looked for in PATH. Frozen records decide (Inputs/freeze.py), with
--default in front of all the built-in ones, which change when rules are measured again.
"""
import glob
import os
import re
import subprocess
import sys


FROZEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs", "frozen")
records = ["--records", FROZEN, "--record-device", "test-frozen-avx512"]


def launches(path, *options):
    """Names of the ops of each launch's kernel."""
    command = ["kilnc", path, "--emit=plan", "-o", "-", *records, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 3:  # refused
        return []
    done.check_returncode()
    ops, kernel = {}, None
    order = []
    for line in done.stdout.splitlines():
        if start := re.match(r"\s*plan\.kernel @(\S+)", line):
            kernel = ops.setdefault(start.group(1), [])
        elif line.lstrip().startswith("plan.program"):
            kernel = None
        elif kernel is not None and (op := re.match(r"\s*%\S+ = kiln\.(\S+)", line)):
            if op.group(1) != "constant":
                kernel.append(op.group(1))
        elif launch := re.search(r"plan\.launch @(\w+)", line):
            order.append(launch.group(1))
    return [" ".join(ops[name]) for name in order]


def find(models, name):
    return next(p for p in (os.path.join(models, name, "model.onnx"), os.path.join(models, name + ".onnx")) if os.path.exists(p))


def names(models):
    """Those that tools/dev/get-models and make-models bring; not the exports of torch, which are made by hand."""
    paths = glob.glob(os.path.join(models, "*", "model.onnx")) + glob.glob(os.path.join(models, "seeded", "*.onnx"))
    relative = [os.path.relpath(path, models) for path in paths]
    return sorted(p[: -len("/model.onnx")] if p.endswith("/model.onnx") else p[: -len(".onnx")] for p in relative if not p.startswith("light-"))


def main(arguments):
    if arguments[0] == "--default":
        del arguments[0], records[:]
    if arguments[0] == "--list":
        print("\n".join(launches(find(arguments[1], arguments[2]), *arguments[3:])))
        return
    for name in arguments[1:] or names(arguments[0]):
        path = find(arguments[0], name)
        print(f"{name:24} {len(launches(path, '--disable-all-rules')):4} {len(launches(path)):4}")


main(sys.argv[1:])
