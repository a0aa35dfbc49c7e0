# The versions of the tools that CI installs, here and on GitHub, and that tests/deny.sh and packaging/book.sh suggest.
# shellcheck shell=bash disable=SC2034
just_version=1.59.0
cargo_deny_version=0.20.2
mdbook_version=0.5.4
# Claude Code; tests/conformance/real.rs pins the other version that is checked.
newest_claude_version=2.1.332
