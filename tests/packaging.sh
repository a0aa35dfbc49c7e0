#!/usr/bin/env bash
# Puts the packages together as packaging/ does, from programs that are quickly built: installs with cargo, packs the
# tarball twice, in different folders, compares, looks at what is in it, installs from it, runs the demo, and removes it.
# `just dist` does it with what is given away.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. tests/claims.sh
. packaging/machine.sh

scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-packaging-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export SOURCE_DATE_EPOCH=1700000000

# demo BIN: with nothing but the programs there, and a home with nothing in it.
demo() {
  mkdir "$scratch/home"
  env -i HOME="$scratch/home" PATH="$1:/usr/bin:/bin" "$1/murmur" demo >"$scratch/demo" 2>&1 ||
    { cat "$scratch/demo" >&2; fail "murmur demo failed in $1"; }
  grep -q HEARTBEAT_OK "$scratch/demo" || { cat "$scratch/demo" >&2; fail "murmur demo said nothing of a beat"; }
  [[ -z $(ls -A "$scratch/home") ]] || fail "murmur demo left something behind: $(ls -A "$scratch/home")"
  rmdir "$scratch/home"
}

# What README says first.
cargo install --path . --locked --debug --quiet --no-track --root "$scratch/cargo" 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
demo "$scratch/cargo/bin"

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
# What git knows and is there: what was deleted is not, what was never added is not either.
mkdir -p "$scratch/repository/packaging"
cp packaging/sources.sh "$scratch/repository/packaging"
(cd "$scratch/repository" && git init --quiet && touch deleted 'with a space' && ln -s nowhere link && git add . && rm deleted && touch unknown)
"$scratch/repository/packaging/sources.sh" "$scratch/copied"
[[ $(cd "$scratch/copied" && find . ! -type d | LC_ALL=C sort) == $'./link\n./packaging/sources.sh\n./with a space' ]] ||
  fail "packaging/sources.sh copies something else: $(find "$scratch/copied")"

packaging/sources.sh "$scratch/sources elsewhere"
cp -RP "$prefix" "$scratch/the same"
(umask 077 && TZ=Asia/Tokyo "$scratch/sources elsewhere/packaging/tarball.sh" "$scratch/the same" "$scratch/two")
diff -r "$scratch/one" "$scratch/two" || fail "two tarballs of the same are not the same"

archive=$(cd "$scratch/one" && echo murmur-*.tar.gz)
name=${archive%.tar.gz}
(cd "$scratch/one" && sha256 -c SHA256SUMS >/dev/null)
# A page of documentation or a command more is no surprise, anything else is.
tar -tzf "$scratch/one/$archive" | sed "s|^$name/||" | grep -v -e '^docs/.*\.md$' -e '^share/man/man1/.*\.1$' -e '^$' >"$scratch/list"
diff -u tests/packaging.list "$scratch/list" || fail "the tarball's files are not those of tests/packaging.list"
owners=$(gnu_tar --numeric-owner -tvzf "$scratch/one/$archive" | awk '{print $2}' | sort -u)
[[ $owners == 0/0 ]] || fail "the owners are not 0/0: $owners"

tar -xzf "$scratch/one/$archive" -C "$scratch"
jq -e '
  .bomFormat == "CycloneDX" and .specVersion == "1.5" and (.components | length) > 50
  and all(.components[]; .name and (.version or (.description // "" | contains("the one of Rust"))) and (.licenses | length) == 1 and (.purl == null or (.hashes[0].content | length) == 64))
  and ([.components[]["bom-ref"], .metadata.component["bom-ref"]] as $known | all(.dependencies[]; .ref as $ref | [.ref, .dependsOn[]] - $known == []))
  and ([.components[].name] | index("tokio") and index("ring") and (index("proptest") or index("syn") or index("assert_cmd") | not))
' "$scratch/$name/murmur.cdx.json" >/dev/null || fail "murmur.cdx.json is not as it should be"
# So is what Linux's programs have in them of the C library and the compiler.
case $(rust_says host) in
*-linux-gnu*) linked='["glibc", "libgcc", "rust-std"]' ;;
*-linux-musl*) linked='["libunwind", "musl", "rust-std"]' ;;
*) linked='["rust-std"]' ;;
esac
own='["derun", "fake-claude", "murmur-agent", "murmur-core", "murmur-rpc", "murmur-secrets", "murmur-sys", "shell-guard"]'
jq -e --argjson linked "$linked" --argjson own "$own" '[.components[] | select(.purl == null).name] | sort == ($linked + $own | sort)' "$scratch/$name/murmur.cdx.json" >/dev/null ||
  fail "murmur.cdx.json does not name $linked and $own, or more"
for text in 'GCC RUNTIME LIBRARY EXCEPTION' 'GNU GENERAL PUBLIC LICENSE' 'GNU LESSER GENERAL PUBLIC LICENSE'; do
  [[ $name != *-linux-gnu || $(grep -c "$text" "$scratch/$name/THIRD-PARTY.txt") -ge 1 ]] || fail "THIRD-PARTY.txt has no '$text'"
done
# Nobody's text is missing.
jq -r '.components[] | select(.purl) | "\(.name) \(.version)"' "$scratch/$name/murmur.cdx.json" | while IFS= read -r line; do
  [[ $(grep -cxF -- "$line" "$scratch/$name/THIRD-PARTY.txt") -ge 1 ]] || fail "THIRD-PARTY.txt has no text for $line"
done

"$scratch/$name/install.sh" "$scratch/installed" >"$scratch/log"
demo "$scratch/installed/bin"
"$scratch/$name/uninstall.sh" "$scratch/installed" >"$scratch/log"
[[ -z $(ls -A "$scratch/installed") ]] || fail "uninstall.sh left something behind: $(ls -A "$scratch/installed")"

# A PREFIX may have spaces, and what else shells take to pieces.
spaced="$scratch/my tools; it's \$HOME"
"$scratch/$name/install.sh" "$spaced" >"$scratch/log"
just uninstall "$spaced" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "just uninstall does not take '$spaced'"; }
[[ -z $(ls -A "$spaced") ]] || fail "just uninstall left something behind: $(ls -A "$spaced")"
for recipe in install uninstall man; do
  # What the shell would be given comes back as it was.
  said=$(just --dry-run "$recipe" "$spaced" 2>&1 | tail -n 1)
  words=()
  eval "words=(${said#*"$recipe"})"
  [[ ${words[${#words[@]} - 1]} == "$spaced" ]] || fail "just $recipe does not take '$spaced': $said"
done
echo "packages: the same twice, complete, installed, run and removed"
