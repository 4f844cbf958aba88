#!/usr/bin/env python3
"""compiler/README.md names the files that a change of each kind touches.

An example stands for each kind: every file of the code that knows the example
must be named in the section of its kind. Tests are not counted. A file more
than there were is seen, so that each one that learns of such a thing is meant
to.
"""

import os
import re
import sys

# The section's title, what the example is called in the code, the folders that
# are looked through, and the number of files there.
SECTIONS = [
    ("A pointwise operation", r"\bErfOp\b|\bAit_ErfOp\b", ["compiler", "frontend/importer"], 5),
    ("A data-movement operation", r"\bFlipOp\b|\bAit_FlipOp\b", ["compiler", "frontend/importer"], 8),
    ("A contraction-like operation",
     r"\b(?:Ait_)?AttentionOp\b|KernelKind::Attention|\b(?:analyze|emit|generate|list|lower)Attention\w*\(",
     ["compiler", "frontend/importer"], 15),
    ("An 8-bit operand format", r"Float8E4M3F[nN]",
     ["compiler", "runtime", "frontend/importer", "frontend/torchscript", "frontend/values"], 15),
]


def is_code(name):
    return (name.endswith((".cc", ".cpp", ".cuh", ".h", ".td")) and
            not re.search(r"(Test|_test|Testing)\.\w+$", name))


def knowing(root, folders, pattern):
    """The files below the folders that hold the pattern, as paths of the root."""
    found = []
    for top in folders:
        for folder, inner, names in os.walk(os.path.join(root, top)):
            inner[:] = [name for name in inner if name != "testing"]
            for name in filter(is_code, names):
                path = os.path.join(folder, name)
                with open(path) as file:
                    if re.search(pattern, file.read()):
                        found.append(os.path.relpath(path, root))
    return sorted(found)


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
            for title, pattern, folders, _ in SECTIONS
            for path in knowing(root, folders, pattern)
            if not is_named(path, section(page, title))]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    with open(os.path.join(root, "compiler", "README.md")) as file:
        page = file.read()
    found = missing(root, page)
    assert not found, "\n".join(found)
    for title, pattern, folders, count in SECTIONS:
        files = knowing(root, folders, pattern)
        assert len(files) == count, "'%s': %d files know the example and not %d: %s" % (
            title, len(files), count, ", ".join(files))

    # A file that is no longer named is seen.
    for gone in ["`reference/Pointwise.cpp`", "`transforms/FormAttention.cpp`"]:
        assert missing(root, page.replace(gone, "")), gone


sys.exit(main())
