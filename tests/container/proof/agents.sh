# What holds with agents, and with the shells of people who look in.
# shellcheck shell=bash disable=SC2016,SC2154
said_once=$(run /bin/sh -c 'claude --help-faults' 2>&1) || fail "there is no shell or no fake-claude in $original: $said_once"

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

# Told to end while a beat runs, once or more often: it is in the journal, and all is over in time.
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

# Killed with all it ran: when it runs again, the beat gets its line, once.
hangs ''
kill -KILL "$first"
end
[[ ! -s $volume/.murmur/heartbeats.jsonl ]] || fail "there is a line already"
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
# The agent's host is killed: what that leaves behind is nobody's any more.
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

# A hosted agent has time to end.
empty_volume
workspace site '{"live":"echo"}'
begin_daemon
inside /bin/murmur host spawn "Hello." --agent-id site-1 --worktree /data/site >/dev/null
kill -TERM "$first"
end
[[ $code == 0 ]] || fail "the daemon ends with $code"
[[ $(jq '.result.ended_at | type' "$volume/.murmur/hosts/site-1.json") == '"string"' ]] ||
  fail "the host did not end: $(<"$volume/.murmur/hosts/site-1.json")"
[[ ! -e $volume/.murmur/hosts/site-1.sock ]] || fail "the host left its socket"

# Signals reach what runs as process 1, which ends by them as it would elsewhere.
begin /bin/murmur run -- /bin/sh -c 'echo begun; exec sleep 600'
until_it_says begun
kill -TERM "$first"
end
[[ $code == 143 ]] || fail "a command that was told to end ends with $code"
