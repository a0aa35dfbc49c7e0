#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licenses, bans, sources, and known vulnerabilities. The advisory database is
# this machine's (`just advisories` fetches it), else the part of it in .ci/advisories. Also checks that CI and the
# container name their base by digest, and that programs and tests are built from the same crates.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/versions.sh

# A tag can be moved, a digest can't.
if grep -rnE '^ *(- )?uses:' .github/workflows | grep -vE 'uses: [a-z0-9_/.-]+@[0-9a-f]{40} # v[0-9.]+$'; then
  echo "error: action not pinned to a commit; write: uses: OWNER/NAME@COMMIT # vVERSION" >&2
  exit 1
fi
if grep -nE '^(ARG [A-Z]+=[^ ]*[/:]|FROM [^$])' Containerfile | grep -vE '@sha256:[0-9a-f]{64}$'; then
  echo "error: base image not pinned to a digest; write: NAME:TAG@sha256:DIGEST" >&2
  exit 1
fi

# crates ARGUMENT...: the crates with their features, without those of the build machine.
crates() {
  cargo tree --locked --prefix none --no-dedupe --format '{p} {f}' "$@" | LC_ALL=C sort --unique
}
differ=$(LC_ALL=C comm -23 <(crates --edges normal,no-proc-macro) <(crates --workspace --edges normal,build,dev,no-proc-macro))
if [[ -n $differ ]]; then
  echo "error: tests have other features of these crates than programs; enable them in the workspace's dependencies:
$differ" >&2
  exit 1
fi

if ! command -v cargo-deny >/dev/null 2>&1; then
  echo "error: cargo-deny is not installed; run: cargo install cargo-deny --locked --version $cargo_deny_version" >&2
  exit 1
fi
# An exception that is no longer needed is an error.
cargo deny --locked check --hide-inclusion-graph -D unnecessary-skip -D unmatched-skip -D license-exception-not-encountered \
  bans licenses sources
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/*" >/dev/null; then
  cargo deny --locked --offline check advisories
  exit
fi

unknown=$(awk -F'"' '/^name = /{name=$2} /^source = /{print name}' Cargo.lock | sort -u | LC_ALL=C comm -23 - <(LC_ALL=C sort .ci/advisories/crates.txt))
if [[ -n $unknown ]]; then
  echo "error: .ci/advisories does not cover ${unknown//$'\n'/, }; run: just snapshot-advisories" >&2
  exit 1
fi
# cargo-deny requires a git repository, as if it had fetched one.
work=${CARGO_TARGET_DIR:-$PWD/target}/advisories
rm -rf "$work"
database=$work/databases/advisory-db-3157b0e258782691
mkdir -p "$database"
cp -R .ci/advisories/crates "$database"
git -C "$database" init --quiet
git -C "$database" add --all
git -C "$database" -c user.name=murmur -c user.email=murmur@localhost commit --quiet --message=snapshot
awk -v path="$work/databases" '{ print } $0 == "[advisories]" { print "db-path = \"" path "\"" }' deny.toml >"$work/deny.toml"
cargo deny --locked --offline --config "$work/deny.toml" check advisories
echo "known vulnerabilities as of $(cut -d' ' -f1 .ci/advisories/taken.txt); just advisories fetches newer ones"
