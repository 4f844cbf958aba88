#!/usr/bin/env python3
"""Our quantised builds and torchao's on a GPU, side by side, in one run.

    run_gpu_quantized.py AITUNE [MODEL:BATCH[xLENGTH]...] [--schemes NAME,...]
                         [--verdict] [--no-peers] [--json FILE] [--models FOLDER]
                         [--jobs N] [--until SECONDS] [--rounds N]
                         [--row-seconds SECONDS] [--warm SECONDS] [--make-only]

Schemes: int8wo, int8dq, fp8wo, fp8dq_row and fp8dq_tensor (fp8dq with a scale a row
and with one for a tensor), each in bfloat16 and with the same configuration in both.
The models are those of quantized_models.py. Ours is `aitune bench --quantize`, beside
it our own build without; the peer is torchao with
torch.compile(mode="max-autotune-no-cudagraphs"), recorded as a CUDA graph and
replayed, which leaves out what a call through PyTorch costs beside.
Without --verdict ours quantises every layer that torchao does; with it, those
that gain.

Each is a process of its own. They are made first: N of the peers at a time, ours
one by one, on a second GPU if there is one; only one process measures on a GPU at
a time. What is not made after --until seconds is left out. Then they are
timed in turn, round after round, each round in another order, while nothing else
runs. Each runs by itself for --warm seconds before: large products take all of the
power that a GPU may have, so that its clock depends on what has just run.

    device   20 calls queued one behind the other, a twentieth of what events
             around them say: the time of the GPU, if it takes longer than the
             host takes to queue a call; the peer's are one graph, so that it
             does not wait between them
    call     events around one call that the idle GPU waits for

The table gives medians in microseconds; x, how many times as long as ours the
peer takes; gain, ours against our build of 16 bits (device); and the cosine of
outputs to the same model in float32, next to that of eager in bfloat16.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")

import torch

from quantized_models import make, parse, sample, save

ROWS = ["bert:8x128", "bert:1x128", "gpt2:1x128", "vit_b_16:1", "minilm:8x128", "llama_block:1x1",
        "llama_block:1x4096", "mlp:4096"]
SCHEMES = {"int8wo": "int8wo", "int8dq": "int8dq", "fp8wo": "fp8wo",
           "fp8dq_row": "fp8dq,granularity=row", "fp8dq_tensor": "fp8dq,granularity=tensor"}
PLAIN = "16 bit"
QUEUED = 20  # calls in one measurement of the device


def torchao_config(scheme):
    from torchao.quantization import (Float8DynamicActivationFloat8WeightConfig, Float8WeightOnlyConfig,
                                      Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, PerRow,
                                      PerTensor)

    return {"int8wo": Int8WeightOnlyConfig, "int8dq": Int8DynamicActivationInt8WeightConfig,
            "fp8wo": Float8WeightOnlyConfig,
            "fp8dq_row": lambda: Float8DynamicActivationFloat8WeightConfig(granularity=PerRow()),
            "fp8dq_tensor": lambda: Float8DynamicActivationFloat8WeightConfig(granularity=PerTensor())}[scheme]()


def first_tensor(output):
    """Of a model's nested result."""
    if isinstance(output, torch.Tensor):
        return output
    return next(t for t in map(first_tensor, output) if t is not None)


def record(call, values, count):
    """A graph of that many calls, and the result of the last."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            result = call(*values)
    return graph, result


def milliseconds(call):
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def serve_peer(spec, scheme, lock):
    """The process of one of torchao's builds: answers as `aitune bench --paced`."""
    from gpu_peers import take_turns
    from torchao.quantization import quantize_

    take_turns(lock)
    started = time.time()
    model = make(parse(spec)[0]).cuda()
    values = [value.cuda() for value in sample(spec)]
    with torch.no_grad():
        quantize_(model, torchao_config(scheme))
        compiled = torch.compile(model, mode="max-autotune-no-cudagraphs")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                compiled(*values)
        torch.cuda.synchronize()
        graph, result = record(compiled, values, 1)
    several = {1: graph}
    print(json.dumps({"seconds": time.time() - started}), flush=True)
    for line in sys.stdin:
        line = line.strip()
        if line.startswith("save "):
            graph.replay()
            torch.save(first_tensor(result).cpu(), line[5:])
            print(line[5:], flush=True)
        else:
            count = int(line or 1)
            if count not in several:
                with torch.no_grad():
                    several[count], _ = record(compiled, values, count)
            print(milliseconds(several[count].replay) / count, flush=True)


def reference(spec):
    """The output in float32, and its cosine to that of eager in bfloat16."""
    model, values = make(parse(spec)[0]).cuda(), [value.cuda() for value in sample(spec)]
    with torch.no_grad():
        plain = first_tensor(model(*values)).cpu()
        wide = [value.float() if value.is_floating_point() else value for value in values]
        exact = first_tensor(model.float()(*wide)).cpu()
    del model
    torch.cuda.empty_cache()
    return exact, cosine(plain, exact)


