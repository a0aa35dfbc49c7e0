# Installs the configured workspaces like the service does, and runs murmur with them.
# shellcheck shell=bash disable=SC2154,SC2094
export HOME=$PWD MURMUR_DIR=$PWD/data
config=$MURMUR_DIR/config.json
is() {
  if [[ $1 != "$2" ]]; then
    printf 'got\n%s\nexpected\n%s\n' "$1" "$2" >&2
    exit 1
  fi
}

# Its own two keys, and no others, have no option.
is "$(murmur config schema | jq --raw-output '."$defs".WorkspaceEntry.properties | keys[] | select(IN("lastRun", "lastRuns") | not)')" \
  "$(tr ' ' '\n' <<<"$keys" | LC_ALL=C sort)"

"$prepare" "$MURMUR_DIR"
is "$(stat -c %a "$MURMUR_DIR" "$config" | tr '\n' ' ')" "700 600 "
# The folders don't exist; everything else is right.
murmur status --json >status
is "$(jq --compact-output .problems status)" "[]"
is "$(jq --raw-output '.heartbeats[].workspace' status)" "$(printf '/srv/%s\n' all deny llm off)"

# What murmur has written stays, byte for byte if nothing changes.
jq --indent 7 '.workspaces[0].lastRun = "2026-02-03T10:00:00Z" | .workspaces[1].lastRuns = { nightly: "2026-02-03T02:30:00Z" }' \
  "$config" >changed
cp changed "$config"
"$prepare" "$MURMUR_DIR"
cmp changed "$config"

# Also if a workspace is added and another one removed, which isn't lost.
jq '.workspaces[0].maxTurns = 9 | .workspaces[2:] = [{ path: "/srv/by-hand", interval: "1h" }]' changed >"$config"
cp "$config" by-hand
"$prepare" "$MURMUR_DIR"
is "$(jq --sort-keys . "$config")" "$(jq --sort-keys . changed)"
cmp by-hand "$config.before"

# An unreadable file is left alone.
for unreadable in '{ "workspaces": [' '[]' '{} {}' 'null'; do
  echo "$unreadable" >"$config"
  if "$prepare" "$MURMUR_DIR" 2>said; then
    echo "it accepted the config.json $unreadable" >&2
    exit 1
  fi
  is "$(cat said)" "error: $config is not a JSON object; correct it, or move it away"
  is "$(cat "$config")" "$unreadable"
done
is "$(cd "$MURMUR_DIR" && echo *)" "config.json config.json.before config.lock"
touch "$out"
