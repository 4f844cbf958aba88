#!/bin/bash
# bazelw with stand-ins for the programs that it calls: what it says and does
# when something is missing, and that it says nothing when all is there.
set -u
sources=$PWD
stubs=$TEST_TMPDIR/stubs
work=$TEST_TMPDIR/checkout
failures=0

# Programs: the real ones that change nothing, and stand-ins that read their
# answers from the environment.
mkdir -p "$stubs"
for tool in awk basename bash cat comm cut dirname find flock getent ln mkdir \
  readlink rm sha256sum sort tail touch xargs; do
  ln -sf "$(command -v $tool)" "$stubs/$tool"
done
stub() {
  printf '#!/bin/bash\n%s\n' "$2" >"$stubs/$1"
  chmod +x "$stubs/$1"
}
stub id 'echo "$STUB_UID"'
stub df 'echo "Filesystem 1024-blocks Used Available"; echo "disk 0 0 $((STUB_FREE_GIB * 1024 * 1024))"'
stub dpkg-query 'shift 3; for p; do [[ $p == "$STUB_MISSING" ]] || echo "$p installed"; done'
stub apt-get 'echo "apt-get $*" >>"$STUB_LOG"; exit "$STUB_APT_CODE"'
stub apt-cache 'echo "$2:"; echo "  Candidate: $STUB_CANDIDATE"'
stub bazel 'echo "bazel $*"'
stub python3 '
case "$1 $2" in
  "-c "*) exit "$STUB_PYTHON_CODE" ;;
  "--version "*) echo "Python 3.8.0" ;;
  "-m venv") mkdir -p "$3/bin"; ln -s "$0" "$3/bin/python" ;;
  "-m pip") echo pip >>"$STUB_LOG"; exit "$STUB_PIP_CODE" ;;
  *make_models.py*) shift; echo "models: $*" >>"$STUB_LOG" ;;
esac'

fresh() { # a checkout and a cache with nothing made
  rm -rf "$work" "$TEST_TMPDIR/cache"
  mkdir -p "$work/third_party" "$work/tests/models"
  cp "$sources/bazelw" "$work"
  cp "$sources"/third_party/{debian-packages,requirements}.txt "$work/third_party"
  touch "$work/tests/models/make_models.py"
  : >"$TEST_TMPDIR/log"
  export STUB_UID=0 STUB_FREE_GIB=100 STUB_MISSING= STUB_APT_CODE=0 \
    STUB_CANDIDATE=1.0 STUB_PYTHON_CODE=0 STUB_PIP_CODE=0 \
    STUB_LOG=$TEST_TMPDIR/log AITUNE_CACHE=$TEST_TMPDIR/cache
}

check() { # what, actual, pattern
  # shellcheck disable=SC2053
  [[ $2 == $3 ]] && return
  echo "FAILED: $1: expected '$3', got:" >&2
  echo "$2" >&2
  failures=$((failures + 1))
}

bazelw() { # sets output, code
  output=$(cd "$work" && PATH=$stubs ./bazelw "$@" 2>&1)
  code=$?
}

fresh
bazelw build //x
check "first run" "$code:$output" "0:bazelw: making the Python environment*bazel build //x"
check "venv is linked" "$(readlink "$work/.venv")" "$TEST_TMPDIR/cache/venv-*"
check "models are linked" "$(readlink "$work/.models")" "$TEST_TMPDIR/cache/models-*"
check "options for bazel" "$(<"$work/.bazelrc.local")" \
  "*AITUNE_VENV=$TEST_TMPDIR/cache/venv-*--disk_cache=$TEST_TMPDIR/cache/*AITUNE_MODELS=$TEST_TMPDIR/cache/models-*"
bazelw build -- a "b c"
check "second run is quiet" "$code:$output" "0:bazel build -- a b c"
check "one installation" "$(<"$TEST_TMPDIR/log")" "pip"
echo "torch==99" >>"$work/third_party/requirements.txt"
bazelw build
check "other requirements" "$(<"$TEST_TMPDIR/log")" $'pip\npip'

