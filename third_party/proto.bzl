"""Runs protoc."""

def aitune_proto_library(name, srcs, deps = [], visibility = None):
    """A cc_library of the messages in srcs.

    Include its header by its path in the workspace, as in
    #include "runtime/cache/entry.pb.h"; a .proto file imports another one by
    its path in the workspace too.

    Args:
      name: of the cc_library.
      srcs: the .proto files, of this package.
      deps: other aitune_proto_library targets whose files are imported.
      visibility: of the cc_library.
    """
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [dep + "_protos" for dep in deps],
        visibility = visibility,
    )
    stems = [src[:-len(".proto")] for src in srcs]
    native.genrule(
        name = name + "_protoc",
        srcs = [":%s_protos" % name],
        outs = [stem + suffix for stem in stems for suffix in [".pb.h", ".pb.cc"]],
        cmd = "/usr/bin/protoc -I. --cpp_out=$(BINDIR) " +
              " ".join(["%s/%s" % (native.package_name(), src) for src in srcs]),
        message = "protoc",
    )
    native.cc_library(
        name = name,
        srcs = [stem + ".pb.cc" for stem in stems],
        hdrs = [stem + ".pb.h" for stem in stems],
        visibility = visibility,
        deps = deps + ["//third_party:protobuf"],
    )
