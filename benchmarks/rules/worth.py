# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The newest record of benchmarks/rules/run as a section of docs/performance.md."""
import glob
import json
import math
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def is_slower(row):
    """Beyond noise: by more than the rounds of both sides scatter."""
    return row["with"]["median"] - row["without"]["median"] > row["with"]["mad"] + row["without"]["mad"]


def summary(rows, threads):
    own = [row for row in rows if row["threads"] == threads]
    ratios = sorted((row["speedup"], row["model"]) for row in own)
    slower = [f"{row['model']} {row['speedup']:.2f}x" for row in own if is_slower(row)]
    return (
        f"{threads} thread{'s' * (threads > 1)}: geometric mean {geometric_mean([r for r, _ in ratios]):.2f}x, least "
        f"{ratios[0][0]:.2f}x ({ratios[0][1]}), most {ratios[-1][0]:.2f}x ({ratios[-1][1]}), {len(ratios)} models; "
        + ("slower beyond noise: " + ", ".join(slower) if slower else "none is slower beyond noise")
    )


def section():
    """Lines; none without a record."""
    path = max(glob.glob(os.path.join(ROOT, "benchmarks", "results", "rules-*.json")), default=None)
    if not path:
        return []
    with open(path) as file:
        record = json.load(file)
    rows = {}
    for row in record["rows"]:
        rows.setdefault(row["model"], {})[row["threads"]] = row
    threads = sorted({row["threads"] for row in record["rows"]})
    link = os.path.relpath(path, ROOT)
    lines = [
        "", "## What rules are worth", "",
        f"Generated from [`{link}`](../{link}) by `benchmarks/rules/run --write-docs`: {record['cores']} cores of {record['cpu']}, "
        f"{record['date']}, {record['rounds']} rounds. " + " ".join(record["method"].split()), "",
    ]  # fmt: skip
    lines += [f"- {summary(record['rows'], count)}." for count in threads]
    columns = [f"with T{t}, ms | without T{t}, ms | speed-up T{t}" for t in threads]
    lines += ["", "| model | fired | rewrote | kernels | without | " + " | ".join(columns) + " |",
              "|---|" + "---|" * (4 + 3 * len(threads))]
    for name, by in rows.items():
        first = by[threads[0]]
        cells = []
        for count in threads:
            row = by.get(count)
            cells += [f"{row['with']['median'] * 1e3:.3f}", f"{row['without']['median'] * 1e3:.3f}",
                      f"{row['speedup']:.2f}x"] if row else ["", "", ""]
        lines.append(f"| {name} | {first['fired']} | {first['rewrote']} | {first['kernels']} | {first['kernels_without']} | "
                     + " | ".join(cells) + " |")
    return lines
