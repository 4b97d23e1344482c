#!/usr/bin/env bash
# Builds the core for the browser, into the Python package. Where the compiler has no standard library for
# wasm32-unknown-unknown but its sources, that is built, too: see CONTRIBUTING.md.
set -euo pipefail
cd "$(dirname "$0")/.."
rustc=${RUSTC:-rustc}
target=wasm32-unknown-unknown
out=python/wifair/laboratory/static/engine.wasm
sysroot=$("$rustc" --print sysroot)
options=()
if [ ! -d "$sysroot/lib/rustlib/$target/lib" ]; then
    if [ ! -d "$sysroot/lib/rustlib/src/rust/library" ]; then
        echo "no $target: \`wifair lab --export\` will not work. To build it: rustup target add $target" >&2
        exit 0
    fi
    export RUSTC_BOOTSTRAP=1
    options=(-Zbuild-std=std,panic_abort)
fi
# Debian's compiler leaves the linker to another package; rustup ships one.
if [ -z "${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER:-}" ]; then
    for lld in {"$sysroot","$(rustc --print sysroot 2>/dev/null)"}/lib/rustlib/*/bin/rust-lld; do
        [ -x "$lld" ] && export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld && break
    done
fi
# Paths of this machine would stand in the messages of panics.
remap="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$sysroot=rust"
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$remap" \
    cargo build --quiet --locked -p wifair-web --profile web --target "$target" "${options[@]}"
cp "${CARGO_TARGET_DIR:-target}/$target/web/wifair_web.wasm" "$out"
echo "$out: $(wc -c <"$out") bytes, $(gzip -9c "$out" | wc -c) compressed"
