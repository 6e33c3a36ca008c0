# hone: `make demo` and `make test` do everything on a fresh Debian 12; each target may be run again.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
JOBS ?= $(shell nproc)
BUILD := build
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
MINILM := .cache/minilm
FUZZ_SECONDS ?= 10
GPU_BUILD ?= $(if $(wildcard build-cuda/libhone_cuda.so),build-cuda,$(BUILD))

.PHONY: help setup build demo test test-asan test-tsan cuda cuda-check test-gpu bench bench-gpu gpu-regression lint tidy layers format parity fuzz clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: ## install the compilers and libraries that are missing (Debian packages; root or sudo)
	@tools/setup

build: setup ## build build/hone, its tests and benchmarks
	@echo "== building into $(BUILD)/"
	@cmake --preset release > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS)

demo: build ## train on the built-in reviews (from MiniLM where it can be had), score, label a few sentences
	@tools/demo $(MINILM)

test: build ## run all tests
	@echo "== tests"
	@ctest --preset release -j $(JOBS)
	@tools/skipped $(BUILD)

test-asan: setup ## all tests and a short run of every fuzz driver, under the address and undefined-behaviour sanitizers
	@cmake --preset asan > build-asan-configure.log 2>&1 || { cat build-asan-configure.log; exit 1; }
	@rm -f build-asan-configure.log
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)
	@tools/skipped build-asan
	@BUILD=build-asan tools/fuzz $(FUZZ_SECONDS)

test-tsan: setup ## all tests under the thread sanitizer
	@cmake --preset tsan > build-tsan-configure.log 2>&1 || { cat build-tsan-configure.log; exit 1; }
	@rm -f build-tsan-configure.log
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan -j 1

cuda: setup ## build the CUDA plugin with everything else into build-cuda (needs nvcc)
	@test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset cuda > build-cuda-configure.log 2>&1 || { cat build-cuda-configure.log; exit 1; }
	@rm -f build-cuda-configure.log
	@cmake --build --preset cuda -j $(JOBS)

test-gpu: ## the tests that need a GPU, from what is built; nothing is fetched
	@$(GPU_BUILD)/device_test --gtest_filter='Cuda*'
	@$(GPU_BUILD)/kernels_cuda_test
	@for suite in ops models train infer; do $(GPU_BUILD)/$${suite}_test --gtest_filter='*Gpu*'; done

cuda-check: setup ## compile all CUDA code for one architecture (needs nvcc, not a GPU)
	@test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset cuda -DHONE_CUDA_ARCHITECTURES=90 -B build-cuda-check > build-cuda-check.log 2>&1 || { cat build-cuda-check.log; exit 1; }
	@rm -f build-cuda-check.log
	@cmake --build build-cuda-check --target hone_cuda -j $(JOBS)

bench-gpu: ## time hone on a GPU, and PyTorch where PEERS=DIR has its scripts, into bench/results
	@$(PYTHON) bench/gpu.py --hone $(GPU_BUILD)/hone $(if $(PEERS),--peers $(PEERS))

gpu-regression: ## compare this build with another's hone on a GPU, BASE=FILE; fails on a loss over 5%
	@test -n "$(BASE)" || { echo "usage: make gpu-regression BASE=FILE [CASES=PARTS] [ROUNDS=N]"; exit 2; }
	@$(PYTHON) bench/gpu_regression.py --base "$(BASE)" --new $(GPU_BUILD)/hone $(if $(CASES),--cases $(CASES)) $(if $(ROUNDS),--rounds $(ROUNDS))

fuzz: test-asan ## longer fuzzing: FUZZ_SECONDS=600 make fuzz

bench: build ## time hone, and the peers that $(PYTHON) has, into bench/results
	@$(BUILD)/gemm_bench --out bench/results
	@$(PYTHON) bench/run.py

parity: build ## compare a model folder with transformers: make parity MODEL=DIR (needs the Python package)
	@test -n "$(MODEL)" || { echo "usage: make parity MODEL=DIR"; exit 2; }
	@$(PYTHON) tests/parity/models_compare.py "$(MODEL)"

layers: ## check that no folder of src includes one below it
	@python3 tools/layers.py

lint: setup layers ## formatting, layering, and shell and Python syntax
	@echo "== clang-format"
	@git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
	@python3 -m compileall -q tools tests bench
	@for f in tools/setup tools/demo tools/fuzz .ci/run; do bash -n $$f; done
	@echo "lint: ok"

tidy: build ## clang-tidy over all of src (minutes)
	@git ls-files 'src/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p $(BUILD) --extra-arg=-Wno-unknown-warning-option

format: setup ## format the sources in place
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean: ## remove what the build made
	@rm -rf build build-asan build-tsan build-cuda build-cuda-check
