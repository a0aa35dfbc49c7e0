#!/usr/bin/env bash
# Builds the packages like packaging/ does, from quickly built programs: installs with cargo, packs the
# tarball twice, in different folders, compares, checks its contents, installs from it, runs the demo, and uninstalls it.
# `just dist` does this with release builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. tests/claims.sh
. packaging/machine.sh

scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-packaging-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# demo BIN: with only the programs there, and an empty home.
demo() {
  mkdir "$scratch/home"
  env -i HOME="$scratch/home" PATH="$1:/usr/bin:/bin" "$1/murmur" demo >"$scratch/demo" 2>&1 ||
    { cat "$scratch/demo" >&2; fail "murmur demo failed in $1"; }
  grep -q HEARTBEAT_OK "$scratch/demo" || { cat "$scratch/demo" >&2; fail "murmur demo printed no beat"; }
  [[ -z $(ls -A "$scratch/home") ]] || fail "murmur demo left something behind: $(ls -A "$scratch/home")"
  rmdir "$scratch/home"
}

# README's way to install with cargo. Without a target folder, cargo would compile everything again.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} \
  cargo install --path . --locked --debug --quiet --no-track --root "$scratch/cargo" 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
demo "$scratch/cargo/bin"

# For the tarballs. Builds of C code depend on it: cargo would compile it again, and all that depends on it.
export SOURCE_DATE_EPOCH=1700000000
prefix=$scratch/prefix
mkdir -p "$prefix/bin"
for program in murmur murmur-hook; do
  if command -v strip >/dev/null 2>&1; then
    # Nine tenths of it are for debuggers, and slow to pack.
    strip -o "$prefix/bin/$program" "$scratch/cargo/bin/$program"
  else
    cp "$scratch/cargo/bin/$program" "$prefix/bin"
  fi
done
rm -rf "$scratch/cargo"
packaging/layout.sh "$prefix"

packaging/tarball.sh "$prefix" "$scratch/one"
# The files that git tracks and that exist: neither deleted nor untracked ones.
mkdir -p "$scratch/repository/packaging"
cp packaging/sources.sh "$scratch/repository/packaging"
(cd "$scratch/repository" && git init --quiet && touch deleted 'with a space' && ln -s nowhere link && git add . && rm deleted && touch unknown)
"$scratch/repository/packaging/sources.sh" "$scratch/copied"
[[ $(cd "$scratch/copied" && find . ! -type d | LC_ALL=C sort) == $'./link\n./packaging/sources.sh\n./with a space' ]] ||
  fail "packaging/sources.sh copied other files: $(find "$scratch/copied")"

packaging/sources.sh "$scratch/sources elsewhere"
cp -RP "$prefix" "$scratch/the same"
(umask 077 && TZ=Asia/Tokyo "$scratch/sources elsewhere/packaging/tarball.sh" "$scratch/the same" "$scratch/two")
diff -r "$scratch/one" "$scratch/two" || fail "two tarballs of the same programs differ"

archive=$(cd "$scratch/one" && echo murmur-*.tar.gz)
name=${archive%.tar.gz}
(cd "$scratch/one" && sha256 -c SHA256SUMS >/dev/null)
# A new page or command is expected, anything else is not.
tar -tzf "$scratch/one/$archive" | sed "s|^$name/||" | grep -v -e '^docs/.*\.md$' -e '^share/man/man1/.*\.1$' -e '^$' >"$scratch/list"
diff -u tests/packaging.list "$scratch/list" || fail "the tarball's files differ from tests/packaging.list"
owners=$(gnu_tar --numeric-owner -tvzf "$scratch/one/$archive" | awk '{print $2}' | sort -u)
[[ $owners == 0/0 ]] || fail "the owners are not 0/0: $owners"

tar -xzf "$scratch/one/$archive" -C "$scratch"
jq -e '
  .bomFormat == "CycloneDX" and .specVersion == "1.5" and (.components | length) > 50
  and all(.components[]; .name and (.version or (.description // "" | contains("included in Rust"))) and (.licenses | length) == 1 and (.purl == null or (.hashes[0].content | length) == 64))
  and ([.components[]["bom-ref"], .metadata.component["bom-ref"]] as $known | all(.dependencies[]; .ref as $ref | [.ref, .dependsOn[]] - $known == []))
  and ([.components[].name] | index("tokio") and index("ring") and (index("proptest") or index("syn") or index("assert_cmd") | not))
' "$scratch/$name/murmur.cdx.json" >/dev/null || fail "murmur.cdx.json is invalid"
# The same for the parts of the C library and the compiler in Linux programs.
case $(release_target) in
*-linux-gnu*) linked='["glibc", "libgcc", "rust-std"]' ;;
*-linux-musl*) linked='["libunwind", "musl", "rust-std"]' ;;
*) linked='["rust-std"]' ;;
esac
own='["derun", "fake-claude", "murmur-agent", "murmur-claude-files", "murmur-core", "murmur-gate", "murmur-hook", "murmur-host", "murmur-notify", "murmur-outcome", "murmur-rotate", "murmur-rpc", "murmur-secrets", "murmur-store", "murmur-sys", "murmur-watch", "shell-guard"]'
jq -e --argjson linked "$linked" --argjson own "$own" '[.components[] | select(.purl == null).name] | sort == ($linked + $own | sort)' "$scratch/$name/murmur.cdx.json" >/dev/null ||
  fail "murmur.cdx.json does not list exactly $linked and $own"
for text in 'GCC RUNTIME LIBRARY EXCEPTION' 'GNU GENERAL PUBLIC LICENSE' 'GNU LESSER GENERAL PUBLIC LICENSE'; do
  [[ $name != *-linux-gnu || $(grep -c "$text" "$scratch/$name/THIRD-PARTY.txt") -ge 1 ]] || fail "THIRD-PARTY.txt has no '$text'"
done
# No license text is missing.
jq -r '.components[] | select(.purl) | "\(.name) \(.version)"' "$scratch/$name/murmur.cdx.json" | while IFS= read -r line; do
  [[ $(grep -cxF -- "$line" "$scratch/$name/THIRD-PARTY.txt") -ge 1 ]] || fail "THIRD-PARTY.txt has no text for $line"
done

"$scratch/$name/install.sh" "$scratch/installed" >"$scratch/log"
demo "$scratch/installed/bin"
"$scratch/$name/uninstall.sh" "$scratch/installed" >"$scratch/log"
[[ -z $(ls -A "$scratch/installed") ]] || fail "uninstall.sh left something behind: $(ls -A "$scratch/installed")"

# A PREFIX may contain spaces, and whatever else shells split or expand.
spaced="$scratch/my tools; it's \$HOME"
"$scratch/$name/install.sh" "$spaced" >"$scratch/log"
just uninstall "$spaced" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "just uninstall does not accept '$spaced'"; }
[[ -z $(ls -A "$spaced") ]] || fail "just uninstall left something behind: $(ls -A "$spaced")"
for recipe in install uninstall man; do
  # The shell's argument is unchanged.
  said=$(just --dry-run "$recipe" "$spaced" 2>&1 | tail -n 1)
  words=()
  eval "words=(${said#*"$recipe"})"
  [[ ${words[${#words[@]} - 1]} == "$spaced" ]] || fail "just $recipe does not accept '$spaced': $said"
done
echo "packages: reproducible, complete, installed, run and removed"
