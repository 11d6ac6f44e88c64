# SPDX-License-Identifier: BSD-3-Clause
# Shared functions of prolog_slurmctld and epilog_slurmctld. No job waits for the appliance or fails
# because of it: a detached process does the work, and slurmctld's child returns at once with 0.
#
# Settings are read from rocescope.conf next to the scripts (or $ROCESCOPE_SLURM_CONF), in shell syntax:
#   ROCESCOPE        the program (default: rocescope)
#   ROCESCOPE_APPLIANCE    HOST:PORT of the appliance's gRPC API (default: 127.0.0.1:50051)
#   ROCESCOPE_TLS    "--ca FILE --cert FILE --key FILE" (default: no TLS)
#   ROCESCOPE_LOG    a file for errors (default: syslog)
#   SLURM_CONF       exported, for scontrol, if slurm.conf is not in its usual place
#   ROCESCOPE_LOCKS  a directory owned by slurmctld's user (default: a directory in $TMPDIR or /tmp whose
#                    name contains the user ID)
hook_folder=$(dirname -- "$(readlink -f -- "$0")")
hook_settings=${ROCESCOPE_SLURM_CONF:-$hook_folder/rocescope.conf}
# shellcheck source=/dev/null
[ -r "$hook_settings" ] && . "$hook_settings"
: "${ROCESCOPE:=rocescope}" "${ROCESCOPE_APPLIANCE:=127.0.0.1:50051}" "${ROCESCOPE_TLS:=}"
: "${ROCESCOPE_LOG:=}" "${ROCESCOPE_LOCKS:=${TMPDIR:-/tmp}/rocescope-slurm-$(id -u)}"

# Timeout of a call in seconds. The call is killed half a second later.
hook_patience=2

hook_say() {
  if [ -n "$ROCESCOPE_LOG" ]; then
    printf '%s job %s: %s\n' "$(date -u +%FT%TZ)" "$SLURM_JOB_ID" "$1" >>"$ROCESCOPE_LOG"
  else
    logger -t rocescope -- "job $SLURM_JOB_ID: $1"
  fi
}

# hook_call register 7 --nodes ...: runs `rocescope job` and logs its output.
hook_call() {
  local said code=0
  # $ROCESCOPE_TLS contains several words.
  # shellcheck disable=SC2086
  said=$(timeout -k 0.5 "$hook_patience.5" "$ROCESCOPE" job "$@" --appliance "$ROCESCOPE_APPLIANCE" \
    --timeout "${hook_patience}s" $ROCESCOPE_TLS 2>&1) || code=$?
  [ -z "$said" ] && [ "$code" -ne 0 ] && said="rocescope job $1 failed with exit code $code"
  [ -n "$said" ] && hook_say "$said"
  return "$code"
}

# hook_run FUNCTION: runs it after waiting at most ten seconds for the job's lock.
hook_run() {
  [ "$hook_held" -eq 0 ] || flock -w 10 9
  "$1"
}

# hook_detach FUNCTION: runs it in a new session, independent of slurmctld's child. A lock for each job
# preserves the order: the end of a job waits for its registration. The lock is taken before this
# returns, and the detached process holds it until it exits.
hook_detach() {
  hook_held=0
  (umask 077 && mkdir -p -- "$ROCESCOPE_LOCKS") 2>/dev/null
  if [ -O "$ROCESCOPE_LOCKS" ] && [ ! -L "$ROCESCOPE_LOCKS" ] &&
    exec 9>"$ROCESCOPE_LOCKS/${SLURM_JOB_ID//[^0-9]/}"; then
    flock -n 9
    hook_held=$?
  else
    hook_say "cannot lock in $ROCESCOPE_LOCKS: a job that ends immediately may be reported as running"
  fi
  export -f "$1" hook_run hook_say hook_call
  export ROCESCOPE ROCESCOPE_APPLIANCE ROCESCOPE_TLS ROCESCOPE_LOG ROCESCOPE_LOCKS
  export hook_held hook_patience
  setsid --fork bash -c "hook_run $1" </dev/null >/dev/null 2>&1
}
