#!/bin/sh
# Runs each tool of `make lint` for itself and counts it as one test. The sources of clang-tidy are checked side by side.
passed=0
failed=0
for tool in gcc clang tidy cppcheck shellcheck eslint types json; do
    if make --no-print-directory --silent --keep-going "-j$(nproc 2> /dev/null || echo 2)" "lint-$tool"; then
        passed=$((passed + 1))
    else
        echo "lint-$tool found faults" >&2
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
