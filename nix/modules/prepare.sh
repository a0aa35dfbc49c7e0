# Puts the configured config.json ($1) into murmur's data folder ($2), and keeps what murmur wrote there: when each
# workspace last ran. If a workspace is no longer configured, the old file stays next to it as config.json.before.
# shellcheck shell=bash
set -euo pipefail
umask 077
wanted=$1 folder=$2 config=$2/config.json

mkdir -p "$folder"
# murmur's own lock, so that a last run that it is just writing isn't lost.
exec 9>>"$folder/config.lock"
flock 9

now=$config
[[ -s $now ]] || now=/dev/null
if ! jq --slurp --exit-status 'length == 0 or (length == 1 and (.[0] | type) == "object")' "$now" >/dev/null 2>&1; then
  echo "error: $config is not a JSON object; correct it, or move it away" >&2
  exit 1
fi

# The current entries, in $now; each configured one keeps murmur's own keys.
jq --slurpfile now "$now" '
  def entry($path): [$now[0].workspaces[]? | select(.path? == $path)] | first // {};
  .workspaces |= map(. + (entry(.path) | { lastRun, lastRuns } | with_entries(select(.value != null))))
' "$wanted" >"$config.new"

if [[ $(jq --sort-keys . "$now") == "$(jq --sort-keys . "$config.new")" ]]; then
  rm "$config.new"
  exit 0
fi
if jq --exit-status --slurpfile now "$now" \
  '[.workspaces[].path] as $paths | any($now[0].workspaces[]?; [.path?] - $paths != [])' "$wanted" >/dev/null; then
  cp "$config" "$config.before"
fi
mv "$config.new" "$config"
