# Shell functions that the scripts share. Sourced, never run.
# Expects bash with `set -euo pipefail`; sets ROOT (the tree) and CACHE (the folder that all checkouts share).

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${HEARTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hearth}
JOBS=${HEARTH_JOBS:-$(nproc)}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# run_step WHAT COMMAND...: runs it with its output in a log, a line of progress every ten seconds, and the end of the
# log shown if it fails.
run_step() {
  local what=$1 log start status=0
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/hearth-step.XXXXXX")
  start=$SECONDS
  say "$what ..."
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  (
    while sleep 10; do
      printf '    %ss  %s\n' $((SECONDS - start)) "$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-100)" >&2
    done
  ) &
  local ticker=$!
  wait "$pid" || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if ((status != 0)); then
    tail -n 40 "$log" >&2
    printf 'error: %s failed (exit %s); the whole log is %s\n' "$what" "$status" "$log" >&2
    return "$status"
  fi
  rm -f "$log"
  say "$what: done in $((SECONDS - start)) s"
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# install_packages FILE: installs the Debian packages that FILE lists (one a line, # comments), those missing only.
install_packages() {
  local wanted missing=() name
  mapfile -t wanted < <(sed 's/#.*//' "$1" | xargs -n1)
  for name in "${wanted[@]}"; do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [[ ${#missing[@]} == 0 ]] && return
  if ! command -v apt-get >/dev/null; then
    fail "these Debian packages are missing and there is no apt-get here: ${missing[*]}"
  fi
  run_step "Reading Debian's package lists" as_root apt-get -o DPkg::Lock::Timeout=300 update
  run_step "Installing ${#missing[@]} Debian packages" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
}

# make_environment NAME LINK: the Python environment of scripts/requirements-NAME.txt, made in the cache folder once for
# each set of pins and linked as LINK in the tree. It is made under another name and renamed when complete, under a
# lock, so that checkouts may race and a broken one is never seen.
make_environment() {
  local name=$1 link=$ROOT/$2 pins=$ROOT/scripts/requirements-$1.txt hash folder making
  hash=$({ cat "$pins"; /usr/bin/python3 -c 'import sys; print(sys.version_info[:2])'; } | sha256sum | cut -c 1-12)
  folder=$CACHE/env-$name-$hash
  mkdir -p "$CACHE"
  if [[ ! -d $folder ]]; then
    exec 8>"$CACHE/env-$name.lock"
    flock 8
    if [[ ! -d $folder ]]; then
      making=$CACHE/making-env-$name-$hash
      rm -rf "$making"
      run_step "Making the Python environment '$name'" fill_environment "$making" "$pins"
      # Scripts of the environment name their interpreter by its path.
      grep -rIl "$making" "$making/bin" "$making/pyvenv.cfg" | xargs -r sed -i "s|$making|$folder|g"
      mv "$making" "$folder"
    fi
    exec 8>&-
  fi
  ln -sfn "$folder" "$link"
}

fill_environment() {
  /usr/bin/python3 -m venv "$1"
  "$1/bin/python" -m pip install --no-input --disable-pip-version-check --no-deps --no-compile -r "$2"
}
