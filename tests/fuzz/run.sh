#!/bin/sh
# A fixed number of inputs for each fuzzer, the same ones each time: what a run finds is not where the next one starts.
runs=${FUZZ_RUNS:-10000}
passed=0
failed=0
for program in build/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    rm -rf "build/fuzz/found/$name"
    mkdir -p "build/fuzz/found/$name"
    if "$program" -runs="$runs" -seed=1 -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -dict=build/fuzz/words.dict -artifact_prefix="build/fuzz/$name-" \
        "build/fuzz/found/$name" "tests/fuzz/corpus/$name" > "build/fuzz/$name.log" 2>&1; then
        passed=$((passed + 1))
    else
        tail -40 "build/fuzz/$name.log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
