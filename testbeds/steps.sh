# SPDX-License-Identifier: BSD-3-Clause
# For scripts that do things in steps: says each step with the time since the start, on stderr.
# Source it; it leaves the shell at the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Another checkout of the same sources finds in ccache what this one compiled.
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

# install SECTION...: what is missing of these sections of docker/packages.txt.
install() {
  say "Checking that the packages are there (docker/packages.txt: $*)."
  docker/install_packages "$@"
}

# build PRESET: configures when there is nothing yet or the presets changed (ninja sees the rest by
# itself), then builds.
build() {
  if [ ! -f "build/$1/build.ninja" ] || [ CMakePresets.json -nt "build/$1/build.ninja" ]; then
    say "Configuring the preset \"$1\" in build/$1."
    quietly cmake --preset "$1"
  fi
  say "Building it with $(nproc) jobs."
  if [ -t 2 ]; then
    cmake --build --preset "$1" -j "$(nproc)" >&2
  else
    quietly cmake --build --preset "$1" -j "$(nproc)"
  fi
}
