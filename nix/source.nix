# The parts of the repository that builds see: editing anything else rebuilds nothing.
{ lib }:
let
  inherit (lib.fileset) toSource unions;

  program = unions [
    ../Cargo.lock
    ../Cargo.toml
    ../build.rs
    ../crates
    # Its pages are documentation, like README.md.
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
  # The sources of the programs.
  program = toSource {
    root = ../.;
    fileset = program;
  };

  # Those, and what tests, lints and code documentation read as well.
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
      # Tests load its examples and compare its tables with the code.
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
