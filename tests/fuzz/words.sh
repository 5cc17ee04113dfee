#!/bin/sh
# Reads fields.def and prints every name and choice in it as a dictionary for libFuzzer.
grep -o '"[^"]*"' | tr -d '"' | tr '.' '\n' | tr '|' '\n' | grep -v '^$' | sort -u | sed 's/.*/"&"/'
