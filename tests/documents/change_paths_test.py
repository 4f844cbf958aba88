#!/usr/bin/env python3
"""compiler/README.md names the files that a change of each kind touches.

An example stands for each kind: every file of the code that knows the example
must be named in the section of its kind. Comments and tests are not counted. A
file more than there were is seen, so that each one that learns of such a thing
is meant to. An example's own files, which bear its name, cost little: the next
thing of the kind gets its own. Shared files do not bear it: each of them has to
be found and edited for the next thing.
"""

import os
import re
import sys

# The section's title, what the example is called in the code in all spellings,
# the folders that are looked through, and the numbers of own and shared files.
SECTIONS = [
    ("A pointwise operation", r"(?i)\b(?:Ait_|approximate)?Erf(?:Op)?\b", r"(?i)erf(?![a-z])",
     ["compiler", "frontend/importer"], 0, 10),
    ("A data-movement operation", r"(?i)\b(?:Ait_)?Flip(?:Op)?\b", r"(?i)flip",
     ["compiler", "frontend/importer", "frontend/check"], 0, 8),
    ("A contraction-like operation", r"(?i)attention", r"(?i)attention",
     ["compiler", "frontend/importer", "frontend/compiled_model"], 17, 10),
    ("An 8-bit operand format", r"(?i)float8|e4m3|isFloatCode", r"(?i)float8|e4m3",
     ["compiler", "runtime", "frontend/importer", "frontend/torchscript", "frontend/values"], 0, 23),
]


def is_code(name):
    return (name.endswith((".cc", ".cpp", ".cuh", ".h", ".td")) and
            not re.search(r"(Test|_test|Testing)\.\w+$", name))


def without_comments(text):
    return re.sub(r"//.*", "", text)


def knowing(root, folders, pattern, own):
    """The files below the folders that bear the name, and those that hold the
    pattern without it, as paths of the root."""
    owned, shared = [], []
    for top in folders:
        for folder, inner, names in os.walk(os.path.join(root, top)):
            inner[:] = [name for name in inner if name != "testing"]
            for name in filter(is_code, names):
                path = os.path.join(folder, name)
                if re.search(own, name):
                    owned.append(os.path.relpath(path, root))
                    continue
                with open(path) as file:
                    if re.search(pattern, without_comments(file.read())):
                        shared.append(os.path.relpath(path, root))
    return sorted(owned), sorted(shared)


def section(text, title):
    found = re.search(r"^\*\*%s\*?\*?.*?(?=^\*\*|^## )" % re.escape(title), text, re.DOTALL | re.MULTILINE)
    assert found, "the page has no section '%s'" % title
    return found.group(0)


def is_named(path, text):
    """By the path from the root, from compiler/, or by its name beside a folder."""
    names = [path, path.removeprefix("compiler/")]
    if os.path.dirname(path).removeprefix("compiler/") in text:
        names.append(os.path.basename(path))
    return any("`%s`" % name in text for name in names)


def missing(root, page):
    return ["'%s' does not name %s" % (title, path)
            for title, pattern, own, folders, _, _ in SECTIONS
            for files in knowing(root, folders, pattern, own)
            for path in files
            if not is_named(path, section(page, title))]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    with open(os.path.join(root, "compiler", "README.md")) as file:
        page = file.read()
    found = missing(root, page)
    assert not found, "\n".join(found)
    for title, pattern, own, folders, own_count, shared_count in SECTIONS:
        owned, shared = knowing(root, folders, pattern, own)
        for what, files, count in [("own", owned, own_count), ("shared", shared, shared_count)]:
            assert len(files) == count, "'%s': %d %s files know the example and not %d: %s" % (
                title, len(files), what, count, ", ".join(files))

    # A file that is no longer named is seen.
    for gone in ["`reference/Pointwise.cpp`", "`transforms/FormAttention.cpp`"]:
        assert missing(root, page.replace(gone, "")), gone


sys.exit(main())
