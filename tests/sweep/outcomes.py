"""What became of a model, from how its processes ended, and tables of that."""

import collections
import json
import re

# In the order in which tables count them.
OUTCOMES = {
    "agrees": "compiled, and its outputs are eager's",
    "differs": "compiled, and its outputs are not eager's",
    "not compared": "compiled, and no input could be compared with eager",
    "error": "AITune refused it with a message",
    "crash": "AITune was ended by a signal",
    "hang": "AITune was not done in time",
    "not made": "the library can't make it",
    "eager fails": "PyTorch itself can't run it in this dtype on this device",
    "not traced": "torch.jit.trace can't trace it",
    "too slow": "making and tracing it was not done in time",
}

# These say something about AITune; the others about PyTorch or a library.
OURS = ("agrees", "differs", "not compared", "error", "crash", "hang")
FAULTS = ("differs", "not compared", "error", "crash", "hang")

_MAKING = {"make": "not made", "eager": "eager fails", "trace": "not traced"}


def key(row):
    """What identifies a row: the same model in the same circumstances."""
    return (
        row["model"],
        row["dtype"],
        row["batch"],
        row["dynamic"],
        row["device"],
    )


def last_line(text, limit=400):
    """The last line that says something, of at most `limit` characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:limit] if lines else ""


def of_making(made, timed_out, exit_code, log):
    """(outcome, why) of a model that was not made, or None for one that was.

    made: what model.json holds, or None without one; exit_code: of the process
    that made it, negative for a signal; log: what it printed.
    """
    if timed_out:
        return "too slow", "not made and traced in time"
    if made is None:
        return "not made", f"exit code {exit_code}: {last_line(log)}"
    if "failed" in made:
        return _MAKING[made["failed"]], made["why"][:400]
    return None


def of_tuning(report, timed_out, exit_code, log):
    """(outcome, why) of `aitune tune`.

    report: its JSON, or None without one; exit_code: negative for a signal;
    log: its stderr, whose progress says where it stood when it was ended.
    """
    if timed_out:
        return "hang", f"not done in time; at: {last_line(log)}"
    # A shell in between says 128 + signal.
    if exit_code < 0 or exit_code > 128:
        signal = -exit_code if exit_code < 0 else exit_code - 128
        return "crash", f"signal {signal}; {last_line(log)}"
    if exit_code == 0 and report is not None:
        return "agrees", ""
    if exit_code == 3 and report is not None:
        cases = [c for c in report["check"]["cases"] if not c["skipped"]]
        raised = "eager raises, ours does not: "
        notes = ["" if c["agrees"] else c.get("note", "") for c in cases]
        if notes and all(note.startswith(raised) for note in notes):
            return "eager fails", notes[0][len(raised) :][:400]
        if any(not case["agrees"] for case in cases):
            return "differs", _worst(report["check"])
        return "not compared", last_line(log)
    return "error", last_line(log) or f"exit code {exit_code}"


def _worst(check):
    """Which output differs most, on which input."""
    wrong = [output for output in check["outputs"] if not output["agrees"]]
    wrong.sort(key=lambda output: -(output.get("max_error") or 0))
    if not wrong:
        return "; ".join(
            f"{case['name']}: {case.get('note', '')}"
            for case in check["cases"]
            if not case["agrees"] and not case["skipped"]
        )[:400]
    worst = wrong[0]
    return worst.get("problem") or (
        f"{worst['type']} on {worst['worst_case']}: error {worst['max_error']:.2g}, "
        f"allowed {worst['tolerance']:.2g}"
    )


def figures(report):
    """The figures of a row, from the JSON of `aitune tune`."""
    coverage, timing = report["coverage"], report.get("timing", {})
    row = {
        "operators": coverage["ops"],
        "operator_share": coverage["op_share"],
        "flop_share": coverage["flop_share"],
        "build_s": round(report["compile"]["seconds"], 3),
        "left": [
            {
                "operator": group["op"],
                "reason": group["reason"],
                "count": group["count"],
            }
            for group in coverage["fallbacks"]
        ],
    }
    for name, label in (
        ("ours", "ours_ms"),
        ("eager", "eager_ms"),
        ("torchscript", "torchscript_ms"),
    ):
        if "median" in timing.get(name, {}):
            row[label] = timing[name]["median"]
    return row


def read(path):
    """The rows of a JSON lines file; the last of each key counts.

    A last line that a stopped sweep left half written is not a row.
    """
    rows = {}
    try:
        with open(path) as file:
            for line in file:
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    continue
                rows[key(row)] = row
    except FileNotFoundError:
        pass
    return list(rows.values())


def _number(value, form):
    return "" if value is None else form.format(value)


def _times(row, peer):
    ours, other = row.get("ours_ms"), row.get(peer)
    return other / ours if ours and other else None


_HEAD = (
    "model", "dtype", "batch", "outcome", "ops", "FLOPs", "build s", "ours ms",
    "eager", "script", "inductor", "left to LibTorch, or why",
)  # fmt: skip


def _cells(row):
    left = collections.Counter()
    for fallback in row.get("left", []):
        left[fallback["operator"]] += fallback["count"]
    why = row.get("why") or ", ".join(
        f"{name} x{count}" if count > 1 else name for name, count in left.most_common()
    )
    return (
        row["model"],
        row["dtype"],
        f"{row['batch']}" + (" dynamic" if row["dynamic"] else ""),
        row["outcome"],
        _number(row.get("operator_share"), "{:.0%}"),
        _number(row.get("flop_share"), "{:.0%}"),
        _number(row.get("build_s"), "{:.1f}"),
        _number(row.get("ours_ms"), "{:.3f}"),
        _number(_times(row, "eager_ms"), "{:.2f}x"),
        _number(_times(row, "torchscript_ms"), "{:.2f}x"),
        _number(_times(row, "inductor_ms"), "{:.2f}x"),
        re.sub(r"\s+", " ", why),
    )


def counts(rows):
    """One line for each outcome that occurs, with its number and meaning."""
    counted = collections.Counter(row["outcome"] for row in rows)
    return [
        f"{counted[name]:5} {name}: {meaning}"
        for name, meaning in OUTCOMES.items()
        if counted[name]
    ]


def left_over(rows):
    """(operator, reason, number of rows) of what LibTorch ran, the most first."""
    found = collections.Counter()
    for row in rows:
        for pair in {(f["operator"], f["reason"]) for f in row.get("left", [])}:
            found[pair] += 1
    return [(name, reason, number) for (name, reason), number in found.most_common()]


def text_table(rows):
    """The rows as a table for a terminal."""
    lines = [_HEAD] + [_cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD) - 1)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths + [0])).rstrip()
        for line in lines
    )


def markdown(rows):
    """A report in markdown: counts, the table, and what was left to LibTorch."""

    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    parts = ["# Sweep of models", "", "eager, script and inductor: times ours.", ""]
    parts += [f"- {count.strip()}" for count in counts(rows)]
    parts += ["", line(_HEAD), line(["---"] * len(_HEAD))]
    parts += [line(_cells(row)) for row in rows]
    left = left_over(rows)
    if left:
        parts += ["", "## Left to LibTorch", ""]
        parts += [line(("operator", "why", "rows")), line(["---"] * 3)]
        parts += [line((name, reason or "", str(n))) for name, reason, n in left]
    return "\n".join(parts) + "\n"