fresh
export STUB_UID=1000 STUB_MISSING=clang-22
bazelw build
check "not root" "$code:$output" "1:bazelw: not root*sudo apt-get install --no-install-recommends clang-22"

fresh
export STUB_MISSING=clang-22
bazelw build
check "installs a package" "$code:$(<"$TEST_TMPDIR/log")" "0:*apt-get -qq install*clang-22*"
export STUB_CANDIDATE="(none)"
bazelw build
check "no such package" "$code:$output" "1:*the Debian package clang-22 can't be had*"
export STUB_CANDIDATE=1.0 STUB_APT_CODE=1
bazelw build
check "apt-get fails" "$code:$output" "1:*apt-get could not install: clang-22*"
export STUB_APT_CODE=0 STUB_FREE_GIB=1
bazelw build
check "no space for packages" "$code:$output" \
  "1:bazelw: the disk is short: installing Debian packages needs * 1 GiB are free."
rm "$stubs/dpkg-query"
bazelw build
check "not Debian" "$code:$output" "1:bazelw: this is no Debian system*"
stub dpkg-query 'shift 3; for p; do echo "$p installed"; done'

fresh
export STUB_FREE_GIB=1
bazelw build
check "no space for venv" "$code:$output" \
  "1:bazelw: the disk is short: the Python environment needs * 1 GiB are free."
export STUB_FREE_GIB=100 STUB_PYTHON_CODE=1
bazelw build
check "old Python" "$code:$output" "1:bazelw: Python 3.10 or newer is needed; python3 is Python 3.8.0."
export STUB_PYTHON_CODE=0 STUB_PIP_CODE=1
bazelw build
check "pip fails" "$code:$output" "1:*pip could not install*"
export STUB_PIP_CODE=0
bazelw build
check "starts anew after a failure" "$code:$output" "0:*bazel build"

fresh
bazelw test //...
check "tests make all models" "$code:$(<"$TEST_TMPDIR/log")" $'0:pip\nmodels: */cache/models-*'
bazelw test //...
check "models are made once" "$code:$output" "0:bazel test //..."
bazelw --max_idle_secs=1 run //frontend:aitune -- tune .models/mlp_bf16.pt
check "run makes the model it names" "$(tail -n 1 "$TEST_TMPDIR/log")" "models: */models-* mlp_bf16"
touch "$work/.models/mlp.pt"
bazelw run //frontend:aitune -- tune .models/mlp.pt
check "a model that is there" "$code:$output" "0:bazel run //frontend:aitune -- tune .models/mlp.pt"

fresh
mkdir "$work/.venv"
bazelw build
check "a folder in the way" "$code:$output" "1:*.venv is in the way*"

fresh
bazelw build
disk_cache=$TEST_TMPDIR/cache/bazel-disk-cache
mkdir -p "$disk_cache"/{ac,cas}/00
entry() { # NAME GIB HOURS: one that was read so long ago
  truncate -s "$2G" "$disk_cache/$1"
  touch -a -d "$3 hours ago" "$disk_cache/$1"
}
entries() { (cd "$disk_cache" && find . -type f -printf '%P\n' | sort | tr '\n' ' '); }
entry cas/00/old 6 50
entry cas/00/new 6 2
entry ac/00/newer 0 1
bazelw build
check "not looked at again on that day" "$(entries)" "ac/00/newer cas/00/new cas/00/old "
touch -d "25 hours ago" "$disk_cache.tended"
bazelw build
check "what was read last stays" "$code:$output:$(entries)" "0:bazel build:ac/00/newer cas/00/new "
export STUB_FREE_GIB=2
bazelw build
check "less of it on a short disk" "$code:$output:$(entries)" "0:bazel build:ac/00/newer "
export STUB_FREE_GIB=0
bazelw build
check "no space to build" "$code:$output" \
  "1:bazelw: the disk is short: building needs 1 GiB in *disk-cache, 0 GiB are free."
bazelw clean
check "a full disk can be cleaned" "$code:$output" "0:bazel clean"

((failures == 0))
