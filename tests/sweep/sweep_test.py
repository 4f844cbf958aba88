#!/usr/bin/env python3
"""Tests the sweep's own logic; needs neither torch nor a model."""

import contextlib
import io
import json
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import catalogue
import outcomes
import sweep

REPORT = {
    "coverage": {
        "ops": 4,
        "op_share": 0.75,
        "flop_share": 1.0,
        "fallbacks": [
            {
                "op": "aten::sort",
                "reason": "not supported",
                "location": "a.py:1",
                "count": 1,
                "flops": 0,
            }
        ],
    },
    "compile": {"seconds": 1.5},
    "timing": {"ours": {"median": 2.0}, "eager": {"median": 5.0}},
}


def check(*cases):
    return {
        "cases": [
            {"name": name, "agrees": agrees, "skipped": skipped}
            for name, agrees, skipped in cases
        ],
        "outputs": [
            {
                "agrees": all(agrees for _, agrees, _ in cases),
                "type": "float32[2]",
                "worst_case": "zeros",
                "max_error": 0.5,
                "tolerance": 1e-4,
            }
        ],
    }


def a_row(model="timm/a", **values):
    row = {
        "model": model,
        "dtype": "fp32",
        "batch": 1,
        "dynamic": False,
        "device": "cpu",
        "outcome": "agrees",
        "why": "",
    }
    return {**row, **values}


class CatalogueTest(unittest.TestCase):
    def test_has_what_it_promises(self):
        names = catalogue.names()
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 150)
        self.assertGreaterEqual(sum(n.startswith("timm/") for n in names), 80)
        self.assertGreaterEqual(sum(n.startswith("transformers/") for n in names), 40)
        self.assertFalse([n for n in names if "quantized" in n])

    def test_refuses_unknown_names(self):
        with self.assertRaises(KeyError):
            catalogue.make("torchvision/no_such_model", 1)


class OutcomesTest(unittest.TestCase):
    def test_tells_whose_failure_it_is(self):
        of = outcomes.of_making
        self.assertIsNone(of({"inputs": [], "libraries": []}, False, 0, ""))
        self.assertEqual(of(None, True, -9, "")[0], "too slow")
        self.assertEqual(
            of(None, False, -11, "x\nlast\n"), ("not made", "exit code -11: last")
        )
        for stage, outcome in (
            ("make", "not made"),
            ("eager", "eager fails"),
            ("trace", "not traced"),
        ):
            self.assertEqual(
                of({"failed": stage, "why": "E: e"}, False, 0, ""), (outcome, "E: e")
            )
            self.assertNotIn(outcome, outcomes.FAULTS)

    def test_reads_how_tuning_ended(self):
        of = outcomes.of_tuning
        self.assertEqual(of(REPORT, False, 0, ""), ("agrees", ""))
        self.assertEqual(of(None, True, -9, "[ 9 s] import\n")[0], "hang")
        self.assertIn("[ 9 s] import", of(None, True, -9, "[ 9 s] import\n")[1])
        self.assertEqual(of(None, False, -11, "")[0], "crash")
        self.assertEqual(of(None, False, 139, "")[1][:9], "signal 11")
        self.assertEqual(
            of(None, False, 1, "[ 1 s] load\naitune: no.\n"), ("error", "aitune: no.")
        )
        # Success without a report is none.
        self.assertEqual(of(None, False, 0, "")[0], "error")

    def test_tells_differing_from_not_compared(self):
        of = outcomes.of_tuning
        wrong = {**REPORT, "check": check(("zeros", False, False))}
        outcome, why = of(wrong, False, 3, "")
        self.assertEqual(outcome, "differs")
        self.assertIn("float32[2] on zeros: error 0.5, allowed 0.0001", why)
        skipped = {**REPORT, "check": check(("zeros", False, True))}
        self.assertEqual(of(skipped, False, 3, "x")[0], "not compared")

    def test_tells_what_eager_cannot_run(self):
        cases = check(("sample", False, False), ("zeros", False, False))
        for case in cases["cases"]:
            case["note"] = "eager raises, ours does not: two devices"
        report = {**REPORT, "check": cases}
        self.assertEqual(
            outcomes.of_tuning(report, False, 3, ""), ("eager fails", "two devices")
        )
        cases["cases"][0]["agrees"] = True
        self.assertEqual(outcomes.of_tuning(report, False, 3, "")[0], "differs")

    def test_takes_figures_from_a_report(self):
        figures = outcomes.figures(REPORT)
        self.assertEqual(figures["operator_share"], 0.75)
        self.assertEqual(figures["ours_ms"], 2.0)
        self.assertNotIn("torchscript_ms", figures)
        self.assertEqual(
            figures["left"],
            [{"operator": "aten::sort", "reason": "not supported", "count": 1}],
        )

    def test_reads_results_of_a_sweep_that_was_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.jsonl")
            self.assertEqual(outcomes.read(path), [])
            first = a_row(outcome="hang")
            with open(path, "w") as file:
                for row in (first, a_row("timm/b"), a_row()):
                    file.write(json.dumps(row) + "\n")
                file.write('{"model": "timm/c", "dty')
            self.assertEqual(outcomes.read(path), [a_row(), a_row("timm/b")])

    def test_tables(self):
        rows = [
            a_row(**outcomes.figures(REPORT)),
            a_row("timm/b", outcome="crash", why="signal 11; a|b\nc"),
        ]
        text = outcomes.text_table(rows)
        self.assertIn("2.50x", text)
        self.assertIn("aten::sort", text)
        markdown = outcomes.markdown(rows)
        self.assertIn("signal 11; a\\|b c |", markdown)
        self.assertIn("| aten::sort | not supported | 1 |", markdown)
        self.assertIn("- 1 crash: ", markdown)
        self.assertEqual(len(outcomes.counts(rows)), 2)


