#!/usr/bin/env bash
# The dependencies as deny.toml wants them: licences, bans, sources, and known vulnerabilities. The advisory database is the
# one on this machine (`just advisories` fetches it), else the part of it that is in .ci/advisories. Besides, what CI and the
# container start from is named by digest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/versions.sh

# A tag can be moved, a digest can't.
if grep -rnE '^ *(- )?uses:' .github/workflows | grep -vE 'uses: [a-z0-9_/.-]+@[0-9a-f]{40} # v[0-9.]+$'; then
  echo "error: an action that is not named by its commit; write: uses: OWNER/NAME@COMMIT # vVERSION" >&2
  exit 1
fi
if grep -nE '^(ARG [A-Z]+=[^ ]*[/:]|FROM [^$])' Containerfile | grep -vE '@sha256:[0-9a-f]{64}$'; then
  echo "error: a base image that is not named by its digest; write: NAME:TAG@sha256:DIGEST" >&2
  exit 1
fi

if ! command -v cargo-deny >/dev/null 2>&1; then
  echo "error: cargo-deny is not installed; run: cargo install cargo-deny --locked --version $cargo_deny_version" >&2
  exit 1
fi
# An exception that is not needed any more goes.
cargo deny --locked check --hide-inclusion-graph -D unnecessary-skip -D unmatched-skip -D license-exception-not-encountered \
  bans licenses sources
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/*" >/dev/null; then
  cargo deny --locked --offline check advisories
  exit
fi

unknown=$(awk -F'"' '/^name = /{name=$2} /^source = /{print name}' Cargo.lock | sort -u | LC_ALL=C comm -23 - <(LC_ALL=C sort .ci/advisories/crates.txt))
if [[ -n $unknown ]]; then
  echo "error: .ci/advisories says nothing of ${unknown//$'\n'/, }; run: just snapshot-advisories" >&2
  exit 1
fi
# cargo-deny wants a git repository, where it would have fetched one to.
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
