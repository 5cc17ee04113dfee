#!/bin/sh
# Installs what is missing of the named groups, without questions:
#   native/setup/install.sh build          the command line: a C compiler, make, the source of cJSON
#   native/setup/install.sh build wasm web the page
#   native/setup/install.sh test           all of these, and what the tests need
#   native/setup/install.sh --check build  installs nothing: fails and says what is missing
# Asks for nothing that is there already, however it was installed. Without apt, or without the right to use it, it
# says which packages to install.
set -eu

here=$(dirname "$0")
missing=""

need() { missing="$missing $*"; }
has() { command -v "$1" > /dev/null 2>&1; }
has_cmocka() {
    has cc && printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h cmocka.h | cc -E -x c - > /dev/null 2>&1
}
has_chinese_font() { has fc-list && [ -n "$(fc-list :lang=zh)" ]; }
has_fuzzer() {
    printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9 ? -1 : 0; }\n' |
        clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - > /dev/null 2>&1
}
distribution() {
    # shellcheck source=/dev/null
    (. /etc/os-release 2> /dev/null && echo "${ID:-}")
}

collect_build() {
    compiler=${CC:-cc}
    has "${compiler%% *}" || need gcc libc6-dev
    has make || need make
    # dpkg-source unpacks the source package of cJSON.
    [ -f build/deps/cjson/cJSON.c ] || [ -n "${CJSON_DIR:-}" ] || has dpkg-source || need dpkg-dev
}
collect_wasm() { has "${EMCC:-emcc}" || need emscripten; }
collect_web() {
    has node || need nodejs
    has npm || need npm
}
collect_test() {
    collect_build
    collect_wasm
    collect_web
    has git || need git
    has gcc || need gcc
    has clang || need clang
    has clang-tidy || need clang-tidy
    has cppcheck || need cppcheck
    has shellcheck || need shellcheck
    has pkg-config || need pkg-config
    has man || need man-db
    has zsh || need zsh
    has_cmocka || need libcmocka-dev
    has_chinese_font || need fontconfig fonts-noto-cjk
    # Ubuntu's package of that name only asks for the snap.
    "$here/browser.sh" > /dev/null 2>&1 || [ "$(distribution)" = ubuntu ] || need chromium
}

as_root() {
    if [ "$(id -u)" = 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"
    else sudo DEBIAN_FRONTEND=noninteractive "$@"; fi
}

install_packages() {
    [ $# -gt 0 ] || return 0
    if ! has apt-get; then
        echo "Missing on this system (names as in Debian): $*" >&2
        echo "Install them with its own package manager, then run make again." >&2
        exit 1
    fi
    if [ -n "$check" ] || { [ "$(id -u)" != 0 ] && ! has sudo; }; then
        echo "Missing: $*" >&2
        echo "As root: apt-get update && apt-get install --no-install-recommends $*" >&2
        exit 1
    fi
    echo "Installing: $*"
    as_root apt-get -qq update
    as_root apt-get -qq -y --no-install-recommends install "$@" > /dev/null
}

# The sanitizers' runtime must be of the same release as clang, so clang comes first. Older releases have it in
# libclang-common-N-dev.
install_fuzzer_runtime() {
    has_fuzzer && return 0
    release=$(clang -dumpversion | cut -d. -f1)
    if [ -n "$(apt-cache search --names-only "^libclang-rt-$release-dev\$" 2> /dev/null)" ]; then
        install_packages "libclang-rt-$release-dev"
    else
        install_packages "libclang-common-$release-dev"
    fi
}

install_browser() {
    "$here/browser.sh" > /dev/null 2>&1 && return 0
    if has snap; then as_root snap install chromium > /dev/null 2>&1 || true; fi
    "$here/browser.sh" > /dev/null
}

check_node() {
    node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' && return 0
    echo "node 18 or newer is needed; this is $(node --version). Debian 12 and Ubuntu 24.04 have it." >&2
    exit 1
}

check=""
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
for group in "$@"; do
    case $group in
        build | wasm | web | test) "collect_$group" ;;
        *) echo "install.sh: no group $group" >&2; exit 2 ;;
    esac
done
# shellcheck disable=SC2086 # the list is split into words on purpose
install_packages $missing
[ -z "$check" ] || exit 0
for group in "$@"; do
    case $group in
        web) check_node ;;
        test) check_node; install_fuzzer_runtime; install_browser ;;
    esac
done
