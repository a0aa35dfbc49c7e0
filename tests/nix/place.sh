# Our own store, and a nixpkgs made from this machine's programs.
# Input: $scratch, an empty folder, and $target, where cargo builds. Output: $host, the stand-in, and the functions below.
# shellcheck shell=bash disable=SC2154
export NIX_REMOTE=local NIX_STORE_DIR=$target/store NIX_STATE_DIR=$scratch/state NIX_LOG_DIR=$scratch/log
export NIX_CONF_DIR=$scratch/etc NIX_USER_CONF_FILES=/dev/null
host=$scratch/host

# nix with what Debian's has disabled, without remote builders, and with fetched data in our folder. One build at a
# time, since all have their sources in one place. Without its cache of evaluations: a run failed because the cache had an
# attribute that the flake does not.
nix() {
  XDG_CACHE_HOME=$scratch/cache command nix \
    --extra-experimental-features 'nix-command flakes' --option sandbox false --option substitute false \
    --option build-users-group '' --option max-jobs 1 --option warn-dirty false --option eval-cache false "$@"
}

# The same for a command that takes a flake. Each would warn that the lock file is unchanged.
on_flake() {
  local command=("$1")
  if [[ $1 == flake ]]; then
    command+=("$2")
  fi
  nix --quiet --quiet --quiet "${command[@]}" --override-input nixpkgs "path:$host" --no-write-lock-file \
    "${@:1+${#command[@]}}"
}

cp -r tests/nix/host "$host"
if [[ -n ${NIXPKGS_LIB:-} ]]; then
  cp -r "$NIXPKGS_LIB" "$host/nixpkgs-lib"
fi

# Not rustup's proxies, which need a home.
toolchain=$(rustc --print sysroot)/bin
# The last one, whoever starts this: version managers put their programs first on the PATH, and a different path leads to
# different derivations, whose dependencies cargo would rebuild.
just_at=$(type -aP just | tail -n 1 || true)
cargo fetch --locked --quiet
cargo_home=${CARGO_HOME:-$HOME/.cargo}
archives=$(echo "$cargo_home"/registry/cache/index.crates.io-*)
cat >"$host/machine.nix" <<EOF
{
  bash = "$(type -P bash)";
  path = "$toolchain:/usr/local/bin:/usr/bin:/bin${just_at:+:${just_at%/*}}";
  target = "$target";
  cargo = "$cargo_home";
  archives = "$archives";
  certificates = "/etc/ssl/certs/ca-certificates.crt";
}
EOF
