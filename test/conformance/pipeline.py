# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One test through the real programs: kilnc, then kiln-run, each a process of its own."""
import ast
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT = 60  # seconds, for each process
PASS, REFUSED, FAIL = "pass", "refused", "fail"
REFUSED_CODE = 3


@dataclass
class Result:
    """What became of one test; `reason` is one line, the same for all tests with the same cause."""

    name: str
    variant: str
    outcome: str
    reason: str = ""
    codes: list = field(default_factory=list)
    operators: list = field(default_factory=list)  # the refused ones
    log: str = ""
    seconds: float = 0.0

    @property
    def title(self):
        return self.name if self.variant == "static" else f"{self.name} ({self.variant})"


class Process:
    """A finished program: its exit status (negative: the signal; None: too slow) and what it said."""

    def __init__(self, command, timeout=None, cwd=None):
        timeout = timeout or TIMEOUT
        self.command = [str(part) for part in command]
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd=cwd,
        )
        try:
            out, err = process.communicate(timeout=timeout)
            self.status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.status = None
        self.timeout = timeout
        self.out, self.err = (text.decode(errors="replace") for text in (out, err))

    @property
    def ending(self):
        if self.status is None:
            return f"ran longer than {self.timeout} s"
        if self.status < 0:
            return f"died of {signal.Signals(-self.status).name}"
        return f"exit code {self.status}"

    def text(self):
        return f"$ {' '.join(self.command)}\n{self.out}{self.err}[{self.ending}]\n"

    def first_line(self):
        for line in (self.err + self.out).splitlines():
            if line.strip():
                return line.strip()
        return ""


def diagnostics(process):
    """The errors of kilnc --json-diagnostics; None if it wrote no document."""
    try:
        document = json.loads(process.err[process.err.index("{") :])
        return [d for d in document["diagnostics"] if d["severity"] == "error"]
    except (ValueError, KeyError, TypeError):
        return None


def npy_header(path):
    """Shape and dtype text of an .npy file."""
    data = path.read_bytes()
    length = int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10 : 10 + length].decode())
    return header["shape"], header["descr"]


def mismatch_line(text):
    """From kiln-run's comparison, the lines that say what is wrong."""
    lines = [line.strip() for line in text.splitlines()]
    for i, line in enumerate(lines):
        if line.startswith("output '") and "equal within" not in line:
            line = line.split("': ", 1)[-1]
            worst = next((l for l in lines[i + 1 :] if l.startswith("worst at")), "")
            return line, worst
    return "", ""


class Pipeline:
    def __init__(self, build, tests, logs, scratch, variants=("static",), device=None, arch=None, wrap=()):
        self.device = device
        # A real device's code is for its architecture, a simulated one names it.
        self.target = ["--target=cuda", f"--arch={arch}" if arch else f"--device={device}"] if device else []
        self.wrap = list(wrap)
        self.kilnc = build / "bin/kilnc"
        self.kiln_run = build / "bin/kiln-run"
        self.tests, self.logs, self.scratch = tests, logs, scratch
        for variant in variants:
            (logs / variant).mkdir(parents=True, exist_ok=True)

    def run(self, test, variant):
        """The result of one test. A failure leaves its log and its artefact, anything else leaves nothing."""
        name = test["name"]
        where = self.tests / name
        model = where / ("model.onnx" if variant == "static" else f"{variant}.onnx")
        artefact = self.scratch / f"{name}.{variant}.so"
        log = self.logs / variant / f"{name}.log"
        log.unlink(missing_ok=True)
        compiled = Process(
            [self.kilnc, model, "-o", artefact, "--header=", "-j", "1", "--json-diagnostics"]
            + self.target
        )
        said = [compiled.text()]
        result = self.judge_compilation(Result(name, variant, PASS), compiled, artefact)
        if result.outcome == PASS:
            # One thread and two: both ways of running a kernel are covered.
            threads = 1 if variant == "static" else 2
            for number in range(test["sets"]):
                self.run_set(result, test, artefact, where / f"test_data_set_{number}", threads, said)
                if result.outcome != PASS:
                    break
        if result.outcome == FAIL:
            log.write_text("\n".join(said))
            result.log = str(log)
        artefact.unlink(missing_ok=True)
        return result

    @staticmethod
    def judge_compilation(result, process, artefact):
        errors = diagnostics(process)
        if process.status == 0:
            if not artefact.exists():
                result.outcome, result.reason = FAIL, "kilnc: exit code 0, but no artefact"
            return result
        if artefact.exists():
            result.outcome, result.reason = FAIL, f"kilnc: {process.ending}, and yet an artefact"
        elif process.status == REFUSED_CODE and errors:
            result.outcome = REFUSED
            result.codes = sorted({d["code"] for d in errors})
            result.operators = sorted({d["op"]["type"] for d in errors if "op" in d})
            result.reason = errors[0]["message"]
        else:
            result.outcome = FAIL
            first = f"{errors[0]['code']}: {errors[0]['message']}" if errors else process.first_line()
            result.reason = f"kilnc: {process.ending}: {first}"
        return result

    def run_set(self, result, test, artefact, data, threads, said):
        command = [*self.wrap, self.kiln_run, artefact, "--threads", threads]
        if self.device:
            command += ["--device", self.device]
        if test["random"]:
            return self.run_random(result, test, command, data, said)
        process = Process(
            command + ["--data-set", data, "--rtol", test["rtol"], "--atol", test["atol"]]
        )
        said.append(process.text())
        if process.status != 0:
            result.outcome = FAIL
            wrong, worst = mismatch_line(process.out + process.err)
            if process.status == 1 and wrong:
                result.reason = f"kiln-run: {wrong}" + (f"; {worst}" if worst else "")
            else:
                result.reason = f"kiln-run: {process.ending}: {process.first_line()}"
        elif (process.out + process.err).count("output '") < test["outputs"]:
            result.outcome, result.reason = FAIL, "kiln-run: compared fewer outputs than there are"

    def run_random(self, result, test, command, data, said):
        """Compares shapes and types alone."""
        folder = Path(f"{command[len(self.wrap) + 1]}.out")
        expected = json.loads((data / "shapes.json").read_text())
        count = len(list(data.glob("input_*.pb")))
        inputs = [f"--input={i}={data / f'input_{i}.pb'}" for i in range(count)]
        process = Process(command + inputs + ["--output-dir", folder])
        said.append(process.text())
        if process.status != 0:
            result.outcome = FAIL
            result.reason = f"kiln-run: {process.ending}: {process.first_line()}"
        else:
            for name, (shape, dtype) in expected.items():
                path = folder / f"{name}.npy"
                got = npy_header(path) if path.exists() else "nothing"
                if got != (tuple(shape), dtype):
                    result.outcome = FAIL
                    result.reason = f"kiln-run: output '{name}' is {got}, expected {(shape, dtype)}"
        shutil.rmtree(folder, ignore_errors=True)
