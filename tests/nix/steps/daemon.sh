# `nix run .#murmur -- start`, and a beat with fake-claude.
# shellcheck shell=bash disable=SC2154
home=$scratch/home
mkdir -p "$home/bin" "$home/site"
on_flake build .#fake-claude --out-link "$scratch/fake-claude"
ln -s "$scratch/fake-claude/bin/fake-claude" "$home/bin/claude"
# A login shell that prints nothing, so that the PATH is the one given here.
murmur() {
  HOME=$home SHELL=true PATH=$home/bin:$PATH MURMUR_DIR=$home/.murmur FAKE_CLAUDE_FIXTURE=$PWD/fixtures/claude/ok \
    on_flake run .#murmur -- "$@"
}
trap 'murmur stop >/dev/null 2>&1' EXIT

has "$(murmur start)" "murmur is running (PID "
has "$(murmur status)" "running"
echo "Check the site. If it answers, respond HEARTBEAT_OK." >"$home/site/HEARTBEAT.md"
has "$(murmur beat "$home/site")" "ok "
has "$(murmur log)" "site"
has "$(murmur stop)" "stopped"
trap - EXIT
has "$(murmur status)" "not running"

