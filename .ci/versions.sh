# The versions of the tools that CI installs, here, on GitHub, and where tests/deny.sh and packaging/book.sh say how.
# shellcheck shell=bash disable=SC2034
just_version=1.59.0
cargo_deny_version=0.20.2
mdbook_version=0.5.4
# Of Claude Code; tests/conformance/real.rs pins the other version that is checked.
newest_claude_version=2.1.330
