#!/usr/bin/env python3
"""The headers of frontend/tracing say truly which file defines which function:
interpreter.h and region_runner.h.

A comment `// NAME.cc` or `// NAME.cc: text` there heads a group of declarations,
up to the next such comment or the end of the class. NAME.cc defines each
function that the group declares.
"""

import os
import re
import sys

HEADING = re.compile(r"^  // (\w+\.cc)(?::.*)?$")
# At the depth of the class: members of structs inside it stand further right.
FUNCTION = re.compile(r"^  (?=\S)[^/()\n]*?\b(\w+)\(", re.MULTILINE)


def groups(header):
    """The names of the functions that each group declares, by their files."""
    declared = {}
    file = None
    statement = ""
    for line in header.splitlines():
        heading = HEADING.match(line)
        if heading:
            file = heading.group(1)
            declared.setdefault(file, [])
        if line.startswith("};"):
            file = None
        code = line.split("//")[0].rstrip()
        if file is None or not code:
            continue
        statement += code + "\n"
        if not code.endswith((";", "{", "}")):
            continue
        name = FUNCTION.match(statement)
        if name and code.endswith(";"):
            declared[file].append(name.group(1))
        statement = ""
    return declared


def wrong(header, folder, owner="Interpreter"):
    """The functions of the class `owner` that the file that their group names
    does not define."""
    found = []
    for file, names in groups(header).items():
        path = os.path.join(folder, file)
        text = ""
        if os.path.exists(path):
            with open(path) as source:
                text = source.read()
        else:
            found.append("there is no %s" % file)
        found += ["%s does not define %s" % (file, name) for name in names
                  if not re.search(r"\b%s::%s\(" % (owner, name), text)]
    return found


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    folder = os.path.join(root, "frontend", "tracing")
    with open(os.path.join(folder, "interpreter.h")) as file:
        header = file.read()
    found = wrong(header, folder)
    assert not found, "\n".join(found)
    declared = groups(header)
    assert len(declared) > 10 and all(declared.values()), declared
    count = sum(len(names) for names in declared.values())
    assert count > 60, "the groups are not read: %d functions" % count

    with open(os.path.join(folder, "region_runner.h")) as file:
        header_of_regions = file.read()
    found = wrong(header_of_regions, folder, "RegionRunner")
    assert not found, "\n".join(found)
    assert len(groups(header_of_regions)) == 5, groups(header_of_regions)

    # A function in another file's group is seen, and a file that is not there.
    for heading, other in [("  // execute_call.cc\n", "  // in_place_call.cc\n"),
                           ("  // known_shapes.cc\n", ""),
                           ("  // strided_view.cc\n", "  // attic.cc\n")]:
        assert heading in header, heading
        assert wrong(header.replace(heading, other), folder), heading


sys.exit(main())
