# Tests with agents, and with shells of people who look inside.
# shellcheck shell=bash disable=SC2016,SC2154
said_once=$(run /bin/sh -c 'claude --help-faults' 2>&1) || fail "no shell or no fake-claude in $original: $said_once"

# Hangs after its lines, the first of which waits until somebody opens the gate.
hanging='{"fixture":"/data/runs/ok","pace":"gate:/data/gate","log":"/data/agents.log","faults":["hang"'
hangs() {
  empty_volume
  mkfifo "$volume/gate"
  workspace site "$hanging$1]}"
  due
  begin_daemon
  timeout 30 bash -c ': >"$1"' gate "$volume/gate" || fail "the beat did not begin"
}

# Stopped while a beat runs, once or repeatedly: the beat is in the journal, and everything ends in time.
for times in 1 2; do
  hangs ',"setsid-child-clean-env"'
  for ((; times > 0; times--)); do
    kill -TERM "$first"
  done
  end
  [[ $code == 0 ]] || fail "the daemon ends with $code"
  journal_has '"outcome":"error"'
  no_daemon_is_left
done

# Killed with everything it ran: after a restart, the beat gets its line, once.
hangs ''
kill -KILL "$first"
end
[[ ! -s $volume/.murmur/heartbeats.jsonl ]] || fail "the journal already has a line"
for _again in 1 2; do
  begin_daemon
  inside /bin/murmur status --check >/dev/null
  kill -TERM "$first"
  end
done
journal_has '"outcome":"error"'
no_daemon_is_left

# Orphans of a shell that somebody ran in the container: the last one that has the pipe is one.
hangs ',"setsid-child-clean-env"'
orphan=$(inside /bin/sh -c '(sh -c "echo \$\$" &)')
reaped "$orphan"
# The agent's host is killed: its leftovers have no owner.
read -r agent child < <(jq --raw-output '"\(.pid) \(.children[0])"' "$volume/agents.log")
read -r _ _ _ host _ <"/proc/$first/root/proc/$agent/stat"
exec {log}< <(inside /bin/murmur log --follow --json)
inside /bin/sh -c "kill -KILL $host"
read -r -t 30 line <&"$log" || fail "the beat whose host died has no line"
has "$line" '"outcome":"error"'
reaped "$host"
reaped "$agent"
inside /bin/sh -c "kill -KILL $child 2>&-" || true
reaped "$child"
kill -TERM "$first"
end
exec {log}<&-
journal_has '"outcome":"error"'

# A hosted agent gets time to end.
empty_volume
workspace site '{"live":"echo"}'
begin_daemon
inside /bin/murmur agent start "Hello." --agent-id site-1 --worktree /data/site >/dev/null
kill -TERM "$first"
end
[[ $code == 0 ]] || fail "the daemon ends with $code"
[[ $(jq '.result.endedAt | type' "$volume/.murmur/hosts/site-1.json") == '"string"' ]] ||
  fail "the host did not end: $(<"$volume/.murmur/hosts/site-1.json")"
[[ ! -e $volume/.murmur/hosts/site-1.sock ]] || fail "the host left its socket"

# Signals reach the command of process 1, which dies by them as it would elsewhere.
begin /bin/murmur capture run -- /bin/sh -c 'echo begun; exec sleep 600'
until_it_says begun
kill -TERM "$first"
end
[[ $code == 143 ]] || fail "a terminated command exited with $code"