def cosine(one, other):
    one, other = (tensor.double().flatten() for tensor in (one, other))
    return torch.nn.functional.cosine_similarity(one, other, dim=0).item()


class Contestant:
    """A process that prints a line of JSON when it is ready, and then answers
    each line that it reads."""

    def __init__(self, command, environment):
        self.errors = tempfile.TemporaryFile("w+")
        # A group of its own: workers of the compiler hold its pipes open, too.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=environment, start_new_session=True)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            lines = [text for text in self.errors.read().splitlines() if text.strip()]
            raise RuntimeError(lines[-1][:300] if lines else "ended without a word")
        return line

    def ask(self, line=""):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.read()

    def kill(self):
        if self.process.returncode is None:  # else close() has seen its end
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        self.kill()
        self.process.wait()


@contextlib.contextmanager
def alone(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Race:
    """Everything that is made for the table."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.started = time.time()
        self.ready, self.failed, self.seconds, self.layers = {}, {}, {}, {}
        self.processes, self.rows = [], []
        self.gpus = torch.cuda.device_count()

    def environment(self, gpu):
        threads = max(1, (os.cpu_count() or 1) // self.options.jobs)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(self.gpus)))).split(",")[gpu]
        return dict(os.environ, CUDA_VISIBLE_DEVICES=visible, TORCHINDUCTOR_COMPILE_THREADS=str(threads),
                    OMP_NUM_THREADS=str(threads), TORCHINDUCTOR_CACHE_DIR=os.path.join(self.folder, "inductor"),
                    TRITON_CACHE_DIR=os.path.join(self.folder, "triton"),
                    CUDA_CACHE_PATH=os.path.join(self.folder, "cuda"))

    def lock(self, gpu):
        return os.path.join(self.folder, f"gpu{gpu}")

    def tell(self, text):
        print(f"{time.time() - self.started:7.1f} s: {text}", file=sys.stderr, flush=True)

    def late(self):
        return time.time() - self.started > self.options.until

    def await_ready(self, key, command, gpu):
        """Makes one; its failure is a line of the table."""
        if self.late():
            self.failed[key] = "not begun in time"
            return None
        begun = time.time()
        contestant = Contestant(command, self.environment(gpu))
        self.processes.append(contestant)
        try:
            report = json.loads(contestant.read())
        except Exception as error:
            self.failed.setdefault(key, str(error))
            contestant.close()
            return None
        self.seconds[key] = round(time.time() - begun, 1)
        self.ready[key] = contestant
        self.tell(f"{' '.join(key)} made in {self.seconds[key]} s")
        return report

    def make_ours(self, spec, scheme):
        gpu = self.gpus - 1
        key = (spec, scheme, "ours")
        try:
            files = self.models[spec].result()
        except Exception as error:
            self.failed[key] = f"tracing: {error}"
            return
        command = [self.options.aitune, "bench", files[0], "--inputs", files[1], "--paced", "--device", "cuda",
                   "--cache", os.path.join(self.folder, "aitune"), *self.options.options.split()]
        if scheme != PLAIN:
            command += ["--quantize", SCHEMES[scheme] + ("" if self.options.verdict else ",verdict=off")]
        with alone(self.lock(gpu)):
            report = self.await_ready(key, command, gpu)
        if report and scheme != PLAIN:
            layers = report["compile"]["quantized_layers"]
            self.layers[key] = [sum("refusal" not in layer for layer in layers), len(layers)]

    def make_peer(self, spec, scheme):
        command = [sys.executable, os.path.abspath(__file__), self.options.aitune, spec, "--peer", scheme, "--lock",
                   self.lock(0)]
        self.await_ready((spec, scheme, "torchao"), command, 0)

    def make_all(self):
        options = self.options
        os.makedirs(options.models, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as peers, \
                concurrent.futures.ThreadPoolExecutor(1) as ours, \
                concurrent.futures.ThreadPoolExecutor(2) as tracers:
            self.models = {spec: tracers.submit(trace, options.models, spec) for spec in options.rows}
            jobs = []
            for spec in options.rows:
                for scheme in [PLAIN, *options.schemes]:
                    jobs.append(ours.submit(self.make_ours, spec, scheme))
                    if scheme != PLAIN and not options.no_peers:
                        jobs.append(peers.submit(self.make_peer, spec, scheme))
            try:
                self.await_jobs(jobs)
            except BaseException:
                options.until = 0  # The pools wait for their jobs.
                self.kill_unready()
                raise
            self.tell("all that can be is made")
            for job in jobs:
                job.result()

    def await_jobs(self, jobs):
        left = set(jobs)
        while left:
            if self.late():
                self.kill_unready()
            left = concurrent.futures.wait(left, timeout=1).not_done

    def kill_unready(self):
        ready = list(self.ready.values())
        for contestant in list(self.processes):
            if contestant not in ready:
                contestant.kill()

    def time_row(self, spec):
        keys = [key for key in self.ready if key[0] == spec]
        if not keys:
            return
        times = {key: {"device": [], "call": []} for key in keys}
        exact, eager = reference(spec)
        self.tell(f"{spec}: eager has run")
        cosines = {}
        for key in list(keys):
            try:
                path = os.path.join(self.folder, "output")
                self.ready[key].ask(f"save {path}")
                cosines[key] = cosine(first_tensor(torch.load(path)), exact)
                self.ready[key].ask(str(QUEUED))
            except Exception as error:
                self.failed[key] = str(error)
                keys.remove(key)
        self.tell(f"{spec}: outputs are compared")
        begun = time.time()
        orders = random.Random(1)
        for done in range(self.options.rounds):
            if done >= 3 and time.time() - begun > self.options.row_seconds:
                break
            for key in orders.sample(keys, len(keys)):
                warm = time.time() + self.options.warm
                while time.time() < warm:
                    self.ready[key].ask(str(QUEUED))
                times[key]["device"].append(1e3 * float(self.ready[key].ask(str(QUEUED))))
                times[key]["call"].append(1e3 * float(self.ready[key].ask()))
        builds = []
        for key in keys:
            medians = {kind: round(statistics.median(values), 2) for kind, values in times[key].items()}
            spread = statistics.quantiles(times[key]["device"], n=10)
            builds.append({"scheme": key[1], "by": key[2], **medians, "device_p10": round(spread[0], 2),
                           "device_p90": round(spread[-1], 2), "cosine": cosines[key],
                           "seconds": self.seconds[key], "layers": self.layers.get(key)})
        for key in keys:
            self.ready[key].close()
        self.rows.append({"row": spec, "eager_cosine": eager, "builds": builds})
        self.tell(f"{spec}: timed")


def trace(folder, spec):
    """In a process of its own: tracing takes LibTorch's locks for long."""
    subprocess.run([sys.executable, os.path.abspath(__file__), "", spec, "--models", folder, "--make-only"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return save(folder, spec)


def show(rows, failed):
    print(f"{'row':19}{'scheme':13}{'ours':>9}{'torchao':>9}{'x':>6}{'call':>9}{'torchao':>9}{'x':>6}{'gain':>6}"
          f"{'layers':>8}{'cosine':>9}{'torchao':>9}{'eager':>9}")
    for row in rows:
        builds = {(build["scheme"], build["by"]): build for build in row["builds"]}
        plain = builds.get((PLAIN, "ours"))
        for scheme in dict.fromkeys(build["scheme"] for build in row["builds"]):
            ours, peer = builds.get((scheme, "ours")), builds.get((scheme, "torchao"))
            cells = ""
            for kind in ("device", "call"):
                cells += "".join(f"{build[kind]:9.1f}" if build else f"{'-':>9}" for build in (ours, peer))
                cells += f"{peer[kind] / ours[kind]:6.2f}" if ours and peer else f"{'-':>6}"
            cells += f"{plain['device'] / ours['device']:6.2f}" if plain and ours else f"{'-':>6}"
            layers = "/".join(map(str, ours["layers"])) if ours and ours["layers"] else "-"
            cells += f"{layers:>8}" + "".join(f"{build['cosine']:9.5f}" if build else f"{'-':>9}"
                                              for build in (ours, peer))
            print(f"{row['row']:19}{scheme:13}{cells}{row['eager_cosine']:9.5f}")
    for key, error in failed:
        print(f"{' '.join(key)}: {error}")


def race(options):
    with tempfile.TemporaryDirectory(prefix="aitune-quantized-", ignore_cleanup_errors=True) as folder:
        run = Race(options, folder)
        try:
            run.make_all()
            for spec in options.rows:
                try:
                    run.time_row(spec)
                except Exception as error:
                    run.failed[(spec, "timing")] = str(error)
                failed = [{"build": key, "error": error} for key, error in sorted(run.failed.items())]
                if options.json:
                    with open(options.json, "w") as file:
                        json.dump({"rows": run.rows, "failed": failed}, file, indent=1)
        finally:
            for contestant in run.processes:
                contestant.close()
            show(run.rows, sorted(run.failed.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("rows", nargs="*", default=ROWS)
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--verdict", action="store_true")
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    parser.add_argument("--json")
    parser.add_argument("--models", default="/tmp/aitune-quantized-models")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--until", type=float, default=3600)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--row-seconds", type=float, default=60, help="most time for the rounds of a row; 3 at least")
    parser.add_argument("--warm", type=float, default=0.3, help="of each contestant before it is timed in a round")
    parser.add_argument("--options", default="", help="more options of aitune")
    parser.add_argument("--make-only", action="store_true")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.schemes = [scheme for scheme in options.schemes.split(",") if scheme]
    unknown = sorted(set(options.schemes) - set(SCHEMES))
    if unknown:
        parser.error(f"no scheme {', '.join(unknown)}; there are: {', '.join(SCHEMES)}")
    for spec in options.rows:
        parse(spec)
    if options.peer:
        serve_peer(options.rows[0], options.peer, options.lock)
    elif options.make_only:
        for spec in options.rows:
            save(options.models, spec)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before all was timed"))
        race(options)


if __name__ == "__main__":
    main()
