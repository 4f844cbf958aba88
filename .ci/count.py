"""Prints "N passed, N failed" from Bazel's build events: count.py EVENTS CODE.

A test target that did not build, or was not reached, has failed. So has a build
that ended with an error (CODE is its exit code) before it came to any test, or
whose events end within one.
"""

import json
import sys


def count(lines, code):
    tests, passed = set(), set()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # cut off, as by a full disk
            code = code or 1
            break
        kind = event["id"]
        if "targetConfigured" in kind:
            rule = event.get("configured", {}).get("targetKind", "")
            if rule.endswith("_test rule"):
                tests.add(kind["targetConfigured"]["label"])
        if "testSummary" in kind:
            label = kind["testSummary"]["label"]
            tests.add(label)
            if event["testSummary"]["overallStatus"] in ("PASSED", "FLAKY"):
                passed.add(label)
    failed = tests - passed
    for label in sorted(failed):
        print(f"failed: {label}")
    if code and not failed:
        print(f"failed: the build itself (exit code {code})")
        return len(passed), 1
    return len(passed), len(failed)


def main():
    try:
        with open(sys.argv[1]) as file:
            lines = [line for line in file if line.strip()]
    except OSError:
        lines = []
    print("%d passed, %d failed" % count(lines, int(sys.argv[2])))


if __name__ == "__main__":
    main()
