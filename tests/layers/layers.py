"""What may depend on what, and the check of a dependency graph against it."""

import re

# The rooms of the compiler from the ground up. A room depends on rooms further
# down and on rooms inside itself; rooms of one line do not see each other.
COMPILER = [
    ["compiler/dialect", "compiler/support", "compiler/codegen/cpu/target",
     "compiler/codegen/gpu/target", "compiler/codegen/gpu/prelude"],
    ["compiler/transforms", "compiler/fusion", "compiler/codegen/linalg",
     "compiler/codegen/loops", "compiler/reference"],
    ["compiler/codegen/contraction", "compiler/codegen/cpu/llvm",
     "compiler/codegen/gpu/text"],
    ["compiler/codegen/cpu/loops", "compiler/codegen/gpu/loops"],
    ["compiler/codegen/cpu/contraction", "compiler/codegen/gpu/contraction"],
    ["compiler/codegen/gpu"],
    ["compiler"],  # Compiler.h: options and results
    ["compiler/plan"],
    ["compiler/pipelines", "compiler/schedule"],
    ["compiler/measure"],
    ["compiler/candidates"],
    ["compiler/tune"],
    ["compiler/driver", "compiler/plugin", "compiler/tools"],
]

# The rooms of the frontend, likewise. A room has the folders inside it that are
# no rooms of their own: `backends` is one with the folders of its kinds.
FRONTEND = [
    ["frontend/json", "frontend/values"],
    ["frontend/torchscript"],
    ["frontend/trace", "frontend/reduce"],
    ["frontend/tracing", "frontend/importer"],
    ["frontend/check"],
    ["frontend/compiled_model"],
    ["frontend/compiled_model/compile", "frontend/backends"],
    ["frontend/checkpoint"],
    ["frontend/api"],
    ["frontend/cli"],
    ["frontend"],  # the program's name, //frontend:aitune
]

# The rooms of the runtime, likewise.
RUNTIME = [
    ["runtime/control", "runtime/hash", "runtime/logging", "runtime/status",
     "runtime/target", "runtime/tensor"],
    ["runtime/bundle", "runtime/cache", "runtime/device", "runtime/plan"],
    ["runtime/cpu"],
    ["runtime/executable"],
    ["runtime/backend", "runtime/cuda"],
    ["runtime/guards", "runtime/strategy"],
]

# (from, to, why): no path leads from a target whose label matches the first to
# one that matches the second.
FORBIDDEN_PATHS = [
    (r"//runtime[/:]", r"//(compiler|frontend|quant)[/:]",
     "the runtime is below everything else"),
    (r"//runtime[/:]", r"@llvm//",
     "a program that only runs models has no LLVM in it"),
    (r"//runtime[/:]", r"@torch//:torch$",
     "the runtime runs plans, with or without LibTorch"),
    (r"//frontend/checkpoint:deploy$", r"@llvm//",
     "a deployed program has no LLVM in it"),
    (r"//compiler[/:]", r"@torch//:torch$",
     "the compiler knows the dialect alone"),
    (r"//compiler[/:]", r"//frontend[/:]",
     "the compiler is below the frontend"),
    (r"//quant[/:]", r"//frontend[/:]",
     "rewrites are below the frontend"),
    (r"//quant[/:]", r"//compiler/(driver|candidates|tune|measure)[/:]",
     "rewrites are passes that the driver runs"),
    (r"//compiler/codegen/cpu[/:]", r"//compiler/codegen/gpu[/:]",
     "devices do not see each other"),
    (r"//compiler/codegen/gpu[/:]", r"//compiler/codegen/cpu[/:]",
     "devices do not see each other"),
    (r"//frontend/(importer|trace:trace$)", r"@torch//:torch$",
     "the importer reads traces, not LibTorch's graphs"),
]


def parse(text):
    """The edges of `bazel query --output=graph`, as a dict of sets."""
    edges = {}
    for line in text.splitlines():
        nodes = re.findall(r'"([^"]+)"', line)
        if "->" in line and len(nodes) == 2:
            edges.setdefault(nodes[0], set()).add(nodes[1])
    return edges


def _package(label):
    return label[2:].split(":")[0] if label.startswith("//") else None


def _room(label):
    """The room of a target and its floor; (None, None) in another house."""
    package = _package(label)
    for house in (COMPILER, FRONTEND, RUNTIME):
        for floor, rooms in enumerate(house):
            if package in rooms:
                return package, floor
    if package and package.startswith("frontend/"):
        return _room("//" + package.rpartition("/")[0])
    return None, None


def _path(edges, start, pattern):
    """A path from `start` to a label that matches; None if there is none."""
    came_from = {start: None}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node != start and re.match(pattern, node):
            path = []
            while node is not None:
                path.append(node)
                node = came_from[node]
            return path[::-1]
        for successor in sorted(edges.get(node, ())):
            if successor not in came_from:
                came_from[successor] = node
                waiting.append(successor)
    return None


def violations(edges):
    """What breaks the rules, a line each."""
    found = []
    for source in sorted(edges):
        package = _package(source)
        room, upper = _room(source)
        house = package.split("/")[0] if package else None
        if (house in ("compiler", "runtime") and room is None
                or room == "frontend" != package):
            found.append("%s: the room is not in layers.py" % package)
            continue
        for target in sorted(edges[source]):
            other, lower = _room(target)
            if (room is None or other is None or other == room
                    or other.split("/")[0] != house):
                continue
            if lower >= upper:
                found.append("%s -> %s: a room depends on rooms below it only"
                             % (source, target))
    for start, goal, why in FORBIDDEN_PATHS:
        for source in sorted(edges):
            if re.match(start, source):
                path = _path(edges, source, goal)
                if path:
                    found.append("%s: %s" % (" -> ".join(path), why))
    return found
