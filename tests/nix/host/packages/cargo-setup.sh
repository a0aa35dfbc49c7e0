# Makes cargo use only dependencies that it has fetched, compiled as `just check` compiles them: with the same sources, which
# importCargoLock has compared with the lock file.
# shellcheck shell=bash disable=SC2154
cargo_setup() {
  export CARGO_HOME=$machineCargo CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$machineTarget CARGO_INCREMENTAL=0
  export CARGO_PROFILE_DEV_DEBUG=none
  # rustup's programs, which cargo finds there before those on the PATH, run this toolchain.
  RUSTUP_TOOLCHAIN=$(rustc --print sysroot)
  export RUSTUP_TOOLCHAIN
  [[ -d $cargoDeps ]]
}
postUnpackHooks="${postUnpackHooks:-} cargo_setup"
