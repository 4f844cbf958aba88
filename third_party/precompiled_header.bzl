"""Compiles headers once that hundreds of files include.

The headers of MLIR and of LibTorch take longer to read than our code takes to
compile. Clang saves what it read, and files of the same flags start from there.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    libraries = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = libraries.compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        # Standard input, which is empty: a file of ours would be one that
        # every user reads, by its absolute path.
        source_file = "-",
        output_file = output.path,
        # As .bazelrc's --force_pic makes all others.
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + [
            "-xc++-header",
            # Functions that any file needs are instantiated here, once.
            "-fpch-instantiate-templates",
            # Headers of another checkout have other times, the same bytes.
            "-Xclang",
            "-fno-pch-timestamp",
        ] + ["-include" + header for header in ctx.attr.headers],
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        # Clang writes absolute paths: this name of the current folder holds in
        # every checkout, so that the bytes and the keys of the disk cache do.
        env = {"PWD": "/proc/self/cwd"},
        inputs = depset(transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling headers to %s" % output.short_path,
    )
    headers = cc_common.create_compilation_context(
        headers = depset([output]),
    )
    return [
        DefaultInfo(files = depset([output])),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = headers)],
            cc_infos = [libraries],
        ),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = """Compiles `headers` to NAME.pch.

To its dependents it is `deps` with the file NAME.pch, which -include-pch reads:
//third_party:cc.bzl adds both. Flags of a dependent that change the language or
the generated code (-std, -f...) must be those of all files, or Clang refuses
the file.""",
    attrs = {
        "headers": attr.string_list(
            doc = """the headers of `deps` and of the system to compile, as #include names
them; none of this project, whose changes would go unnoticed""",
            mandatory = True,
        ),
        "deps": attr.label_list(
            doc = "the libraries of `headers`: all found through `includes`, as system headers",
            providers = [CcInfo],
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
