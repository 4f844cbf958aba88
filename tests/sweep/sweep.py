#!/usr/bin/env python3
"""Tunes many models of timm, torchvision and transformers, and says what became
of each.

    sweep.py AITUNE RESULTS.jsonl [options] [NAME...]

NAME is that of a model, as --list prints them, or a part of names with * in it
(timm/*). Each model is made, with random weights, in a process of its own, and
tuned by `AITUNE tune` in another, both within --limit. RESULTS.jsonl gets a
line for each model; those that are in it are not run again (--again OUTCOME
runs those that ended so), so that a stopped sweep goes on where it was.
RESULTS.md and RESULTS.json get the tables. The exit code is 0 if no model
differs, crashes, hangs or is refused, else 1.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import catalogue
import outcomes

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
LARGEST_BATCH = 8


def select(names, patterns):
    """The names that a pattern matches, in their order; all without patterns.

    Behind them what names another model that a library has. Raises ValueError
    for a pattern that is neither.
    """
    if not patterns:
        return list(names)
    others = [p for p in patterns if not fnmatch.filter(names, p)]
    for pattern in others:
        if not catalogue.can_be_named(pattern):
            raise ValueError(f"no model is called {pattern}; --list prints all names")
    return [
        n for n in names if any(fnmatch.fnmatch(n, p) for p in patterns)
    ] + others


def dynamic_inputs(inputs, largest):
    """`aitune --input` for a batch of 1 to `largest` on axis 0 of each input."""
    result = []
    for spec in inputs:
        dtype, _, sizes = spec.rstrip("]").partition("[")
        result.append(
            f"{dtype}[{','.join([f'n=1..{largest}'] + sizes.split(',')[1:])}]"
        )
    return result


def tasks(names, dtypes, batches, dynamic, devices):
    """One row's circumstances for each combination.

    devices: tasks take them in turn; rows name the kind ("cuda" for "cuda:1").
    """
    result = []
    for name in names:
        for dtype in dtypes:
            for batch, is_dynamic in [(b, False) for b in batches] + (
                [(LARGEST_BATCH, True)] if dynamic else []
            ):
                result.append(
                    {
                        "model": name,
                        "dtype": dtype,
                        "batch": batch,
                        "dynamic": is_dynamic,
                        "device": devices[0].partition(":")[0],
                        "on": devices[len(result) % len(devices)],
                    }
                )
    return result


def run(command, limit, log, environment=None):
    """Runs a command for at most `limit` seconds, with all output in file `log`.

    Returns (whether it was ended for its time, exit code, the log's text). The
    processes that it started end with it.
    """
    with open(log, "wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            exit_code, timed_out = process.wait(timeout=limit), False
        except subprocess.TimeoutExpired:
            exit_code, timed_out = None, True
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    with open(log, errors="replace") as file:
        return timed_out, exit_code, file.read()


def read_json(path):
    """What a JSON file holds; None without the file, or with half of one."""
    try:
        with open(path) as file:
            return json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def sweep_one(task, options, folder):
    """Makes and tunes one model in `folder`; returns its row."""
    row = {name: value for name, value in task.items() if name != "on"}
    log = os.path.join(folder, "log")
    threads = dict(os.environ)
    if options.threads:
        threads["OMP_NUM_THREADS"] = str(options.threads)
    maker = [
        sys.executable,
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_model.py"),
        task["model"],
        folder,
        f"--dtype={DTYPES[task['dtype']]}",
        f"--batch={task['batch']}",
        f"--device={task['on']}",
    ]
    start = time.monotonic()
    timed_out, exit_code, text = run(maker, options.limit, log, threads)
    row["make_s"] = round(time.monotonic() - start, 1)
    made = read_json(os.path.join(folder, "model.json"))
    ended = outcomes.of_making(made, timed_out, exit_code, text)
    if ended is not None:
        row["outcome"], row["why"] = ended
        return row

    report_file = os.path.join(folder, "report.json")
    tune = [
        options.aitune,
        "tune",
        os.path.join(folder, "model.pt"),
        "--no-cache",
        f"--device={task['on']}",
        f"--seconds={options.seconds}",
        f"--json={report_file}",
        f"--inputs={os.path.join(folder, 'model.inputs.pt')}",
    ]
    tune += [f"--library={library}" for library in made["libraries"]]
    if options.threads:
        tune.append(f"--threads={options.threads}")
    if task["dynamic"]:
        tune += [f"--input={s}" for s in dynamic_inputs(made["inputs"], task["batch"])]
    tune += options.tune_option
    start = time.monotonic()
    timed_out, exit_code, text = run(tune, options.limit, log, threads)
    row["tune_s"] = round(time.monotonic() - start, 1)
    report = read_json(report_file)
    row["outcome"], row["why"] = outcomes.of_tuning(report, timed_out, exit_code, text)
    if report is not None:
        row.update(outcomes.figures(report))

    if options.inductor and row["outcome"] == "agrees":
        timed_out, _, text = run(
            maker + [f"--compile={max(options.seconds / 3, 0.5)}"],
            options.limit,
            log,
            threads,
        )
        made = read_json(os.path.join(folder, "model.json")) or {}
        if timed_out or "milliseconds" not in made:
            row["inductor_why"] = "not in time" if timed_out else made.get("why", "")
        else:
            row["inductor_ms"] = made["milliseconds"]
            row["inductor_s"] = round(made["seconds"], 1)
    return row


def in_folder(task, options):
    """sweep_one in a folder of its own, which --keep keeps where it is at fault."""
    folder = tempfile.mkdtemp(dir=options.folder)
    try:
        row = sweep_one(task, options, folder)
        if options.keep and row["outcome"] in outcomes.FAULTS:
            name = "-".join(str(part) for part in outcomes.key(row))
            target = os.path.join(options.keep, name.replace("/", "-"))
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target)
        return row
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(todo, jobs, until, do, on_row):
    """Calls on_row(do(task)) for each task, in `jobs` threads.

    No task is started once `until` seconds (None: no limit) have passed. on_row
    is called by one thread at a time.
    """
    start, waiting = time.monotonic(), iter(todo)
    taking, writing = threading.Lock(), threading.Lock()

    def worker():
        while until is None or time.monotonic() - start < until:
            with taking:
                task = next(waiting, None)
            if task is None:
                return
            row = do(task)
            with writing:
                on_row(row)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for worked in [pool.submit(worker) for _ in range(jobs)]:
            worked.result()


def write_tables(rows, results):
    """Writes the tables beside the file `results`; returns the text table."""
    base = results.removesuffix(".jsonl")
    with open(base + ".md", "w") as file:
        file.write(outcomes.markdown(rows))
    with open(base + ".json", "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    return outcomes.text_table(rows)


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("aitune", nargs="?", help="the program, built")
    parser.add_argument("results", nargs="?", help="a file that ends with .jsonl")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print all names")
    parser.add_argument("--table", action="store_true", help="only write the tables")
    parser.add_argument(
        "--device",
        default="cpu",
        help="cpu, cuda, or several GPUs that models take in turn: cuda:0,cuda:1",
    )
    parser.add_argument("--dtypes", default="fp32", help="of fp32,bf16,fp16")
    parser.add_argument(
        "--batches", default="1", help="such as 1,8; none with --dynamic alone"
    )
    parser.add_argument(
        "--dynamic",
        action="store_true",
        help=f"also a batch of 1 to {LARGEST_BATCH}, traced with the largest and "
        "compared with eager at the smallest, a middle and the largest",
    )
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--threads", type=int, default=0, help="of each model")
    parser.add_argument(
        "--limit", type=float, default=600, help="seconds for making, and for tuning"
    )
    parser.add_argument(
        "--until", type=float, help="start no model after so many seconds in all"
    )
    parser.add_argument("--seconds", type=float, default=3, help="of timing")
    parser.add_argument("--inductor", action="store_true", help="also torch.compile")
    parser.add_argument("--again", default="", help="outcomes to run again, or all")
    parser.add_argument("--keep", help="a folder for the models at fault, with logs")
    parser.add_argument("--folder", help="for temporary files; the system's if none")
    parser.add_argument(
        "--tune-option", action="append", default=[], help="one more of `aitune tune`"
    )
    options = parser.parse_intermixed_args(arguments)
    if options.list:
        return options
    if not options.aitune or not options.results:
        parser.error("AITUNE and RESULTS.jsonl are needed")
    if not options.results.endswith(".jsonl"):
        parser.error(f"{options.results} does not end with .jsonl")
    options.aitune = os.path.abspath(options.aitune)
    if not options.table and not os.access(options.aitune, os.X_OK):
        parser.error(f"{options.aitune} is no program; build //frontend:aitune")
    for dtype in options.dtypes.split(","):
        if dtype not in DTYPES:
            parser.error(f"--dtypes: {dtype} is none of {', '.join(DTYPES)}")
    if options.batches == "none" and options.dynamic:
        options.batches = []
    elif all(b.isdecimal() and int(b) > 0 for b in options.batches.split(",")):
        options.batches = [int(batch) for batch in options.batches.split(",")]
    else:
        parser.error(f"--batches: {options.batches} is no list such as 1,8")
    for outcome in filter(None, options.again.split(",")):
        if outcome != "all" and outcome not in outcomes.OUTCOMES:
            parser.error(
                f"--again: {outcome} is none of {', '.join(outcomes.OUTCOMES)}"
            )
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def main(arguments):
    options = parse(arguments)
    if options.list:
        print("\n".join(catalogue.names()))
        return 0
    try:
        names = select(catalogue.names(), options.names)
    except ValueError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2
    wanted = tasks(
        names,
        options.dtypes.split(","),
        options.batches,
        options.dynamic,
        options.device.split(","),
    )
    again = options.again.split(",")
    rows = {outcomes.key(row): row for row in outcomes.read(options.results)}
    done = {
        key
        for key, row in rows.items()
        if row["outcome"] not in again and "all" not in again
    }
    todo = [task for task in wanted if outcomes.key(task) not in done]
    if options.table:
        todo = []
    for folder in filter(None, (options.keep, options.folder)):
        os.makedirs(folder, exist_ok=True)

    def on_row(row):
        with open(options.results, "a") as file:
            file.write(json.dumps(row) + "\n")
        rows[outcomes.key(row)] = row
        print(
            f"[{len(rows)}] {' '.join(str(x) for x in outcomes.key(row)[:3])}: "
            f"{row['outcome']} {row['why']}",
            file=sys.stderr,
            flush=True,
        )

    sweep(todo, options.jobs, options.until, lambda t: in_folder(t, options), on_row)
    everything = list(rows.values())
    print(write_tables(everything, options.results))
    print("\n" + "\n".join(outcomes.counts(everything)))
    return int(any(row["outcome"] in outcomes.FAULTS for row in everything))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
