#!/bin/sh
# Puts the source of cJSON into a folder: cJSON.c and cJSON.h, nothing else.
#   native/setup/cjson.sh build/deps/cjson
# It is compiled into the native programs and into the WebAssembly module, so an installed library is not enough.
# In this order: the folder named by CJSON_DIR; the distribution's source package (with its security fixes), fetched
# with a private copy of the machine's own package sources, so that the system's settings stay as they are.
set -eu

target=$1
scratch=$target.fetch

fail() {
    echo "cjson: $1" >&2
    exit 1
}

# Both files appear together, so an interrupted run is never taken for a finished one.
install_from() {
    if [ ! -f "$1/cJSON.c" ] || [ ! -f "$1/cJSON.h" ]; then fail "no cJSON.c and cJSON.h in $1"; fi
    rm -rf "$target.new" && mkdir -p "$target.new"
    cp "$1/cJSON.c" "$1/cJSON.h" "$target.new/"
    [ ! -f "$1/LICENSE" ] || cp "$1/LICENSE" "$target.new/"
    rm -rf "$target" && mv "$target.new" "$target"
}

# Source entries for the distribution's own suites, from deb822 files: every stanza that names such a suite.
sources_of_deb822() {
    awk -v suites="$suites" '
        BEGIN { RS = ""; FS = "\n" }
        {
            ours = 0; off = 0; text = ""
            for (i = 1; i <= NF; i++) {
                line = $i
                if (line ~ /^#/) continue
                if (line ~ /^Enabled:[ \t]*no/) off = 1
                if (line ~ /^Suites:/ && line ~ suites) ours = 1
                if (line ~ /^Types:/) line = "Types: deb-src"
                text = text line "\n"
            }
            if (ours && !off) printf "%s\n", text
        }' "$@"
}

# The same from one-line files: "deb [options] address suite component…".
sources_of_lists() {
    awk -v suites="$suites" '/^deb[ \t]/ && !/[ \t]cdrom:/ && $0 ~ suites { sub(/^deb/, "deb-src"); print }' "$@"
}

write_private_sources() {
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    suites="[ \t](${codename:-stable}|stable|testing|unstable|sid)([-/ \t]|\$)"
    mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/cache/archives/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || sources_of_lists "$file"
    done > "$scratch/parts/private.list"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sources_of_deb822 "$file"
    done > "$scratch/parts/private.sources"
}

private_apt() {
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/parts" \
        -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

fetch_from_distribution() {
    for tool in apt-get dpkg-source awk; do
        command -v "$tool" > /dev/null || return 1
    done
    rm -rf "$scratch" && mkdir -p "$scratch"
    scratch=$(cd "$scratch" && pwd)
    write_private_sources
    private_apt update || return 1
    (cd "$scratch" && private_apt source cjson > log 2>&1) || { cat "$scratch/log" >&2; return 1; }
    for folder in "$scratch"/cjson-*/; do
        install_from "${folder%/}"
    done
    rm -rf "$scratch"
}

mkdir -p "$(dirname "$target")"
if [ -n "${CJSON_DIR:-}" ]; then
    install_from "$CJSON_DIR"
elif ! fetch_from_distribution; then
    fail "the source package could not be fetched (apt-get and dpkg-dev are needed, and a network).
Unpack a release of cJSON, 1.7.15 or newer, and name its folder: make CJSON_DIR=/path/to/cJSON"
fi
