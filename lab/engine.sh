#!/usr/bin/env bash
# Builds the core for the browser, into the Python package. Where the compiler's standard library is there as sources,
# it is built, too, without the texts of panics, which nobody would see in a page: a tenth smaller. See CONTRIBUTING.md.
set -euo pipefail
cd "$(dirname "$0")/.."
rustc=${RUSTC:-rustc}
target=wasm32-unknown-unknown
out=python/wifair/laboratory/static/engine.wasm
sysroot=$("$rustc" --print sysroot)
flags=
options=()
if [ -d "$sysroot/lib/rustlib/src/rust/library" ]; then
    export RUSTC_BOOTSTRAP=1
    flags="-Zunstable-options -Cpanic=immediate-abort"
    "$rustc" $flags --print cfg >/dev/null 2>&1 || flags= # before Rust 1.91
    options=(-Zbuild-std=std,panic_abort)
elif [ ! -d "$sysroot/lib/rustlib/$target/lib" ]; then
    echo "warning: no $target, so \`wifair lab --export\` will not work. To build it: rustup target add $target" >&2
    exit 0
fi
# Debian's compiler leaves the linker to another package; rustup ships one.
if [ -z "${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER:-}" ]; then
    for lld in {"$sysroot","$(rustc --print sysroot 2>/dev/null)"}/lib/rustlib/*/bin/rust-lld; do
        [ -x "$lld" ] && export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld && break
    done
fi
# Paths of this machine would stand in the messages of panics.
remap="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$sysroot=rust"
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$remap $flags" \
    cargo build --quiet --locked -p wifair-web --profile web --target "$target" "${options[@]}"
built="${CARGO_TARGET_DIR:-target}/$target/web/wifair_web.wasm"
if command -v wasm-opt >/dev/null; then # of binaryen: a twentieth smaller
    wasm-opt -Oz --enable-bulk-memory --enable-multivalue --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-reference-types --enable-sign-ext -o "$out" "$built"
else
    cp "$built" "$out"
fi
echo "$out: $(wc -c <"$out") bytes, $(gzip -9c "$out" | wc -c) compressed"
