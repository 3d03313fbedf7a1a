# shellcheck shell=bash
# What a command needs, under the names of Debian's packages, and how what is missing gets here.

build_packages=(ca-certificates gcc libc6-dev libclang-dev php8.4-cli php8.4-dev rustup)

rust_version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Debian keeps servers in sbin, and rustup its programs at home.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:${HOME:-/nonexistent}/.cargo/bin

# provide PACKAGE...: makes sure that what these packages bring is there, from wherever it comes.
provide() {
    local package missing=()
    for package in "$@"; do present "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "missing: ${missing[*]}"
    [[ " ${missing[*]} " != *" rustup "* ]] ||
        say "rustup brings Rust $rust_version or later; apt removes older cargo and rustc packages for it"
    install_packages "${missing[@]}"
    provide_rust "${missing[@]}"
    for package in "${missing[@]}"; do
        present "$package" || die "$package was installed, but what it should bring is not there"
    done
}

# present PACKAGE: whether what it brings is here already. No grep -q: it stops reading early, and
# with pipefail the program that is still writing then makes the whole pipe fail.
present() {
    case $1 in
    ca-certificates) [ -s /etc/ssl/certs/ca-certificates.crt ] || [ -s /etc/pki/tls/cert.pem ] ;;
    gcc) has cc ;;
    libc6-dev) echo '#include <stdio.h>' | cc -E - ;;
    libapache2-mod-php8.4) [ -e /usr/lib/apache2/modules/libphp8.4.so ] ;;
    libclang-dev) has clang || compgen -G '/usr/lib/llvm-*/lib/libclang.so' ;;
    libphp8.4-embed) [ -e /usr/lib/libphp8.4.so ] ;;
    php8.4-cli) find_program PHP php8.4 php -n -r 'echo PHP_VERSION;' ;;
    php8.4-dev) find_program PHP_CONFIG php-config8.4 php-config --version ;;
    php8.4-fpm) find_program PHP_FPM php-fpm8.4 php-fpm -n -v ;;
    php8.4-xml) has_extension xmlwriter ;;
    php-*) dpkg-query -W -f '${Status}' "$1" | grep '^install ok installed' ;;
    php8.4-*) has_extension "${1#php8.4-}" ;;
    nodejs) node --version | tr -d v | at_least 20 ;;
    rustup) rustc --version | cut -d ' ' -f 2 | at_least "$rust_version" && has cargo ;;
    rust-clippy) cargo clippy --version ;;
    rustfmt) cargo fmt --version ;;
    *) has "$1" ;;
    esac >/dev/null 2>&1
}

# find_program VARIABLE NAME... ARGUMENT...: exports in VARIABLE the first of two names that, with
# the arguments, answers with a version 8.4. ext-php-rs reads PHP and PHP_CONFIG too.
find_program() {
    local variable=$1 name
    for name in "${!variable:-$2}" "$2" "$3"; do
        if has "$name" && "$name" "${@:4}" 2>/dev/null | grep '\b8\.4\.'; then
            export "$variable=$(command -v "$name")"
            return 0
        fi
    done
    return 1
}

has_extension() { present php8.4-cli && "$PHP" -m | grep -ix "$1"; }

# at_least VERSION: whether the version on standard input is that or later.
at_least() { { echo "$1"; cat; } | sort -VC; }

# provide_rust PACKAGE...: what rustup brings, where there is one: the toolchain and its components.
provide_rust() {
    local package component
    has rustup || return 0
    if ! present rustup; then
        step "rustup toolchain install stable" rustup toolchain install stable --profile minimal
        rustup default >/dev/null 2>&1 || step "rustup default stable" rustup default stable
        export RUSTUP_TOOLCHAIN=stable
    fi
    for package in "$@"; do
        component=${package#rust-}
        case $component in
        clippy | rustfmt)
            present "$package" ||
                step "rustup component add $component" rustup component add "$component"
            ;;
        esac
    done
}

install_packages() {
    local package packages=() release=()
    has apt-get || die "install these first; the names are those of Debian's packages: $*"
    for package in "$@"; do
        case $package in
        rustup) has rustup || packages+=("$package") ;;
        rust-clippy | rustfmt) # of a toolchain by rustup, and in conflict with its package
            has rustup || [[ " $* " == *" rustup "* ]] || packages+=("$package")
            ;;
        *) packages+=("$package") ;;
        esac
    done
    [ ${#packages[@]} -gt 0 ] || return 0
    as_root true # where sudo asks for a password, it does so here, outside a step
    step "apt-get update" apt_get update
    if is_debian_12; then
        add_debian_13
        release=(-t trixie)
    elif ! apt-cache show php8.4-cli >/dev/null 2>&1; then
        die "this release has no package of PHP 8.4: Debian 12 or later, Ubuntu 25.04 or later," \
            "or install PHP 8.4 first (missing: $*)"
    fi
    install_now "${release[@]}" "${packages[@]}"
    hash -r
}

install_now() {
    local package
    hold_services
    step "apt-get install $*" apt_get install -y --no-install-recommends \
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
    release_services
    has systemctl || return 0
    for package in "$@"; do
        [ ! -e "/lib/systemd/system/$package.service" ] ||
            as_root systemctl disable --quiet "$package" 2>/dev/null || true
    done
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# The package sources as apt itself reads them, whichever of its two formats they are written in.
apt_sources() { apt-get indextargets --format "\$(CODENAME) \$(COMPONENT) \$(REPO_URI)" 'Created-By: Packages'; }

# Asked of the sources: Debian 13's base-files, which PHP's packages bring, changes /etc/os-release.
is_debian_12() { apt_sources | grep '^bookworm main ' >/dev/null; }

# PHP 8.4 is in Debian 13. At priority 100 nothing comes from there that was not asked for by -t. All
# that is missing does: PHP brings Debian 13's libc, with which some packages of Debian 12 do not go.
add_debian_13() {
    local mirror list=/etc/apt/sources.list.d/rate_limit-trixie.list
    ! apt_sources | grep '^trixie main ' >/dev/null || return 0
    mirror=$(apt_sources | awk '$1 == "bookworm" && $2 == "main" { print $3; exit }')
    say "Debian 12 has no PHP 8.4: adding Debian 13 from $mirror at priority 100 ($list)"
    echo "deb $mirror trixie main" | as_root tee "$list" >/dev/null
    printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' |
        as_root tee /etc/apt/preferences.d/rate_limit-trixie >/dev/null
    step "apt-get update" apt_get update
}

# Packages of servers start them as system services; here each command starts its own, privately.
held=''
hold_services() {
    [ ! -e /usr/sbin/policy-rc.d ] || return 0
    held=1
    printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
    as_root chmod 755 /usr/sbin/policy-rc.d
}

release_services() {
    [ -z "$held" ] || as_root rm -f /usr/sbin/policy-rc.d
    held=''
}
