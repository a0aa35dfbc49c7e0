# A developer's shell: `just` finds what it needs, and the dependencies come from the store. Runs all tests, or those of
# $MURMUR_NIX_TESTS: arguments for `just test`.
# shellcheck shell=bash disable=SC2154,SC2016
develop() {
  HOME=$scratch/home XDG_CACHE_HOME=$scratch/cache CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0 CARGO_NET_OFFLINE=true \
    CARGO_PROFILE_DEV_DEBUG=none on_flake develop --command "$@"
}
mkdir -p "$scratch/home"

wanted=(cargo rustc rustfmt cargo-clippy just jq git unshare setpriv)
programs=$(develop sh -c 'type "$@"' sh "${wanted[@]}")
for program in "${wanted[@]}"; do
  has "$programs" "$program is $NIX_STORE_DIR/"
done
has "$(develop sh -c 'cat "$CARGO_HOME/config.toml"')" "directory = \"$NIX_STORE_DIR/"

read -ra filter <<<"${MURMUR_NIX_TESTS:-}"
develop just test "${filter[@]}"
