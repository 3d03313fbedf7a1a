# shellcheck shell=bash
# The loadable module.

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
module=$root/modules/rate_limit.so

# build_module FILE FEATURES
build_module() {
    step "cargo build --release --features $2 (${1#"$root/"})" \
        cargo build --locked --release --features "$2"
    mkdir -p "${1%/*}"
    place "$CARGO_TARGET_DIR/release/librate_limit.so" "$1"
}

# place FILE DESTINATION [COMMAND...]: copies beside DESTINATION and renames. A worker that has the
# old module mapped keeps it; writing over the file would kill it. COMMAND is as_root where needed.
place() {
    "${@:3}" cp "$1" "$2.new.$$"
    "${@:3}" chmod 644 "$2.new.$$"
    "${@:3}" mv -f "$2.new.$$" "$2"
}

# Debian keeps each module's settings here and links them for each SAPI; elsewhere PHP scans one folder.
debian_available=/etc/php/8.4/mods-available

ini_file() {
    local folder
    if [ -d "$debian_available" ]; then
        echo "$debian_available/rate_limit.ini"
        return
    fi
    folder=$("$PHP" --ini | sed -n 's/^Scan for additional .ini files in: *//p' | cut -d : -f 1)
    [ -d "$folder" ] || die "this PHP scans no folder for settings: add php/rate_limit.ini to its php.ini"
    echo "$folder/30-rate_limit.ini"
}
