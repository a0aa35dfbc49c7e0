#!/usr/bin/env bash
# The dependencies as deny.toml wants them: licences, bans, sources, and known vulnerabilities if the advisory database is
# on this machine. `just advisories` fetches it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/versions.sh

if ! command -v cargo-deny >/dev/null 2>&1; then
  echo "error: cargo-deny is not installed; run: cargo install cargo-deny --locked --version $cargo_deny_version" >&2
  exit 1
fi
# An exception that is not needed any more goes.
cargo deny --locked check --hide-inclusion-graph -D unnecessary-skip -D unmatched-skip -D license-exception-not-encountered \
  bans licenses sources
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/*" >/dev/null; then
  cargo deny --locked --offline check advisories
else
  echo "note: known vulnerabilities were not checked: there is no advisory database on this machine; just advisories fetches it" >&2
fi