class SweepTest(unittest.TestCase):
    def test_selects(self):
        names = ["timm/a", "timm/b", "torchvision/a"]
        self.assertEqual(sweep.select(names, []), names)
        self.assertEqual(sweep.select(names, ["*/a"]), ["timm/a", "torchvision/a"])
        with self.assertRaisesRegex(ValueError, "no model is called torchvision/b"):
            sweep.select(names, ["torchvision/b"])
        with self.assertRaisesRegex(ValueError, "no model is called timm/c\\*"):
            sweep.select(names, ["timm/c*"])

    def test_selects_other_models_of_timm_by_name(self):
        names = ["timm/a", "torchvision/a"]
        self.assertEqual(sweep.select(names, ["timm/c.in1k"]), ["timm/c.in1k"])
        self.assertEqual(
            sweep.select(names, ["timm/c", "timm/*"]), ["timm/a", "timm/c"]
        )

    def test_makes_the_batch_dynamic(self):
        self.assertEqual(
            sweep.dynamic_inputs(["float32[8,3,224,224]", "int64[8]"], 8),
            ["float32[n=1..8,3,224,224]", "int64[n=1..8]"],
        )

    def test_combines(self):
        made = sweep.tasks(["m"], ["fp32", "bf16"], [1, 8], True, ["cuda:0", "cuda:1"])
        self.assertEqual(len(made), 6)
        self.assertEqual({task["device"] for task in made}, {"cuda"})
        self.assertEqual([task["on"] for task in made[:2]], ["cuda:0", "cuda:1"])
        self.assertEqual(len({outcomes.key(task) for task in made}), 6)

    def test_ends_what_takes_too_long_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            start = time.monotonic()
            timed_out, _, text = sweep.run(
                ["sh", "-c", "echo at work; sleep 600 & wait"], 1, log
            )
            self.assertTrue(timed_out)
            self.assertEqual(text, "at work\n")
            self.assertLess(time.monotonic() - start, 300)
            self.assertEqual(sweep.run(["sh", "-c", "exit 3"], 60, log)[:2], (False, 3))

    def test_runs_each_task_once_and_stops_in_time(self):
        done = []
        sweep.sweep(range(20), 4, None, lambda task: task, done.append)
        self.assertEqual(sorted(done), list(range(20)))
        sweep.sweep(range(20), 2, 0, lambda task: task, lambda row: self.fail())

    def run_main(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            with contextlib.redirect_stderr(io.StringIO()) as error:
                code = sweep.main(list(arguments))
        return code, out.getvalue(), error.getvalue()

    def test_goes_on_where_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            results = os.path.join(folder, "r.jsonl")
            name = "timm/resnet10t"
            with open(results, "w") as file:
                file.write(json.dumps(a_row(name)) + "\n")
            # The program is not called: the model's row is there.
            code, out, _ = self.run_main("/bin/false", results, name)
            self.assertEqual(code, 0)
            self.assertIn(name, out)
            with open(os.path.join(folder, "r.json")) as file:
                self.assertEqual(json.load(file), [a_row(name)])
            self.assertTrue(os.path.exists(os.path.join(folder, "r.md")))

    def test_exit_code_says_whether_a_model_is_at_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            results = os.path.join(folder, "r.jsonl")
            for outcome, code in (("not traced", 0), ("crash", 1)):
                with open(results, "w") as file:
                    file.write(json.dumps(a_row(outcome=outcome)) + "\n")
                self.assertEqual(
                    self.run_main("/bin/false", results, "--table")[0], code
                )

    def test_refuses_a_wrong_command_line(self):
        for arguments, message in (
            (["/bin/true", "r.txt"], "does not end with .jsonl"),
            (["/no/program", "r.jsonl"], "is no program"),
            (["/bin/true", "r.jsonl", "--dtypes", "int8"], "int8 is none of"),
            (["/bin/true", "r.jsonl", "--batches", "1,x"], "is no list"),
            (["/bin/true", "r.jsonl", "--again", "bad"], "bad is none of"),
            (["/bin/true", "r.jsonl", "--jobs", "0"], "at least 1"),
            (["/bin/true"], "are needed"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as error:
                with self.assertRaises(SystemExit):
                    sweep.parse(arguments)
            self.assertIn(message, error.getvalue())


if __name__ == "__main__":
    unittest.main()
