#!/bin/bash
# Sweeps on a machine without internet whose python3 has torch (README.md):
#
#   tests/sweep/run_packed.sh PACKED RESULTS.jsonl [OPTIONS] [NAME...]
#
# PACKED holds what frontend/cli/package.sh wrote, and wheels of what of
# requirements.txt that python3 lacks.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
packed=$(realpath "${1:?usage: run_packed.sh PACKED RESULTS.jsonl [OPTIONS] [NAME...]}")
results=${2:?usage: run_packed.sh PACKED RESULTS.jsonl [OPTIONS] [NAME...]}
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for file in "$packed"/*.xz; do
  xz -dc "$file" >"$folder/$(basename "${file%.xz}")"
done
chmod +x "$folder/aitune"
if compgen -G "$packed/*.whl" >/dev/null; then
  python3 -m pip --disable-pip-version-check install -q --no-index --no-deps --no-compile \
    --target "$folder/site" "$packed"/*.whl
fi
torch=$(python3 -c 'import importlib.util as u, os; print(os.path.dirname(u.find_spec("torch").origin))')
libraries=$folder:$torch/lib
for library in "$torch"/../nvidia/*/lib; do
  [[ -d $library ]] && libraries+=:$library
done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$folder/site${PYTHONPATH:+:$PYTHONPATH}
python3 "$here/sweep.py" "$folder/aitune" "$results" --folder "$folder" "$@"
