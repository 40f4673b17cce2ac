# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Judges the simulator's counts: counts.py REPORT [--over-unique 1.05] [--coalescing 0.95]

Every kernel of the report must move at most so many times its unique bytes, and the sectors that its accesses touch
must be filled to that part. Prints a line a kernel; exit status 1 when one does not comply, or there is none.
"""
import argparse
import re
import sys

LINE = re.compile(
    r"^(\w+): launches \d+, global read (\d+) B \(unique (\d+)\), written (\d+) B \(unique (\d+)\), "
    r"sectors (\d+) \(ideal (\d+)\)",
    re.MULTILINE,
)

parser = argparse.ArgumentParser()
parser.add_argument("report")
parser.add_argument("--over-unique", type=float, default=float("inf"))
parser.add_argument("--coalescing", type=float, default=0)
options = parser.parse_args()
with open(options.report) as file:
    found = LINE.findall(file.read())
wrong = not found
for name, *numbers in found:
    read, unique_read, written, unique_written, sectors, ideal = map(int, numbers)
    ratio, filled = (read + written) / (unique_read + unique_written), ideal / sectors
    print(f"{name}: {ratio:.3f} times its unique bytes, coalescing {filled:.3f}")
    wrong |= ratio > options.over_unique or filled < options.coalescing
sys.exit(wrong)
