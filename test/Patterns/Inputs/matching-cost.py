# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules cost a compilation, with more rules and without.

    matching-cost.py MODEL FOLDER...

Fails when the rules of the folders make the matcher work more than twice as much, counted, or take much more processor time.
Each run's work is a count; its time the least of some runs, warm.
"""
import json
import resource
import subprocess
import sys

RUNS = 5
# Of a whole compilation, seconds: what starting a process, reading 200 files of a cache and another program's turn take.
MARGIN = 0.1


def run(model, *options):
    def seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    least, text = None, ""
    for _ in range(RUNS + 1):
        before = seconds()
        text = subprocess.run(["kilnc", model, "--stop-after=fuse", "--explain=json", "--no-records", *options],
                              capture_output=True, text=True, check=True).stdout
        spent = seconds() - before
        least = spent if least is None else min(least, spent)
    return json.loads(text), least


model, *folders = sys.argv[1:]
_, without = run(model, "--disable-all-rules")
base, few = run(model)
more, many = run(model, *(option for folder in folders for option in ("--rules", folder)))
matches = [sum(len(rule["matches"]) for rule in report["rules"]) for report in (base, more)]
added = len(more["rules"]) - len(base["rules"])
print(f"{added} more rules; matches {matches[0]} and {matches[1]}; work {base['work']} and {more['work']}")
print(f"processor time over none: {(few - without) * 1e3:.0f} ms and {(many - without) * 1e3:.0f} ms", file=sys.stderr)
assert added >= 200 and matches[0] == matches[1] and matches[0] > 0
for what in ("patterns", "constraints"):
    assert more["work"][what] <= 2 * base["work"][what], what
assert many - without <= 2 * (few - without) + MARGIN
