#!/bin/sh
# Compiles the driver against the headers of DPDK that are installed, and links it with the crate's archive:
#
#     link.sh ARCHIVE LIBRARY [NAME]
#
# NAME is the driver's name. Tests of DPDK's own know drivers by their names.
set -eu
archive=$1 library=$2 name=${3:-crypto_millstream}
driver=$(dirname "$0")
cc=${CC:-cc}
if ! pkg-config --exists libdpdk; then
    echo "link.sh: pkg-config finds no libdpdk: install libdpdk-dev" >&2
    exit 1
fi
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
mkdir -p "$(dirname "$library")"
for source in driver session packet burst; do
    # shellcheck disable=SC2046 # they are words
    $cc -std=gnu11 -O2 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -DDRIVER_NAME="\"$name\"" \
        $(pkg-config --cflags libdpdk) -c "$driver/$source.c" -o "$objects/$source.o"
done
echo '{ local: *; };' > "$objects/map"
# A thread may be in its code at any time, so it can't be unloaded. Each library that it needs is one of this version of DPDK.
# shellcheck disable=SC2046
$cc -shared -o "$objects/library" "$objects"/*.o "$archive" \
    -Wl,--version-script="$objects/map",--gc-sections,-z,relro,-z,now,-z,nodelete,-z,defs \
    -lrte_bus_vdev $(pkg-config --libs libdpdk) -lgcc_s -lpthread -lm -ldl -lc
mv "$objects/library" "$library"
