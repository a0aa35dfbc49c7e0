# murmur's table of contents: `just --list`

# list the recipes
[private]
default:
    @just --list --unsorted

# run everything CI checks: format, lints, shell scripts, tests without a network, docs, dependencies, packages
check:
    tests/check.sh

# run all tests
test *ARGS:
    cargo test --locked {{ARGS}}

# run all tests in an empty environment and, if Linux allows it, without a network
hermetic *ARGS:
    tests/hermetic.sh {{ARGS}}

# install the programs, completions and manual pages: just install [PREFIX]
install PREFIX="":
    packaging/build.sh "${CARGO_TARGET_DIR:-target}/packaging/prefix"
    packaging/install.sh --from "${CARGO_TARGET_DIR:-target}/packaging/prefix" {{quote(PREFIX)}}

# remove what `just install` installed, and nothing else
uninstall PREFIX="":
    packaging/uninstall.sh {{quote(PREFIX)}}

# build the release tarball twice in target/dist and compare both
dist:
    packaging/dist.sh

# run the demo without installing anything
demo:
    cargo run --locked --release -- demo

# draw docs/demo.svg from a run of the demo; a test compares it
picture:
    MURMUR_PICTURE=write cargo test --locked --test it -- picture::

# run benchmarks, by default all: just bench [--json] [NAME...]; just bench compare [BEFORE] AFTER; just bench page REPORT...
bench *NAMES:
    cargo bench --locked --bench figures -- {{NAMES}}

# run every benchmark with tiny sizes and without results, as check does
bench-smoke *NAMES:
    cargo test --locked --bench figures -- --tiny {{NAMES}}

# record all fixtures again with the real Claude Code; codex and acp are other agents
fixtures *NAMES:
    cargo test --locked --test conformance -- record {{NAMES}}

# compare fake-claude with the real Claude Code: just conformance [CHECK...]; codex and acp are other agents, versions [VERSION...] checks many
conformance *NAMES:
    cargo test --locked --test conformance -- {{NAMES}}

# run long tests, not part of check: many beats and captures, crashes and races at random moments
soak ROUNDS="200":
    MURMUR_SOAK_ROUNDS={{ROUNDS}} cargo test --locked --release --test it soak -- --nocapture

# simulate a year of 100 heartbeats every 30 minutes: space, inodes, and the time of status (in memory: at most 1 GiB)
year DAYS="365":
    MURMUR_YEAR_DAYS={{DAYS}} TMPDIR="${TMPDIR:-/dev/shm}" cargo test --locked --release --test it year:: -- --nocapture

# run many random inputs, different each time; check runs only a few hundred fixed ones
fuzz CASES="100000" SEED=`date +%s`:
    PROPTEST_CASES={{CASES}} PROPTEST_RNG_SEED={{SEED}} cargo test --locked --release --test it fuzz

# test the Containerfile with buildah, without a registry, and murmur as process 1 (as root)
container:
    tests/container/run

# type-check for Windows and test captures, on Windows or with Debian's compiler and Wine
check-windows:
    tests/windows/check.sh

# test what only programs linked with musl have
musl:
    tests/musl.sh

# type-check for macOS, with rustup's standard library for it
check-macos:
    tests/macos/check.sh

# test the flake with a replacement for nixpkgs (tests/nix): all steps, or those named
nix *STEPS:
    tests/nix/run {{STEPS}}

# run `nix flake check` with the nixpkgs of flake.lock
flake *ARGS:
    nix --extra-experimental-features 'nix-command flakes' flake check --print-build-logs {{ARGS}}

# check dependencies for vulnerabilities with the newest advisory database (check uses the local one)
advisories:
    cargo deny --locked check advisories

# save the advisories about our dependencies in .ci/advisories, for machines that can't fetch them
snapshot-advisories:
    cargo deny fetch db
    .ci/advisories/take.sh

# compile with the oldest Rust that Cargo.toml allows, installed by rustup
msrv:
    tests/msrv.sh

# generate the manual pages in target/man
man FOLDER="target/man":
    cargo run --locked --quiet -- man {{quote(FOLDER)}}

# format the code
fmt:
    cargo fmt

[private]
fmt-check:
    cargo fmt --check

[private]
lint:
    cargo clippy --locked --all-targets -- --deny warnings
    cargo clippy --locked --test conformance -- --deny warnings

# check shell scripts, if shellcheck is installed
[private]
shell:
    tests/shell.sh

# build docs/ as a book with search, in target/book
book:
    packaging/book.sh

[private]
docs:
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --no-deps --document-private-items

# test packaging with quickly built programs
[private]
package:
    tests/packaging.sh

[private]
deny:
    tests/deny.sh
