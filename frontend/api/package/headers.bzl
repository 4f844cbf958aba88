"""The headers of a library that are this project's own."""

def _project_headers_impl(ctx):
    headers = ctx.attr.library[CcInfo].compilation_context.headers.to_list()
    own = [header for header in headers if not header.owner.workspace_name and header.extension == "h"]
    return DefaultInfo(
        files = depset(own),
        runfiles = ctx.runfiles(files = own),
    )

# The headers, written and generated, of this workspace that `library` and what
# it depends on have.
project_headers = rule(
    implementation = _project_headers_impl,
    attrs = {"library": attr.label(providers = [CcInfo])},
)
