#!/bin/sh
# Unpacks Ravel below a folder: the first argument, ~/.local without one. It does nothing else; CONTENTS lists the files, for whoever removes them.
set -eu
prefix=${1:-$HOME/.local}
here=$(cd "$(dirname "$0")" && pwd)
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    # Complete, or not at all: an old command may be running.
    cp -p "$here/$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done <"$here/CONTENTS"
echo "Ravel is in $prefix/bin"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "which is not on your PATH yet" ;;
esac
