# A store of our own and a nixpkgs that is made of this machine's programs.
# In come $scratch, an empty folder, and $target, where cargo builds; out go $host, the stand-in, and the functions below.
# shellcheck shell=bash disable=SC2154
export NIX_REMOTE=local NIX_STORE_DIR=$target/store NIX_STATE_DIR=$scratch/state NIX_LOG_DIR=$scratch/log
export NIX_CONF_DIR=$scratch/etc NIX_USER_CONF_FILES=/dev/null
host=$scratch/host

# nix with what Debian's has switched off, without builders of its own, and with fetched data in our place. One build at a
# time, since all have their sources at one place.
nix() {
  XDG_CACHE_HOME=$scratch/cache command nix \
    --extra-experimental-features 'nix-command flakes' --option sandbox false --option substitute false \
    --option build-users-group '' --option max-jobs 1 --option warn-dirty false "$@"
}

# The same for a command that takes a flake. Each would say that the lock file stays as it is, which is a warning.
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

# Not the proxies that rustup puts in their place, which want a home.
toolchain=$(rustc --print sysroot)/bin
# The last one, whoever starts this: what puts versions of programs on the PATH puts them first, and another path makes
# other derivations, whose dependencies cargo would build again.
just_at=$(type -aP just | tail -n 1 || true)
cargo fetch --locked --quiet
archives=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/index.crates.io-*)
cat >"$host/machine.nix" <<EOF
{
  bash = "$(type -P bash)";
  path = "$toolchain:/usr/local/bin:/usr/bin:/bin${just_at:+:${just_at%/*}}";
  triple = "$(rustc --version --verbose | sed -n 's/^host: //p')";
  target = "$target";
  archives = "$archives";
  certificates = "/etc/ssl/certs/ca-certificates.crt";
}
EOF
