"""Runs mlir-tblgen."""

def mlir_tablegen(name, td_file, outs, td_srcs = [], visibility = None):
    """Generates headers from an ODS file.

    Args:
      name: a cc_library with the generated files; depend on it.
      td_file: the .td file to read.
      outs: list of (arguments for mlir-tblgen, file to write), for example
        [("-gen-op-decls", "AitOps.h.inc")]. Include a file by its path in the
        workspace: #include "compiler/dialect/AitOps.h.inc".
      td_srcs: the .td files of this project that td_file includes, by their
        paths in the workspace.
      visibility: of the cc_library.
    """
    for arguments, out in outs:
        native.genrule(
            name = "%s_%s" % (name, out.replace("/", "_")),
            srcs = [td_file, "@llvm//:bin/mlir-tblgen", "@llvm//:td_files"] + td_srcs,
            outs = [out],
            cmd = "$(location @llvm//:bin/mlir-tblgen) -I . -I external/llvm/include " +
                  "%s $(location %s) -o $@" % (arguments, td_file),
            message = "mlir-tblgen",
        )
    native.cc_library(
        name = name,
        textual_hdrs = [out for _, out in outs],
        visibility = visibility,
        deps = ["@llvm//:mlir"],
    )
