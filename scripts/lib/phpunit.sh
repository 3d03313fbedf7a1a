# shellcheck shell=bash
# PHPUnit on the module that was just built.

# phpunit_with MODULE ARGUMENT...: under the settings of this PHP, with MODULE in the place of one that may be
# installed.
phpunit_with() {
    local file scanned=$work/conf.d
    mkdir -p "$scanned"
    for file in $("$PHP" -r 'echo strtr((string) php_ini_scanned_files(), ",", " ");'); do
        case $file in *rate_limit.ini) ;; *) cp "$file" "$scanned" ;; esac
    done
    echo "extension=$1" >"$scanned/30-rate_limit.ini"
    PHP_INI_SCAN_DIR=$scanned "$PHP" "$(command -v phpunit)" "${@:2}"
}
