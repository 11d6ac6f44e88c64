# SPDX-License-Identifier: BSD-3-Clause
# What prolog_slurmctld and epilog_slurmctld share. No job waits for the box or fails because of it:
# the work is done by a process of its own, slurmctld's child returns at once and always with 0.
#
# Settings, from rocescope.conf beside the scripts (or $ROCESCOPE_SLURM_CONF), a file of the shell:
#   ROCESCOPE        the program; rocescope if not set
#   ROCESCOPE_BOX    HOST:PORT of the box's gRPC; 127.0.0.1:50051
#   ROCESCOPE_TLS    "--ca FILE --cert FILE --key FILE"; nothing
#   ROCESCOPE_LOG    a file for what went wrong; syslog
#   SLURM_CONF       exported, where slurm.conf is not in its usual place: scontrol wants it
#   ROCESCOPE_LOCKS  a folder of slurmctld's user; $TMPDIR, or /tmp, with the user's number
hook_folder=$(dirname -- "$(readlink -f -- "$0")")
hook_settings=${ROCESCOPE_SLURM_CONF:-$hook_folder/rocescope.conf}
# shellcheck source=/dev/null
[ -r "$hook_settings" ] && . "$hook_settings"
: "${ROCESCOPE:=rocescope}" "${ROCESCOPE_BOX:=127.0.0.1:50051}" "${ROCESCOPE_TLS:=}"
: "${ROCESCOPE_LOG:=}" "${ROCESCOPE_LOCKS:=${TMPDIR:-/tmp}/rocescope-slurm-$(id -u)}"

# A call has so many seconds, and is killed half a second later should it not end.
hook_patience=2

hook_say() {
  if [ -n "$ROCESCOPE_LOG" ]; then
    printf '%s job %s: %s\n' "$(date -u +%FT%TZ)" "$SLURM_JOB_ID" "$1" >>"$ROCESCOPE_LOG"
  else
    logger -t rocescope -- "job $SLURM_JOB_ID: $1"
  fi
}

# hook_call register 7 --nodes ...: what it says goes to the log.
hook_call() {
  local said code=0
  # $ROCESCOPE_TLS is several words.
  # shellcheck disable=SC2086
  said=$(timeout -k 0.5 "$hook_patience.5" "$ROCESCOPE" job "$@" --box "$ROCESCOPE_BOX" \
    --timeout "${hook_patience}s" $ROCESCOPE_TLS 2>&1) || code=$?
  [ -z "$said" ] && [ "$code" -ne 0 ] && said="rocescope job $1 ended with $code"
  [ -n "$said" ] && hook_say "$said"
  return "$code"
}

# hook_run FUNCTION: after whoever has the job's lock, for ten seconds at most.
hook_run() {
  [ "$hook_held" -eq 0 ] || flock -w 10 9
  "$1"
}

# hook_detach FUNCTION: in a session of its own, whatever slurmctld does to its child's. A lock for
# each job keeps the order: who ends a job waits for who registers it. It is taken before this
# returns, and lasts as long as the process that inherits it.
hook_detach() {
  hook_held=0
  (umask 077 && mkdir -p -- "$ROCESCOPE_LOCKS") 2>/dev/null
  if [ -O "$ROCESCOPE_LOCKS" ] && [ ! -L "$ROCESCOPE_LOCKS" ] &&
    exec 9>"$ROCESCOPE_LOCKS/${SLURM_JOB_ID//[^0-9]/}"; then
    flock -n 9
    hook_held=$?
  else
    hook_say "no lock in $ROCESCOPE_LOCKS: a job that ends at once may seem to run on"
  fi
  export -f "$1" hook_run hook_say hook_call
  export ROCESCOPE ROCESCOPE_BOX ROCESCOPE_TLS ROCESCOPE_LOG ROCESCOPE_LOCKS
  export hook_held hook_patience
  setsid --fork bash -c "hook_run $1" </dev/null >/dev/null 2>&1
}
