#!/usr/bin/env bash
# The contents of the programs: `packaging/bill.sh FOLDER` writes murmur.cdx.json there, a CycloneDX bill of materials,
# and THIRD-PARTY.txt, the texts of the licenses. Both list only what is linked into the programs on this machine: the
# crates (without those that only build or test them), Rust's standard library, and on Linux the C library and the
# unwinder, which are static there and part of the system elsewhere. The same Cargo.lock, toolchain and
# SOURCE_DATE_EPOCH give the same bytes.
#
# A dependency without the text of its license is an error.
set -euo pipefail
# The bash of macOS doesn't have this option.
shopt -s inherit_errexit 2>/dev/null || true

if [[ $# != 1 || -z ${SOURCE_DATE_EPOCH:-} ]]; then
  echo "usage: SOURCE_DATE_EPOCH=SECONDS packaging/bill.sh FOLDER" >&2
  exit 2
fi
if ! command -v jq >/dev/null 2>&1; then
  echo "error: jq is not installed; install it (apt-get install jq, brew install jq)" >&2
  exit 1
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/machine.sh
scratch=$(mktemp -d "${TMPDIR:-/tmp}/murmur-bill-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

rust=$(rust_says release)
triple=$(release_target)
# The versions of the C library and of the compiler, whose unwinder is linked.
c=
gcc=
case $triple in
*-linux-gnu*)
  c=$(getconf GNU_LIBC_VERSION | sed 's/^glibc //')
  gcc=$(cc -dumpfullversion)
  [[ -f $(cc -print-file-name=libgcc_eh.a) ]] || {
    echo "error: cc has no libgcc_eh.a, so it is unknown which unwinder it links; use gcc" >&2
    exit 1
  }
  ;;
*-linux-musl*)
  # rustup's Rust has its own musl and LLVM's unwinder; a distribution's may link others.
  [[ -f $(rustc --print sysroot)/lib/rustlib/$triple/lib/self-contained/libunwind.a ]] || {
    echo "error: this Rust does not include musl, so it is unknown which C library it links; use rustup's Rust" >&2
    exit 1
  }
  ;;
*-linux-*)
  echo "error: unknown C library for $triple; add it to packaging/bill.sh" >&2
  exit 1
  ;;
esac

# `name vVERSION` of each crate, without those that only run during compilation.
cargo tree --locked --package murmur --edges normal,no-proc-macro --target "$triple" --prefix none --format '{p}' |
  sed 's/ (.*//' | sort -u >"$scratch/linked"
cargo metadata --locked --format-version 1 --filter-platform "$triple" >"$scratch/metadata.json"
# Name, version and SHA-256 of each crate from a registry.
awk -F'"' '/^name = /{n=$2} /^version = /{v=$2} /^checksum = /{print n, v, $2}' Cargo.lock >"$scratch/checksums"

jq -n --rawfile linked "$scratch/linked" --rawfile checksums "$scratch/checksums" \
  --slurpfile metadata "$scratch/metadata.json" --arg rust "$rust" --arg c "$c" --arg gcc "$gcc" --arg triple "$triple" \
  --argjson epoch "$SOURCE_DATE_EPOCH" --from-file packaging/bill.jq >"$out/murmur.cdx.json"

# The license files in a package, or the text of one of the licenses that it names.
texts() { # package's folder, its license
  local found
  found=$(find "$1" -maxdepth 2 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'unlicense*' \
    -o -iname 'notice*' -o -iname 'copyright*' \) ! -name '*.rs' | sort)
  if [[ -n $found ]]; then
    echo "$found"
  elif [[ $2 == *Apache-2.0* ]]; then
    echo LICENSE-APACHE
  fi
}

# One entry: name, license, and the files with the text. A text that several share is included once.
entry() {
  local file sum
  printf '%s: %s\n' "$1" "$2" >>"$scratch/list"
  for file in "${@:3}"; do
    sum=$(tr -d '\r' <"$file" | sha256 - | cut -d ' ' -f 1)
    tr -d '\r' <"$file" >"$scratch/$sum.text"
    printf '%s\n' "$1" >>"$scratch/$sum.of"
  done
}

jq -r '.components[] | select(.purl) | [.name, .version, .licenses[0].expression] | @tsv' "$out/murmur.cdx.json" >"$scratch/wanted"
jq -r '.packages[] | [.name, .version, (.manifest_path | rtrimstr("/Cargo.toml"))] | @tsv' "$scratch/metadata.json" >"$scratch/folders"
without=()
while IFS=$'\t' read -r name version license; do
  folder=$(awk -F'\t' -v name="$name" -v version="$version" '$1 == name && $2 == version {print $3}' "$scratch/folders")
  files=()
  while IFS= read -r file; do
    files+=("$file")
  done < <(texts "$folder" "$license")
  if [[ ${#files[@]} == 0 ]]; then
    without+=("$name $version ($license)")
    continue
  fi
  entry "$name $version" "$license" "${files[@]}"
done <"$scratch/wanted"
if [[ ${#without[@]} != 0 ]]; then
  printf 'error: no license text for %s; add it to packaging/licenses and packaging/bill.sh\n' "${without[@]}" >&2
  exit 1
fi
entry "the standard library of Rust $rust" "MIT OR Apache-2.0" LICENSE-APACHE
case $triple in
*-linux-gnu*)
  entry "the GNU C library $c" "LGPL-2.1-or-later" packaging/licenses/LGPL-2.1-or-later.txt
  entry "libgcc $gcc" "GPL-3.0-or-later WITH GCC-exception-3.1" packaging/licenses/{GCC-exception-3.1,GPL-3.0-or-later}.txt
  ;;
*-linux-musl*)
  entry "musl, of Rust $rust" "MIT" packaging/licenses/musl.txt
  entry "LLVM's libunwind, of Rust $rust" "Apache-2.0 WITH LLVM-exception" LICENSE-APACHE packaging/licenses/LLVM-exception.txt
  ;;
esac

{
  echo "murmur's programs contain third-party code under these licenses. Their texts follow."
  echo
  cat "$scratch/list"
  for of in "$scratch"/*.of; do
    printf '%s %s\n' "$(head -n 1 "$of" | tr ' ' '-')" "$of"
  done | sort | while read -r _ of; do
    printf '\n%s\n' "$(printf '=%.0s' {1..80})"
    sort -u "$of"
    printf '%s\n\n' "$(printf -- '-%.0s' {1..80})"
    cat "${of%.of}.text"
  done
} >"$out/THIRD-PARTY.txt"
