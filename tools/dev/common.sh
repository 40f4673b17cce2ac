# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by the scripts of this folder: where things are, and how progress is said.

kiln_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
kiln_home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
kiln_cache=${KILN_CACHE:-${XDG_CACHE_HOME:-$kiln_home/.cache}/kiln}
# Nested scripts go on counting from the outermost one's start.
export KILN_STARTED=${KILN_STARTED:-$EPOCHSECONDS}

kiln_say() { printf '[%4d s] %s\n' "$((EPOCHSECONDS - KILN_STARTED))" "$*" >&2; }

kiln_die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

kiln_sha() { sha256sum "$@" | sha256sum | cut -c1-12; }

# kiln_run <what> <command>...: one long step. Its output goes to a log; a terminal sees one line that
# moves, a pipe a line every 30 s; a failure shows what the log says.
kiln_run() {
  local what=$1 log pid status=0 beat=$EPOCHSECONDS last
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/kiln-step.XXXXXX")
  kiln_say "$what"
  "$@" > "$log" 2>&1 < /dev/null &
  pid=$!
  while kill -0 "$pid" 2> /dev/null; do
    sleep 0.2
    last=$(tail -n 1 -- "$log" | tr -d '\r' | cut -c1-60)
    if [ -t 2 ]; then
      printf '\r\033[K[%4d s]   %s' "$((EPOCHSECONDS - KILN_STARTED))" "$last" >&2
    elif [ "$((EPOCHSECONDS - beat))" -ge 30 ]; then
      kiln_say "  still busy: $last"
      beat=$EPOCHSECONDS
    fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    # Ninja says what went wrong after "FAILED:"; others say it last.
    if grep -q '^FAILED: ' -- "$log"; then
      sed -n '/^FAILED: /,$p' -- "$log" | head -n 200 >&2
    else
      tail -n 60 -- "$log" >&2
    fi
    printf 'error: %s: failed (exit status %d)\n' "$what" "$status" >&2
  fi
  rm -f -- "$log"
  return "$status"
}
