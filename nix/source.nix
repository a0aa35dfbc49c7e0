# What the builds see of the repository: whatever else is edited rebuilds nothing.
{ lib }:
let
  inherit (lib.fileset) toSource unions;

  program = unions [
    ../Cargo.lock
    ../Cargo.toml
    ../crates
    # Its pages are documentation, as README.md is.
    (lib.fileset.difference ../fake-claude (unions [
      ../fake-claude/README.md
      ../fake-claude/testing.md
    ]))
    ../src
    # What `murmur doctor` knows of versions, and the runs that the demo replays.
    ../fixtures/claude-versions.json
    ../fixtures/claude/api-429
    ../fixtures/claude/attention
    ../fixtures/claude/ok
  ];
in
{
  # What the programs are made of.
  program = toSource {
    root = ../.;
    fileset = program;
  };

  # That, and what the tests, the lints and the documentation of the code read besides.
  whole = toSource {
    root = ../.;
    fileset = unions [
      program
      ../.cargo
      ../.ci/run
      ../.github
      ../Containerfile
      ../benches
      ../clippy.toml
      # Tests load its examples and hold its tables against the code.
      ../docs
      ../fixtures
      ../packaging
      ../permissions.toml.default
      ../rustfmt.toml
      ../tests/built.rs
      ../tests/conformance
      ../tests/it
    ];
  };
}
