#!/bin/bash
# Sweeps over models with the program that was built:
#
#   ./bazelw build //frontend:aitune && tests/sweep/run.sh RESULTS.jsonl [OPTIONS] [NAME...]
#
# (sweep.py --help says which). The first call makes a Python environment of its
# own in ~/.cache/aitune (or $AITUNE_CACHE), which takes what the build's has from
# there and installs the rest of requirements.txt; the build does not need it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(realpath "$here/../..")
program=$root/bazel-bin/frontend/cli/aitune
[[ -x $program ]] || { echo "run.sh: build //frontend:aitune first" >&2; exit 1; }
[[ -e $root/.venv/bin/python ]] || { echo "run.sh: run ./bazelw once first" >&2; exit 1; }
cache=${AITUNE_CACHE:-$HOME/.cache/aitune}
builds=$(realpath "$root/.venv")
key=$(sha256sum "$here/requirements.txt" "$root/third_party/requirements.txt" | sha256sum)
environment=$cache/sweep-${key:0:12}
if [[ ! -e $environment/.complete ]]; then
  echo "run.sh: making the Python environment $environment (once)" >&2
  rm -rf "$environment"
  "$builds/bin/python" -m venv "$environment" >&2
  packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$builds/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$packages/build.pth"
  "$environment/bin/python" -m pip --disable-pip-version-check install --quiet \
    -r "$here/requirements.txt" </dev/null >&2
  touch "$environment/.complete"
fi
results=${1:?usage: run.sh RESULTS.jsonl [OPTIONS] [NAME...]}
shift
exec "$environment/bin/python" "$here/sweep.py" "$program" "$results" "$@"
