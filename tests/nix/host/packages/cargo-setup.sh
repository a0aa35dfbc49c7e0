# Makes cargo use only dependencies from the store.
# shellcheck shell=bash disable=SC2154
cargo_setup() {
  export CARGO_HOME=$machineTarget/cargo-home CARGO_TARGET_DIR=$machineTarget CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none
  mkdir -p "$CARGO_HOME" .cargo
  cat >>.cargo/config.toml <<EOF
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "$cargoDeps"
EOF
}
postUnpackHooks="${postUnpackHooks:-} cargo_setup"
