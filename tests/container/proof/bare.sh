# Tests with nothing but murmur: no shell, no /etc, no /tmp.
# shellcheck shell=bash disable=SC2016,SC2154
empty_volume
has "$(run /bin/murmur demo)" "No files or processes are left"
[[ -z $(ls -A "$volume") ]] || fail "the demo left $(ls -A "$volume")"

# One beat, as a job: its exit code, and only its line on stdout.
workspace site ok
workspace mailbox api-429
line=$(run /bin/murmur beat /data/site --json 2>"$scratch/errors") ||
  fail "a beat that is ok ends with $?: $line $(<"$scratch/errors")"
[[ $(jq --raw-output '.outcome' <<<"$line") == ok && ! -s $scratch/errors ]] || fail "$line $(<"$scratch/errors")"
code=0
line=$(run /bin/murmur beat /data/mailbox --json) || code=$?
[[ $code == 1 && $(jq --raw-output '.outcome' <<<"$line") == error ]] || fail "a failed beat exited with $code: $line"
has "$(stat --format '%u:%g %a' "$volume/.murmur" "$volume/.murmur/heartbeats.jsonl")" "1000:1000 700
1000:1000 600"

# The health check.
if run /bin/murmur status --check >/dev/null; then fail "it is healthy without a daemon"; fi
begin_daemon
has "$(inside /bin/murmur status --check)" "is running"
kill -TERM "$first"
end
[[ $code == 0 ]] || fail "the daemon ends with $code"
no_daemon_is_left

# A volume that a cluster has given to the group, like `fsGroup`.
empty_volume
chown 0:1000 "$volume"
chmod 2770 "$volume"
begin_daemon
has "$(stat --format '%u %A' "$volume/.murmur")" "1000 drwx--"
inside /bin/murmur status --check >/dev/null
kill -TERM "$first"
end
[[ $code == 0 ]] || fail "the daemon ends with $code"

# A volume that belongs to another user.
empty_volume
chown 0:0 "$volume"
code=0
said_once=$(run /bin/murmur start --foreground 2>&1) || code=$?
[[ $code == 1 && $(grep -c '^error: ' <<<"$said_once") == 1 && $(wc -l <<<"$said_once") -le 2 ]] || fail "$said_once"
has "$said_once" "/data"
