# Shell functions that deploy/*/make share. Sourced, never run. Sets PACKAGES (where packages are put) and VERSION, and has
# files in packages carry the time of the last commit.
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

PACKAGES=$ROOT/build/packages
VERSION=$(version_of_tree)
SOURCE_DATE_EPOCH=$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
umask 022

# new_stage NAME: an empty folder to put a package together in.
new_stage() {
  local stage=$PACKAGES/stage/$1
  rm -rf "$stage"
  mkdir -p "$stage"
  echo "$stage"
}

# install_release PREFIX RUN-PATH: the installed files of the release build, its programs stripped and finding their
# libraries in RUN-PATH. DESTDIR is heeded.
install_release() {
  local bin=${DESTDIR:-}$1/bin
  cmake --install "$ROOT/build/release" --prefix "$1" --strip >/dev/null
  patchelf --set-rpath "$2" "$bin/hearthd" "$bin/hearth" "$bin/hearth-codegen"
  strip --strip-unneeded "${DESTDIR:-}$1/lib/hearth/libdnnl.so.3"
}

# A Debian 12 with nothing but its base, as a tar file; made once.
DEBIAN_BASE=$PACKAGES/stage/debian-12.tar
debian_base() {
  [[ ! -f $DEBIAN_BASE ]] || return 0
  mkdir -p "${DEBIAN_BASE%/*}"
  local new=$DEBIAN_BASE.$$.tar
  run_step "Making a clean Debian 12" mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$new"
  mv "$new" "$DEBIAN_BASE"
}
