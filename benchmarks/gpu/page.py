# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results page of benchmarks/gpu/run."""
import glob
import json
import os


def number(value, form="{:.1f}"):
    return "" if value is None else form.format(value)


def table(columns, rows):
    lines = ["| " + " | ".join(title for title, _ in columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        lines.append("| " + " | ".join(str(cell(row)) for _, cell in columns) + " |")
    return "\n".join(lines) + "\n"


def ratio(row, peer):
    return number(row["kiln_us"] / row[peer] if row.get(peer) else None, "{:.2f}")


TABLES = {
    "compare": [("model", lambda r: r["model"]), ("elements", lambda r: r["elements"]), ("bits differ", lambda r: r["different"]),
                ("largest relative difference", lambda r: f"{r['largest_relative']:.1e}")],
    "kernels": [("model", lambda r: r["model"]), ("kernel", lambda r: r["kernel"]), ("template", lambda r: r["template"]),
                ("best us", lambda r: number(r["min_us"])), ("mean us", lambda r: number(r["mean_us"])),
                ("predicted us", lambda r: number(r["predicted_us"])), ("error", lambda r: number(r["error"], "{:+.0%}"))],
    "libraries": [("case", lambda r: r["case"]), ("Kiln us", lambda r: number(r["kiln_us"])),
                  ("library us", lambda r: number(r["library_us"])), ("Kiln / library", lambda r: ratio(r, "library_us"))],
    "models": [("model", lambda r: r["model"]), ("Kiln us", lambda r: number(r["kiln_us"])),
               ("ONNX Runtime us", lambda r: number(r["onnxruntime_us"])), ("Kiln / it", lambda r: ratio(r, "onnxruntime_us")),
               ("torch us", lambda r: number(r["torch_us"])), ("Kiln / it", lambda r: ratio(r, "torch_us"))],
}


def text(record):
    machine = record["machine"]
    out = "# Results on a GPU\n\n"
    if machine["simulated"]:
        out = "# DRY RUN on the simulator\n\nTimes below are the simulator's, on a CPU. They say nothing of any device and are not recorded.\n\n"
    out += f"{machine['name']} ({machine['arch']}), {record['date']}, {record['kiln']}. "
    out += ", ".join(f"{key} {machine[key]}" for key in ("driver_version", "memory.total", "clocks.max.sm", "power.limit") if key in machine) + "\n"
    for name, step in record["steps"].items():
        out += f"\n## {name}: {step['status']}\n\n"
        said = {key: value for key, value in step.items() if key not in ("status", "rows", "simulated")}
        out += "".join(f"- {key}: {value if not isinstance(value, (dict, list)) else json.dumps(value)}\n" for key, value in said.items())
        if step.get("rows"):
            out += ("\n" if said else "") + table(TABLES[name], step["rows"])
    return out


def write_newest(root):
    records = sorted(glob.glob(os.path.join(root, "benchmarks", "results", "gpu-*.json")), key=lambda path: path[-15:])
    if not records:
        print("run: there is no record of a GPU in benchmarks/results")
        return 1
    with open(records[-1]) as file:
        record = json.load(file)
    if record["machine"]["simulated"]:
        print(f"run: {records[-1]} is a dry run")
        return 1
    with open(os.path.join(root, "docs", "cuda", "results.md"), "w") as file:
        file.write(text(record))
    print("wrote docs/cuda/results.md")
    return 0
