#!/usr/bin/env bash
# Builds the core for the browser, into the Python package. If the sources of the standard library are installed, it is
# built too, for size and without panic messages, which a page would not show; the result is an eighth smaller. See
# CONTRIBUTING.md.
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
    options=(-Zbuild-std=std,panic_abort -Zbuild-std-features=optimize_for_size)
elif [ ! -d "$sysroot/lib/rustlib/$target/lib" ]; then
    echo "warning: no $target, so \`wifair lab --export\` will not work. To build it: rustup target add $target" >&2
    exit 0
fi
# Debian packages the linker separately; rustup ships one.
if [ -z "${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER:-}" ]; then
    for lld in {"$sysroot","$(rustc --print sysroot 2>/dev/null)"}/lib/rustlib/*/bin/rust-lld; do
        [ -x "$lld" ] && export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld && break
    done
fi
# Keep local paths out of panic messages. The rounds of SHA-256 stay a loop, as it hashes no more than a scenario.
remap="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$sysroot=rust"
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$remap $flags --cfg sha2_backend_soft=\"compact\"" \
    cargo build --quiet --locked -p wifair-web --profile web --target "$target" "${options[@]}"
built="${CARGO_TARGET_DIR:-target}/$target/web/wifair_web.wasm"
if command -v wasm-opt >/dev/null; then # from binaryen; makes the file a tenth smaller
    # Its default is to inline each function that has one caller; kept apart, large ones take less. More functions are
    # similar after a first round.
    wasm-opt -Oz --merge-similar-functions -Oz --one-caller-inline-max-function-size=50 --strip-debug --strip-producers \
        --enable-bulk-memory --enable-multivalue --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-reference-types --enable-sign-ext -o "$out" "$built"
else
    cp "$built" "$out"
fi
echo "$out: $(wc -c <"$out") bytes, $(gzip -9c "$out" | wc -c) compressed"
