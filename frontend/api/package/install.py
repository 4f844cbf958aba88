#!/usr/bin/env python3
"""Lays out what programs outside of the workspace build against.

    ./bazelw run //frontend/api/package:install -- PREFIX

    PREFIX/bin/aitune                     the program, which also generates code
                                          for the library
    PREFIX/lib/libaitune.so, .so.VERSION  VERSION is AIT_API_VERSION
    PREFIX/lib/pkgconfig/aitune.pc        the C API; aitune-cxx.pc: C++
    PREFIX/lib/cmake/aitune/              find_package(aitune)
    PREFIX/include/aitune/aitune.h        the C API, with what it includes beside
                                          it; aitune.hpp: the same in C++
    PREFIX/include/aitune/cxx/            the C++ API and what its headers include

PREFIX can be moved. The library uses LibTorch and the other libraries of the
machine that it was built on, which must stay where they are.
"""

import os
import re
import shutil
import sys

LIBRARY = "frontend/api/libaitune.so"
PROGRAM = "frontend/cli/aitune"
API = "frontend/api/"
# aitune.h includes the others; the last is a layer in C++ over them.
C_HEADERS = [
    "aitune.h",
    "aitune_call.h",
    "aitune_inspect.h",
    "aitune_load.h",
    "aitune_tune.h",
    "aitune_types.h",
    "aitune.hpp",
]
# What README's part on embedding names.
CXX_HEADERS = [
    "frontend/api/module.h",
    "frontend/backends/compiled/torch_inductor_config.h",
    "frontend/torchscript/keyword_arguments.h",
    "frontend/torchscript/substitution.h",
    "runtime/backend/registry.h",
    "runtime/bundle/bundle_signature.h",
    "runtime/control/call_limit.h",
    "runtime/control/control.h",
    "runtime/logging/logging.h",
]
TEMPLATES = {
    "aitune.pc.in": "lib/pkgconfig/aitune.pc",
    "aitune-cxx.pc.in": "lib/pkgconfig/aitune-cxx.pc",
    "aituneConfig.cmake.in": "lib/cmake/aitune/aituneConfig.cmake",
    "aituneConfigVersion.cmake.in": "lib/cmake/aitune/aituneConfigVersion.cmake",
}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(prefix, path, data, mode=0o644):
    """Writes PREFIX/path; what another program may have open stays as it is."""
    path = os.path.join(prefix, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    staged = path + ".new"
    with open(staged, "wb") as file:
        file.write(data)
    os.chmod(staged, mode)
    os.replace(staged, path)


def included(headers):
    """The headers and those of the project that they include."""
    found, todo = set(), list(headers)
    while todo:
        header = todo.pop()
        if header in found or not os.path.exists(header):
            assert header not in headers or header in found, "%s is missing" % header
            continue
        found.add(header)
        todo += re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(header).decode(), re.MULTILINE)
    return sorted(found)


def search_path(binary):
    """The dynamic linker's search path in a linked file."""
    found = re.search(rb"\0(\$ORIGIN/[^\0]*_solib_[^\0]*)\0", binary)
    assert found, "the library has no search path"
    return found.group(1)


def without_build_tree(file):
    """The bytes of a linked file, with the folders that libraries are in by
    absolute paths in place of those relative to it, which would be looked for
    around PREFIX, where they may be another user's."""
    binary = read(file)
    path = search_path(binary)
    folders = []
    for part in path.decode().split(":"):
        if not part.startswith("$ORIGIN"):
            folders.append(part)
            continue
        # Bazel's links to the libraries.
        links = part.replace("$ORIGIN", os.path.dirname(file))
        folders += sorted({os.path.dirname(os.path.realpath(os.path.join(links, name)))
                           for name in os.listdir(links)})
    found = ":".join(dict.fromkeys(folders)).encode()
    assert len(found) <= len(path), "%s: there is no room for %s" % (file, found)
    return binary.replace(b"\0" + path + b"\0", b"\0" + found.ljust(len(path), b"\0") + b"\0")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: ./bazelw run //frontend/api/package:install -- PREFIX")
    prefix = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd()), sys.argv[1])
    version = re.search(rb"define AIT_API_VERSION (\d+)", read(API + "aitune_types.h")).group(1).decode()
    libtorch = next(os.path.dirname(part) for part in search_path(read(LIBRARY)).decode().split(":")
                    if part.endswith("/torch/lib"))
    torch = re.findall(r"define TORCH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read(os.path.join(
        libtorch, "include/torch/headeronly/version.h")).decode())
    values = {"VERSION": version, "LIBTORCH": libtorch, "TORCH": ".".join(torch)}

    write(prefix, "lib/libaitune.so." + version, without_build_tree(LIBRARY), 0o755)
    link = os.path.join(prefix, "lib/libaitune.so")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink("libaitune.so." + version, link)
    write(prefix, "bin/aitune", without_build_tree(PROGRAM), 0o755)
    for header in C_HEADERS:
        write(prefix, "include/aitune/" + header, read(API + header))
    cxx = os.path.join(prefix, "include/aitune/cxx")
    shutil.rmtree(cxx, ignore_errors=True)
    for header in included(CXX_HEADERS):
        write(cxx, header, read(header))
    for template, path in TEMPLATES.items():
        text = re.sub(r"@(\w+)@", lambda name: values[name.group(1)],
                      read("frontend/api/package/" + template).decode())
        write(prefix, path, text.encode())
    print("installed in %s" % os.path.normpath(prefix))


main()
