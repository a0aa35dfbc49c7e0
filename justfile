# murmur's table of contents: `just --list`

# list the recipes
[private]
default:
    @just --list --unsorted

# everything CI checks: format, lints, tests, docs, dependencies
check: fmt-check lint test docs deny

# every test, hermetic
test *ARGS:
    cargo test --locked {{ARGS}}

# the main job, live, with nothing installed
demo:
    cargo run --locked --release -- demo

# measure: parse, beat, idle, scan, log, capture, host, hook, guard (all of them without a name)
bench *NAMES:
    cargo bench --locked --bench figures -- {{NAMES}}

# record every committed fixture anew from the real Claude Code
fixtures *NAMES:
    cargo test --locked --test conformance -- record {{NAMES}}

# hold fake-claude against the real Claude Code, scenario by scenario
conformance *NAMES:
    cargo test --locked --test conformance -- check {{NAMES}}

# long proofs, not part of check: many beats and captures, crashes and races at random moments
soak ROUNDS="200":
    MURMUR_SOAK_ROUNDS={{ROUNDS}} cargo test --locked --release --test it soak -- --nocapture

# whatever input comes, many times: not part of check, which tries a few hundred
fuzz CASES="100000":
    PROPTEST_CASES={{CASES}} cargo test --locked --release --test it fuzz

# type-check for Windows with Debian's compiler, and run the captures' tests under wine where there is one
check-windows:
    tests/windows/check.sh

# the flake, with nixpkgs replaced by what this machine has (tests/nix): all of it, or some of its steps
nix *STEPS:
    tests/nix/run {{STEPS}}

# known vulnerabilities in the dependencies; fetches the advisory database, so not part of check
advisories:
    cargo deny check advisories

# a manual page for every command, in target/man
man FOLDER="target/man":
    cargo run --locked --quiet -- man {{FOLDER}}

# format the code
fmt:
    cargo fmt

[private]
fmt-check:
    cargo fmt --check

[private]
lint:
    cargo clippy --locked --all-targets -- --deny warnings

[private]
docs:
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --no-deps --document-private-items

[private]
deny:
    @if command -v cargo-deny >/dev/null 2>&1; then cargo deny check bans licenses sources; else echo "cargo-deny is not installed: dependencies not checked"; fi
