#!/bin/sh
# On Windows, in the shell that comes with Git: type-checks derun, and runs its tests.
#
# Elsewhere: type-checks derun for Windows, on Debian, without rustup: with Debian's own compiler, unpacked into a folder but
# not installed, and a standard library built from Debian's sources. Also runs its tests if
# there are a linker (gcc-mingw-w64-x86-64) and wine64. crates/derun/README.md says what that shows and what it can't.
#
# Exit code 0 with a note: the compiler isn't available. Everything else that goes wrong is an error.
set -eu

cd "$(dirname "$0")/../.."

case $(uname -s) in
MINGW* | MSYS* | CYGWIN*)
    cargo check --locked --package derun
    cargo test --locked --package derun --package murmur-sys --lib
    exit
    ;;
esac

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/windows-toolchain"
folder=$(cd "$target/windows-toolchain" && pwd)
triple=x86_64-pc-windows-gnu

# The compiler that this crate needs or a newer one, with the sources of its standard library.
unpack() {
    packages="$folder/packages"
    rm -rf "$packages" "$folder/unpacked"
    mkdir -p "$packages"
    cd "$packages"
    version=$(apt-cache show rustc-web | sed -n 's/^Version: \([0-9]*\.[0-9]*\)\..*/\1/p' | sort -V | tail -n 1)
    apt-get download rustc-web libstd-rust-web-dev rust-web-src "libstd-rust-web-$version"
    llvm=$(dpkg-deb --field "libstd-rust-web-$version"_*.deb Depends | grep -o 'libllvm[0-9]*')
    apt-get download "$llvm"
    for package in *.deb; do
        dpkg-deb --extract "$package" "$folder/unpacked"
    done
    cd "$OLDPWD"
    rm -rf "$packages"
    mv "$folder/unpacked" "$folder/root"
}

if [ ! -x "$folder/root/usr/bin/rustc" ]; then
    if ! (unpack) >"$folder/unpack.log" 2>&1; then
        echo "note: not checked for Windows: Debian's packages rustc-web and rust-web-src are not available ($folder/unpack.log)"
        exit 0
    fi
fi

export RUSTC="$folder/root/usr/bin/rustc"
machine=$(uname -m)
export LD_LIBRARY_PATH="$folder/root/usr/lib/$machine-linux-gnu"
# The standard library is built from source, an unstable feature; the crate itself needs none.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="$folder/target"
std=std,panic_unwind,panic_abort,test

linker=$(command -v x86_64-w64-mingw32-gcc || true)
wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null || true)

cargo check --locked --package derun --target $triple -Zbuild-std=$std
echo "derun type-checks for $triple"

if [ -z "$linker" ] || [ -z "$wine" ]; then
    echo "note: its tests were not run: they need gcc-mingw-w64-x86-64 and wine64"
    exit 0
fi
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER="$linker"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$wine"
export WINEPREFIX="$folder/wine" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
export WINEPATH="Z:$folder/dll"
mkdir -p "$folder/dll"
"$linker" -shared -o "$folder/dll/bcryptprimitives.dll" tests/windows/bcryptprimitives.c -ladvapi32
# Wine 8 reports an error for a file that isn't locked, unlike Windows; std's unlock then fails after unlocking.
wrong=checking_a_lock_does_not_prevent_taking_it
cargo test --locked --package derun --package murmur-sys --lib --target $triple -Zbuild-std=$std -- --skip conpty --skip $wrong
# What runs in a pseudo console needs a console around it.
if command -v script >/dev/null; then
    script --quiet --return --command "cargo test --locked --package derun --lib --target $triple -Zbuild-std=$std -- conpty" /dev/null \
        </dev/null
fi
