"""A digest of the sources of targets, and of all that they depend on: of this
project's but third_party/, and of the headers of libraries, whose texts and
binary forms the code depends on."""

_SourcesInfo = provider(
    doc = "Files that a target is compiled from.",
    fields = {"files": "a depset, of its dependencies too"},
)

def _sources_impl(_, ctx):
    own = [
        file
        for attribute in ["srcs", "hdrs", "textual_hdrs"]
        for target in getattr(ctx.rule.attr, attribute, [])
        for file in target.files.to_list()
        if not file.short_path.startswith("third_party/")
    ]
    return [_SourcesInfo(files = depset(own, transitive = [
        target[_SourcesInfo].files
        for target in getattr(ctx.rule.attr, "deps", [])
        if _SourcesInfo in target
    ]))]

_sources = aspect(implementation = _sources_impl, attr_aspects = ["deps"])

def _source_digest_impl(ctx):
    files = depset(ctx.files.srcs, transitive = [
        target[_SourcesInfo].files
        for target in ctx.attr.deps
    ])
    output = ctx.actions.declare_file(ctx.label.name + ".inc")
    arguments = ctx.actions.args()
    arguments.use_param_file("%s", use_always = True)
    arguments.set_param_file_format("multiline")
    by_path = {file.short_path: file for file in files.to_list()}
    arguments.add_all([by_path[path] for path in sorted(by_path)])
    ctx.actions.run_shell(
        inputs = files,
        outputs = [output],
        arguments = [arguments],
        command = "xargs -d '\\n' cat <$1 | sha256sum | " +
                  "sed 's/\\([0-9a-f]*\\).*/\"\\1\"/' >" + output.path,
        mnemonic = "SourceDigest",
    )
    return [DefaultInfo(files = depset([output]))]

source_digest = rule(
    implementation = _source_digest_impl,
    doc = """Writes NAME.inc: a string literal of the SHA-256 of the files `srcs` and of
the sources and headers that `deps` are compiled from, in 64 hexadecimal digits.""",
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "deps": attr.label_list(aspects = [_sources]),
    },
)
