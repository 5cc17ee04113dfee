#!/bin/sh
# Reads `emcc --version` and prints the name that this release has for the size of the stack.
sed -nE '1s/.* ([0-9]+)\.([0-9]+)\.([0-9]+).*/\1 \2 \3/p' | {
    read -r major minor patch
    if [ "$((major * 1000000 + minor * 1000 + patch))" -lt 3001025 ]; then echo TOTAL_STACK; else echo STACK_SIZE; fi
}
