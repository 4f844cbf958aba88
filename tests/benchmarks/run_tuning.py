#!/usr/bin/env python3
"""What the search for schedules gains, and how fast: with each strategy and a
database of its own, then the builds against the one that searched nothing.

Random search, the control, comes first for all models. The guided search of a
model then starts with what random search measured of the other models' kernels
(not of those that it shares with them), from which its cost model learns.

    ./bazelw run //tests/benchmarks:tuning -- [MODEL...] [--budget S] [--json FILE]
                                              [--plot FILE] [--seconds S]

The table gives the milliseconds of a call, in turn with each other as in
run_benchmarks.py, and how many times as fast as the default each tuned build
is. Kernels: the same from the measurements of the search, of the kernels alone;
to best: the seconds until that was within 1 % of the best that either strategy
found.
The plot (needs matplotlib) shows the best so far against the search's time,
with random search as the control.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch

from run_benchmarks import DEFAULT_MODELS, Ours, measure, print_columns

GUIDED, CONTROL = STRATEGIES = ["successive-halving", "random"]


def search(program, arguments, strategy, database, budget):
    """What `aitune tune` reports of one search."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run(
            [program, "tune", *arguments, "--no-cache", "--seconds", "0"]
            + ["--tune-budget", f"{budget}s", "--tune-strategy", strategy]
            + ["--tuning-database", database, "--json", report.name],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return json.load(report)["compile"]["tuning"]


def files(name, options):
    return [os.path.join(options.folder, name + end) for end in (".pt", ".inputs.pt")]


def database_of(name, strategy, scratch):
    return os.path.join(scratch, f"{name}.{strategy}.db")


def records_of(name, options, scratch):
    """What the control measured of a model, as the lines of an export."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as export:
        subprocess.run(
            [options.program, "tuning", "export", export.name]
            + ["--tuning-database", database_of(name, CONTROL, scratch)],
            check=True,
            capture_output=True,
        )
        return [json.loads(line) for line in open(export.name)]


def search_model(name, strategy, options, scratch):
    model, samples = files(name, options)
    threads = ["--threads", str(torch.get_num_threads())]
    return search(
        options.program,
        [model, "--inputs", samples, *threads],
        strategy,
        database_of(name, strategy, scratch),
        options.budget,
    )


def teach(name, options, scratch):
    """Gives the guided search's database what is known of other models."""
    own = {record["kernel"] for record in records_of(name, options, scratch)}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lessons:
        for other in options.models:
            if other != name:
                for record in records_of(other, options, scratch):
                    if record["kernel"] not in own:
                        print(json.dumps(record), file=lessons)
        lessons.flush()
        subprocess.run(
            [options.program, "tuning", "import", lessons.name]
            + ["--tuning-database", database_of(name, GUIDED, scratch)],
            check=True,
            capture_output=True,
        )


def benchmark(name, options, scratch, controls):
    model, samples = files(name, options)
    teach(name, options, scratch)
    guided = search_model(name, GUIDED, options, scratch)
    row = {"model": name, "tuning": {GUIDED: guided, CONTROL: controls[name]}}
    ours = {"default": Ours(options.program, model, samples, ["--no-cache"])}
    for strategy in STRATEGIES:
        choice = ["--no-cache", "--tuning-database", database_of(name, strategy, scratch)]
        ours[strategy] = Ours(options.program, model, samples, choice)
    row["ms"] = measure(ours, options.seconds * len(ours))
    for process in ours.values():
        process.close()
    return row


def kernel_gain(tuning):
    """The default schedules' time over the chosen ones', of one run; None when
    there was nothing to search."""
    before = sum(k["launches"] * k["default_microseconds"] for k in tuning["kernels"])
    after = sum(k["launches"] * k["microseconds"] for k in tuning["kernels"])
    return before / after if after else None


def seconds_to_best(row):
    """For each strategy, when its best so far came within 1 % of the best that
    was found; None if it never did."""
    relative = {}
    for strategy in STRATEGIES:
        curve = row["tuning"][strategy]["curve"]
        relative[strategy] = [
            (point["seconds"], point["milliseconds"] / curve[0]["milliseconds"]) for point in curve
        ]
    ends = [points[-1][1] for points in relative.values() if points]
    return {
        strategy: next((s for s, ratio in points if ratio <= 1.01 * min(ends)), None)
        for strategy, points in relative.items()
    }


def print_table(rows):
    lines = [["model", "default ms"]]
    for strategy in STRATEGIES:
        lines[0] += [f"{strategy} ms", "x", "kernels", "to best", "measured", "failed"]
    gains = {strategy: [] for strategy in STRATEGIES}
    for row in rows:
        default = row["ms"]["default"]["median"]
        line = [row["model"], f"{default:.2f}"]
        times = seconds_to_best(row)
        for strategy in STRATEGIES:
            tuned = row["ms"][strategy]["median"]
            tuning = row["tuning"][strategy]
            gain = kernel_gain(tuning)
            gains[strategy].append(default / tuned)
            line += [f"{tuned:.2f}", f"{default / tuned:.2f}"]
            line.append(f"{gain:.2f}" if gain else "-")
            line.append(f"{times[strategy]:.1f}" if times[strategy] is not None else "-")
            line += [str(sum(k[c] for k in tuning["kernels"])) for c in ("measured", "failed")]
        lines.append(line)
    means = ["geometric mean", ""]
    for strategy in STRATEGIES:
        means += ["", f"{statistics.geometric_mean(gains[strategy]):.2f}", "", "", "", ""]
    lines.append(means)
    print_columns(lines)


def plot(rows, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    rows = [r for r in rows if any(t["curve"] for t in r["tuning"].values())]
    columns = min(3, len(rows))
    lines = -(-len(rows) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(4.5 * columns, 3.2 * lines), squeeze=False
    )
    for axis in axes.flat[len(rows) :]:
        axis.axis("off")
    for axis, row in zip(axes.flat, rows):
        for strategy, style in zip(STRATEGIES, ["-", "--"]):
            curve = row["tuning"][strategy]["curve"]
            if not curve:
                continue
            start = curve[0]["milliseconds"]
            axis.step(
                [point["seconds"] for point in curve],
                [point["milliseconds"] / start for point in curve],
                style,
                where="post",
                label=strategy,
            )
        axis.set_title(row["model"])
        axis.set_xlabel("seconds of search")
        axis.set_ylabel("best so far / default")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(file)


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=DEFAULT_MODELS, metavar="MODEL")
    parser.add_argument("--budget", type=float, default=20, help="seconds of each search")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--plot", help="draw best-so-far against time into this file")
    parser.add_argument("--seconds", type=float, default=3, help="measured for each build")
    parser.add_argument("--threads", type=int, help="default: LibTorch's")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--makers", help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        controls = {}
        for name in options.models:
            print(f"{name}, at random ...", file=sys.stderr, flush=True)
            controls[name] = search_model(name, CONTROL, options, scratch)
        for name in options.models:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.append(benchmark(name, options, scratch, controls))
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(rows, file, indent=1)
    print_table(rows)
    if options.plot:
        plot(rows, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
