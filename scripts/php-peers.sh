#!/usr/bin/env bash
# Gets the frameworks that the tests of the library in php/ run it in, from Debian 13's packages, into
# target/php-peers. They are unpacked there and not installed: php8.4-psr (the PSR-15 interfaces)
# and Symfony's packages exclude each other, and Laravel's would upgrade half of a Debian 12.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

packages=(PACKAGES)

peers=$root/target/php-peers
if [ -e "$peers/complete" ]; then
    say "$peers is complete"
    exit 0
fi
has apt-get && has dpkg-deb || die "php-peers needs apt-get and dpkg-deb: on another system the group 'frameworks' cannot run"
release=()
if is_debian_12; then
    add_debian_13
    release=(-t trixie)
fi

download() {
    cd "$work"
    apt-get download -q ${release[@]+"${release[@]}"} "${packages[@]}"
    rm -rf "$peers"
    mkdir -p "$peers"
    for file in ./*.deb; do dpkg-deb -x "$file" "$peers"; done
}
step "frameworks for the library's tests (target/php-peers)" download
touch "$peers/complete"
