#!/bin/sh
# Prints the browser for the tests: $CHROMIUM, or the first one found that starts.
set -eu
for name in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome google-chrome-stable; do
    program=$(command -v "$name") || continue
    # Ubuntu's chromium-browser may be a script that only asks for a snap.
    if "$program" --version > /dev/null 2>&1; then
        echo "$program"
        exit 0
    fi
done
echo "No Chromium or Chrome was found. Install one, or name it: make CHROMIUM=/path/to/chromium test" >&2
exit 1
