#!/usr/bin/env bash
# Gets the frameworks that the tests of the library in php/ run it in, from Debian 13's packages, into
# target/php-peers. They are unpacked there and not installed: php8.4-psr (the PSR-15 interfaces)
# and Symfony's packages exclude each other, and Laravel's would upgrade half of a Debian 12.
# shellcheck source=scripts/lib/common.sh
. "${BASH_SOURCE[0]%/*}/lib/common.sh"

packages=(
    php-laravel-framework php-nesbot-carbon php-nyholm-psr7 php-phpoption php-psr-cache
    php-psr-container php-psr-event-dispatcher php-psr-http-factory php-psr-http-message php-psr-log
    php-psr-simple-cache php-vlucas-phpdotenv php8.4-psr
)
for part in \
    bus cache collections conditionable config container contracts events filesystem http log \
    macroable pipeline routing support testing translation view; do
    packages+=("php-illuminate-$part")
done
for part in \
    cache cache-contracts config console dependency-injection deprecation-contracts error-handler \
    event-dispatcher event-dispatcher-contracts filesystem finder framework-bundle http-foundation \
    http-kernel mailer mime process rate-limiter routing service-contracts string translation \
    translation-contracts uid var-dumper var-exporter; do
    packages+=("php-symfony-$part")
done

# download FOLDER: the packages, unpacked there.
download() (
    cd "$work" &&
        apt-get download -q ${release[@]+"${release[@]}"} "${packages[@]}" &&
        rm -rf "$1" &&
        mkdir -p "$1" || exit
    for file in ./*.deb; do dpkg-deb -x "$file" "$1" || exit; done
    touch "$1/complete"
)

peers=$root/target/php-peers
[ ! -e "$peers/complete" ] || exit 0
has dpkg-deb || die "the frameworks come from Debian's packages: this needs apt-get and dpkg-deb"
release=()
if is_debian_12; then
    add_debian_13
    release=(-t trixie)
fi
apt-cache show php8.4-psr >/dev/null 2>&1 || step "apt-get update" apt_get update
step "frameworks for the library's tests (target/php-peers)" download "$peers"
