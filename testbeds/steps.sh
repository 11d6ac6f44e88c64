# SPDX-License-Identifier: BSD-3-Clause
# Functions for scripts with steps: prints each step with the elapsed time to standard error. Source
# this file; it changes to the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Lets different checkouts of the same sources share ccache entries.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

say() { printf '[%3d s] %s\n' "$SECONDS" "$*" >&2; }

# Shows a command's output only if it fails.
quietly() {
  local log status=0
  log="$(mktemp)"
  "$@" >"$log" 2>&1 || status=$?
  [ $status -eq 0 ] || { cat "$log" >&2; say "Failed: $*"; }
  rm -f "$log"
  return $status
}

# install SECTION...: installs the missing packages of these sections of docker/packages.txt.
install() {
  say "Checking the installed packages (docker/packages.txt: $*)."
  docker/install_packages "$@"
}

# build PRESET: configures if there is no build yet or the presets changed (ninja detects all other
# changes), then builds.
build() {
  if [ ! -f "build/$1/build.ninja" ] || [ CMakePresets.json -nt "build/$1/build.ninja" ]; then
    say "Configuring the preset \"$1\" in build/$1."
    quietly cmake --preset "$1"
  fi
  say "Building with $(nproc) jobs."
  if [ -t 2 ]; then
    cmake --build --preset "$1" -j "$(nproc)" >&2
  else
    quietly cmake --build --preset "$1" -j "$(nproc)"
  fi
}
