# gpuplan: `make help` lists the targets. The rules of each folder stand in its own .mk file.

# ---- Settings: override on the command line, as in `make CC=clang PORT=9000 run` --------------------------------
CC ?= cc
# Port of `make run`.
PORT ?= 8080
# Where `make install` puts the program, its manual page and the shell completions.
PREFIX ?= /usr/local
DESTDIR ?=
# A folder with cJSON.c and cJSON.h, instead of the distribution's source package.
CJSON_DIR ?=

# -O2: the catalogue and the solver are small, nothing gains from more. -g: readable traces cost only disk.
OPTIMIZE ?= -O2 -g
# c11: the language of the core.
# -ffp-contract=off: gcc fuses multiply and add by default on some processors, which changes the last bit; native and
#   WebAssembly reports must be the same bytes.
LANGUAGE = -std=c11 -ffp-contract=off
# -Wconversion: a byte count silently narrowed is the error this program must not make. -Wshadow, -Wstrict-prototypes:
#   cheap, and each has hidden a real fault. WERROR is empty for users, whose newer compiler may know new warnings;
#   `make lint` sets it for gcc and clang.
WARNINGS = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
WERROR ?=
CFLAGS ?=
LDFLAGS ?=
# V=1 prints every command in full.
V ?=
# -------------------------------------------------------------------------------------------------------------------

B := build
Q := $(if $(V),,@)
# For what `make run` and `make test` build: all processors, unless -j was given.
PARALLEL = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
# $(call say,what,file): the line that stands for a command.
say = $(if $(V),,@printf '  %-10s %s\n' '$1' '$2')
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
SHELL := /bin/sh

all: cli site ## the command line and the site

include core/core.mk native/native.mk wasm/wasm.mk web/web.mk tests/tests.mk

clean: ## remove everything that was built (build/deps, which needs the network, stays)
	find $(B) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} + 2>/dev/null || true
	rm -rf dist

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile */*.mk */*/*.mk | sed -E 's/:.*## /\t/' | sort | expand -t 14

.PHONY: all clean help
