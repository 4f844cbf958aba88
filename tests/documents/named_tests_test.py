#!/usr/bin/env python3
"""Every test that a table of tests/README.md or quant/README.md names exists.

The last column of such a table is called "test". A test is `Suite.Name` in
backquotes, of a TEST, TEST_F or TEST_P somewhere in the checkout. Each row names
one, or a file, of which paths_test looks that it exists.
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


def rows_of(path):
    """The cells of each row of the tables whose last column is "test"."""
    names_tests = False
    previous = ""
    with open(path) as file:
        for line in file:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if line.startswith("|---"):
                names_tests = previous.split("|")[-2].strip() == "test"
            elif line.startswith("| ") and names_tests:
                yield cells
            elif not line.startswith("|"):
                names_tests = False
            previous = line


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    tables = {folder: list(rows_of(os.path.join(root, folder, "README.md"))) for folder in ("tests", "quant")}
    for folder, least in (("tests", 20), ("quant", 10)):
        assert len(tables[folder]) > least, "the tables of %s are not read" % folder
    known = set(tests_of(root))
    for row in tables["tests"] + tables["quant"]:
        named = re.findall(r"`([^`]+)`", row[-1])
        assert named, "no test: %s" % row[0]
        for name in named:
            assert "/" in name or name in known, "there is no test %s" % name
    assert "DataDependent.FallsBackWithItsReason" in known
    assert "DataDependent.NoSuchTest" not in known


sys.exit(main())
