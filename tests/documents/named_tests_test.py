#!/usr/bin/env python3
"""Every test that tests/README.md names exists.

A test is `Suite.Name` in backquotes, of a TEST, TEST_F or TEST_P somewhere in
the checkout. Each row of a table names one, or a file, of which paths_test
looks that it exists.
"""

import os
import re
import sys

TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def tests_of(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "bazel-"))]
        for name in files:
            if name.endswith(("_test.cc", "Test.cpp")):
                with open(os.path.join(folder, name)) as file:
                    yield from (".".join(test) for test in TEST.findall(file.read()))


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    with open(os.path.join(root, "tests", "README.md")) as file:
        rows = [line.split("|") for line in file if line.startswith("| ")]
    rows = [row for row in rows if row[-2].strip() != "test"]
    assert len(rows) > 20, "the tables are not read"
    known = set(tests_of(root))
    for row in rows:
        named = re.findall(r"`([^`]+)`", row[-2])
        assert named, "no test: %s" % row[1]
        for name in named:
            assert "/" in name or name in known, "there is no test %s" % name
    assert "DataDependent.FallsBackWithItsReason" in known
    assert "DataDependent.NoSuchTest" not in known


sys.exit(main())
