# murmur's table of contents: `just --list`

# list the recipes
[private]
default:
    @just --list --unsorted

# everything CI checks: format, lints, shell scripts, tests without a network, docs, dependencies, packages
check: fmt-check lint shell hermetic bench-smoke docs book deny package

# every test, hermetic
test *ARGS:
    cargo test --locked {{ARGS}}

# the same in an empty environment, and where Linux lets us without a network
hermetic *ARGS:
    tests/hermetic.sh {{ARGS}}

# install the programs, completions and manual pages: just install [PREFIX]
install PREFIX="":
    packaging/build.sh "${CARGO_TARGET_DIR:-target}/packaging/prefix"
    packaging/install.sh --from "${CARGO_TARGET_DIR:-target}/packaging/prefix" {{quote(PREFIX)}}

# remove what `just install` installed, and nothing else
uninstall PREFIX="":
    packaging/uninstall.sh {{quote(PREFIX)}}

# the tarball that is given away, made twice and compared, in target/dist
dist:
    packaging/dist.sh

# the main job, live, with nothing installed
demo:
    cargo run --locked --release -- demo

# draw docs/demo.svg from a run of the demo; a test compares it
picture:
    MURMUR_PICTURE=write cargo test --locked --test it -- picture::

# measure: parse, beat, idle, scan, crowd, log, capture, host, hook, guard (all of them without a name)
bench *NAMES:
    cargo bench --locked --bench figures -- {{NAMES}}

# run every section of the benchmarks with tiny sizes and without figures, as check does
bench-smoke *NAMES:
    cargo test --locked --bench figures -- --tiny {{NAMES}}

# record every committed fixture anew from the real Claude Code
fixtures *NAMES:
    cargo test --locked --test conformance -- record {{NAMES}}

# compare fake-claude with the real Claude Code, 2.1.329 or $REAL_CLAUDE_VERSION, scenario by scenario
conformance *NAMES:
    cargo test --locked --test conformance -- check {{NAMES}}

# long proofs, not part of check: many beats and captures, crashes and races at random moments
soak ROUNDS="200":
    MURMUR_SOAK_ROUNDS={{ROUNDS}} cargo test --locked --release --test it soak -- --nocapture

# whatever input comes, many times and another each time: not part of check, which tries the same few hundred
fuzz CASES="100000" SEED=`date +%s`:
    PROPTEST_CASES={{CASES}} PROPTEST_RNG_SEED={{SEED}} cargo test --locked --release --test it fuzz

# the Containerfile, with buildah and without a registry, and what murmur has to do as process 1 (as root)
container:
    tests/container/run

# type-check for Windows and run the captures' tests: there, or with Debian's compiler and, where there is one, wine
check-windows:
    tests/windows/check.sh

# type-check for macOS, with the standard library that rustup has for it
check-macos:
    tests/macos/check.sh

# the flake, with nixpkgs replaced by what this machine has (tests/nix): all of it, or some of its steps
nix *STEPS:
    tests/nix/run {{STEPS}}

# the flake with the nixpkgs of flake.lock, which Nix fetches: `nix flake check`
flake *ARGS:
    nix --extra-experimental-features 'nix-command flakes' flake check --print-build-logs {{ARGS}}

# known vulnerabilities in the dependencies, with the newest advisory database; check uses the one that is there
advisories:
    cargo deny --locked check advisories

# take what the fetched advisory database says of our dependencies into .ci/advisories, for machines that can't fetch it
snapshot-advisories:
    cargo deny fetch db
    .ci/advisories/take.sh

# compile with the oldest Rust that Cargo.toml allows; rustup fetches it
msrv:
    tests/msrv.sh

# a manual page for every command, in target/man
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

# shell scripts, where shellcheck is installed
[private]
shell:
    tests/shell.sh

# build docs/ as a book with search, in target/book
book:
    packaging/book.sh

[private]
docs:
    RUSTDOCFLAGS="--deny warnings" cargo doc --locked --no-deps --document-private-items

# the packages, put together from programs that are quickly built
[private]
package:
    tests/packaging.sh

[private]
deny:
    tests/deny.sh
