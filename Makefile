# Thin: every target is one or two commands that also work by hand. CONTRIBUTING.md has the longer story.
PRESET ?= release
MINUTES ?= 2
TEXT ?= $(wildcard .deps/text/jargon.txt)
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

.PHONY: demo gpu test test-all cuda-all fuzz coverage tidy build programs bench bench-gate format check install clean help

help:            ## this list
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p;s/^\(help\): *## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

programs: bootstrap-build  ## install what is missing and build the programs
	@cmake --build $(BUILD) -j $(JOBS) --target programs

gpu:             ## install the CUDA toolkit where it is missing and build the programs for NVIDIA GPUs
	@scripts/bootstrap --cuda
	@cmake --preset cuda --log-level=WARNING >/dev/null
	@cmake --build build/cuda -j $(JOBS) --target programs cuda_programs

demo: programs   ## train on real text for MINUTES=2, on TEXT=path if given, and sample
	@$(BUILD)/bin/gpctl demo --minutes $(MINUTES) $(if $(TEXT),--text '$(TEXT)')

build: bootstrap-build  ## build programs and tests
	@cmake --build $(BUILD) -j $(JOBS)

test: build      ## what fits in 15 minutes: unit, sim, integration and fault tests
	@scripts/run_tests --preset $(PRESET)

test-all: build cuda-all  ## every test, also under the sanitizers, the CUDA code for every GPU, and clang-tidy
	@scripts/bootstrap --python --mlflow
	@scripts/run_tests --preset $(PRESET) --all
	@scripts/run_sanitizer asan
	@scripts/run_sanitizer tsan
	@scripts/check_tidy --preset $(PRESET)

cuda-all:        ## compile and link the CUDA build for every GPU (fetches the toolkit where there is none)
	@scripts/bootstrap --cuda
	@cmake --preset cuda-all --log-level=WARNING >/dev/null
	@cmake --build build/cuda-all -j $(JOBS) --target cuda_programs gpu_tests

coverage:        ## which lines the unit tests reach, a figure per folder; PATHS='lib/http' lists the others
	@scripts/coverage $(PATHS)

tidy: build      ## clang-tidy on the sources that have changed since they last passed
	@scripts/check_tidy --preset $(PRESET)

fuzz:            ## every fuzz target for MINUTES=10 each, or TARGETS='choices model'; findings in build/fuzz/failures
fuzz: MINUTES := 10
fuzz:
	@scripts/fuzz --minutes $(MINUTES) $(TARGETS)

bench: programs  ## every measured claim beside its peer, tens of minutes (fetches 5 GB the first time); LLMC=dir adds llm.c
	@scripts/bootstrap --peers
	@GP_BIN=$(BUILD)/bin tests/bench/run_table.py $(if $(LLMC),--llmc '$(LLMC)') $(BENCH_FLAGS)

bench-gate: programs  ## fails when a ratio to a peer is below 0.7 of the published one
	@scripts/run_tests --preset $(PRESET) --labels bench

format:          ## rewrite the C++ sources in the project's style
	@scripts/format

check:           ## format, layers, file hygiene and quoted messages, without building
	@scripts/format --check
	@scripts/check_includes.py
	@scripts/check_files.py
	@scripts/check_quotes.py

install: build   ## a relocatable tree under PREFIX=build/install
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),build/install)

clean:           ## remove build trees; keeps .deps
	@rm -rf build

.PHONY: bootstrap-build
bootstrap-build:
	@scripts/bootstrap
	@cmake --preset $(PRESET) --log-level=WARNING >/dev/null
