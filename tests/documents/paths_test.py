#!/usr/bin/env python3
"""Every path that a README.md or SECURITY.md names exists.

A path is what stands in backquotes outside of code blocks and ends in a source
file's ending, or starts with a folder. It is of the README's own folder or of
the repository's root; a bare file name may also be of a folder below the
README's.
"""

import glob
import itertools
import os
import re
import sys

ENDINGS = ("bzl", "cc", "cpp", "cuh", "h", "md", "mlir", "proto", "py", "sh", "td", "txt")


def paths(text, folders):
    """The paths that the text names, with the number of their lines."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        if inside:
            continue
        for token in re.findall(r"`([^`]+)`", line):
            if not re.fullmatch(r"[\w.*{},+/-]+", token) or token.startswith("/"):
                continue
            stem, _, ending = token.rpartition(".")
            if stem and ending in ENDINGS or "/" in token and token.split("/")[0] in folders:
                yield number, token


def alternatives(path):
    """`a.{cc,h}` as `a.cc` and `a.h`."""
    parts = [part.split(",") for part in re.split(r"[{}]", path)]
    return ["".join(choice) for choice in itertools.product(*parts)]


def exists(root, folder, path):
    places = [os.path.join(folder, path), os.path.join(root, path)]
    if "/" not in path:
        places.append(os.path.join(folder, "**", path))
    return any(glob.glob(place, recursive=True) for place in places)


def subfolders(folder):
    return {entry.name for entry in os.scandir(folder)
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")}


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "bazel-"))]
        for name in ("README.md", "SECURITY.md"):
            if name in files:
                yield os.path.join(folder, name)


def missing(root, document, text):
    folder = os.path.dirname(document)
    folders = subfolders(root) | subfolders(folder)
    return [(number, path) for number, path in paths(text, folders)
            for choice in alternatives(path) if not exists(root, folder, choice)]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    found, named = [], 0
    for document in documents(root):
        with open(document) as file:
            text = file.read()
        folder = os.path.dirname(document)
        named += sum(1 for _ in paths(text, subfolders(root) | subfolders(folder)))
        found += ["%s:%d: there is no %s" % (os.path.relpath(document, root), *place)
                  for place in missing(root, document, text)]
    assert not found, "\n".join(found)
    assert named > 100, "the documents are not read: %d paths" % named

    # A path that does not exist is seen, in each of the forms.
    document = os.path.join(root, "compiler", "README.md")
    for path in ["attic.cpp", "attic/Pass.h", "compiler/attic", "dialect/Attic.{h,cpp}"]:
        assert missing(root, document, "text `%s` text" % path), path
    assert not missing(root, document, "`dialect/Ait.h` `Passes.td` `mr/nr`")


sys.exit(main())
