# hone: `make demo` and `make test` do everything on a fresh Debian 12; each target may be run again.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
JOBS ?= $(shell nproc)
BUILD := build
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
MINILM := .cache/minilm
FUZZ_SECONDS ?= 10
GPU_BUILD ?= $(if $(wildcard build-cuda/libhone_cuda.so),build-cuda,$(BUILD))

TSAN_TESTS ?=
ARM_TESTS ?=
ARM_CPUS ?= cortex-a72 max
space := $(subst ,, )
PARTS ?= 1
CUDA ?= auto
UNITY ?=
PICK ?= 0
# A copy of the sources, as `make mutants` makes one, then finds the objects of this folder cached.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

.PHONY: help setup program build demo test test-asan test-tsan arm64 test-arm64 cuda cuda-check test-gpu bench bench-gpu bench-serve regression lint tidy layers format parity compare mutants test-clients test-web web-baselines test-cluster test-prep bench-prep check-packaging package test-package wheel wheel-cuda test-python test-python-debian bench-python fuzz clean

help: ## what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 20

setup: ## install the compilers and libraries that are missing (Debian packages; root or sudo)
	@tools/setup

program: ## build build/hone alone; installs what that needs where it is missing
	@tools/setup --program
	@echo "== building $(BUILD)/hone"
	@test -e $(BUILD)/build.ninja || cmake --preset release -DHONE_TESTS=OFF -DHONE_BENCH=OFF -DHONE_UNITY=ON > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS) --target hone

build: setup ## build build/hone, its tests and benchmarks; UNITY=ON is faster from nothing, slower after a change
	@echo "== building into $(BUILD)/"
	@cmake --preset release -DHONE_TESTS=ON -DHONE_BENCH=ON $(if $(UNITY),-DHONE_UNITY=$(UNITY)) > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS)

demo: program ## train on the built-in reviews (from MiniLM where it can be had), score, label a few sentences, say why
	@tools/demo $(MINILM)

test: build ## run all tests
	@echo "== tests"
	@ctest --preset release -j $(JOBS)
	@tools/skipped.py $(BUILD)

test-asan: setup ## all tests and a short run of every fuzz driver, under the address and undefined-behaviour sanitizers
	@cmake --preset asan > build-asan-configure.log 2>&1 || { cat build-asan-configure.log; exit 1; }
	@rm -f build-asan-configure.log
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)
	@tools/skipped.py build-asan
	@BUILD=build-asan tools/fuzz $(FUZZ_SECONDS)

test-tsan: setup ## all tests under the thread sanitizer, or TSAN_TESTS="base_test plan_test"
	@cmake --preset tsan > build-tsan-configure.log 2>&1 || { cat build-tsan-configure.log; exit 1; }
	@rm -f build-tsan-configure.log
	@cmake --build --preset tsan -j $(JOBS) $(if $(TSAN_TESTS),--target $(TSAN_TESTS))
	@ctest --preset tsan -j 1 $(if $(TSAN_TESTS),-R '^($(subst $(space),|,$(strip $(TSAN_TESTS))))$$')
	@tools/skipped.py build-tsan

arm64: ## cross-build for 64-bit ARM into build-arm64, hone-small too, or ARM_TESTS="ops_test models_test" alone
	@tools/setup-arm64
	@cmake --preset arm64 > build-arm64-configure.log 2>&1 || { cat build-arm64-configure.log; exit 1; }
	@rm -f build-arm64-configure.log
	@cmake --build --preset arm64 -j $(JOBS) $(if $(ARM_TESTS),--target $(ARM_TESTS))

test-arm64: arm64 ## all tests under qemu as each of ARM_CPUS="cortex-a72 max", or ARM_TESTS="ops_test models_test"
	@for cpu in $(ARM_CPUS); do echo "== as $$cpu"; \
	  QEMU_CPU=$$cpu ctest --preset arm64 -j $(JOBS) $(if $(ARM_TESTS),-R '^($(subst $(space),|,$(strip $(ARM_TESTS))))$$$$') || exit 1; \
	  tools/skipped.py build-arm64 || exit 1; \
  test -n "$(ARM_TESTS)" || QEMU_CPU=$$cpu python3 -B tests/arm/small_test.py || exit 1; done

cuda: setup ## build the CUDA plugin with everything else into build-cuda (needs nvcc)
	@test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset cuda > build-cuda-configure.log 2>&1 || { cat build-cuda-configure.log; exit 1; }
	@rm -f build-cuda-configure.log
	@cmake --build --preset cuda -j $(JOBS)

test-gpu: ## the tests that need a GPU, from what is built; nothing is fetched; fails without one
	@tools/test_gpu $(GPU_BUILD)

cuda-check: setup ## compile all CUDA code for one architecture (needs nvcc, not a GPU)
	@test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset cuda -DHONE_CUDA_ARCHITECTURES=90 -B build-cuda-check > build-cuda-check.log 2>&1 || { cat build-cuda-check.log; exit 1; }
	@rm -f build-cuda-check.log
	@cmake --build build-cuda-check --target hone_cuda -j $(JOBS)

bench-gpu: ## time hone on a GPU, and PyTorch where PEERS=DIR has its scripts, into bench/results
	@$(PYTHON) bench/gpu.py --hone $(GPU_BUILD)/hone $(if $(PEERS),--peers $(PEERS))

bench-serve: build ## hone serve beside other servers, installed into .cache/serving, and under overload, into bench/results
	@tools/setup slowhttptest python3-venv
	@$(PYTHON) bench/serve.py --hone $(BUILD)/hone --overload overload,deadline,idle,end,swap,swaps,slow,bound,budget

regression: ## compare this build with another's hone, BASE=FILE, on DEVICE=cuda or cpu; fails on a loss over 5%
	@test -n "$(BASE)" || { echo "usage: make regression BASE=FILE [DEVICE=cpu] [CASES=PARTS] [ROUNDS=N]"; exit 2; }
	@$(PYTHON) bench/regression.py --base "$(BASE)" --new $(GPU_BUILD)/hone $(if $(DEVICE),--device $(DEVICE)) $(if $(CASES),--cases $(CASES)) $(if $(ROUNDS),--rounds $(ROUNDS))

fuzz: test-asan ## longer fuzzing: FUZZ_SECONDS=600 make fuzz

bench: build ## time hone, and the peers that $(PYTHON) has, into bench/results
	@$(BUILD)/gemm_bench --out bench/results
	@$(PYTHON) bench/run.py

parity: build ## compare a model folder with transformers: make parity MODEL=DIR (needs the Python package)
	@test -n "$(MODEL)" || { echo "usage: make parity MODEL=DIR"; exit 2; }
	@$(PYTHON) tests/parity/models_compare.py "$(MODEL)"

compare: build ## hone against the Python packages it must agree with, installed into .venv (minutes)
	@tools/compare.py --pick $(PICK) $(NAMES)

test-clients: setup ## hone serve behind the real clients, nginx and a browser, installed into .cache/clients: NAMES="openai curl"
	@cmake --preset release > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS) --target hone hone_http_server
	@tools/test_clients $(NAMES)

test-web: setup ## reports of hone report in Chromium, and whether web/ gives the committed bundle, in .cache/web: NAMES="pages flame"
	@cmake --preset release > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS) --target hone hone_http_server
	@tools/test_web $(NAMES)

web-baselines: ## the screenshots that make test-web compares with, of the program as it is built
	@tools/test_web --write_baselines

test-prep: build ## stores of hone prep read by h5py and made by Spark's pipe, installed into .cache/prep
	@tools/test_prep

bench-prep: test-prep ## hone prep beside DuckDB and Spark, into bench/results
	@.cache/prep/bin/python bench/prep.py --hone $(BUILD)/hone

wheel: setup ## the Python package's wheels, into dist/: for Python 3.11, and of the stable ABI for 3.12 and later
	@tools/setup python3-dev python3-venv dpkg-dev nasm
	@tools/wheel

wheel-cuda: setup ## the wheel of the CUDA plugin, hone-cuda, into dist/ (needs nvcc)
	@tools/setup python3-dev python3-venv
	@test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset cuda > build-cuda-configure.log 2>&1 || { cat build-cuda-configure.log; exit 1; }
	@rm -f build-cuda-configure.log
	@cmake --build --preset cuda -j $(JOBS) --target hone_cuda
	@tools/wheel --cuda

test-python: wheel ## the wheels beside transformers and sentence-transformers, in .cache/python; QUICK=1: without those
	@tools/test_python $(if $(QUICK),--quick)

test-python-debian: wheel ## the wheel of the stable ABI in a bare Debian 13 (SUITE=trixie), made in .cache/debian (root)
	@tools/test_python_debian $(or $(SUITE),trixie)

bench-python: wheel ## the Python package beside the program, into bench/results
	@$(PYTHON) bench/python.py

test-cluster: setup ## a Slurm cluster of four nodes on this machine (root): training, scripts, and how runs end that fail: TIMES=20 RESULTS=FILE
	@cmake --preset release > $(BUILD)-configure.log 2>&1 || { cat $(BUILD)-configure.log; exit 1; }
	@rm -f $(BUILD)-configure.log
	@cmake --build --preset release -j $(JOBS) --target hone hone_mpi hone_hdf5 comm_probe
	@tools/test_cluster $(BUILD) $(or $(TIMES),20) $(RESULTS)

check-packaging: ## the systemd unit, the Slurm scripts and the Kubernetes manifests, by systemd-analyze, strace, bash and kubernetes-validate
	@tools/setup strace
	@tools/check_packaging $(BUILD)/hone

package: setup ## Debian packages and archives into build-package/packages; with the CUDA plugin where nvcc is: CUDA=off
	@tools/setup dpkg-dev file nasm
	@tools/static_libraries
	@test "$(CUDA)" = off || ! command -v nvcc > /dev/null || test -e .cache/cublas || test -e /usr/local/cuda/include/cublasLt.h || tools/cublas-headers
	@cmake --preset package -DHONE_CUDA=$(CUDA) > build-package-configure.log 2>&1 || { cat build-package-configure.log; exit 1; }
	@rm -f build-package-configure.log
	@cmake --build --preset package -j $(JOBS)
	@rm -rf build-package/packages
	@cd build-package && cpack -G "DEB;TGZ" > cpack.log 2>&1 || { cat cpack.log; exit 1; }
	@ls -l build-package/packages/hone*

test-package: ## install what make package wrote in bare Debian 12 and 13 systems, and use it there (root)
	@tools/setup mmdebstrap
	@tools/test_package $(SUITES)

mutants: setup ## put the faults of tests/mutants.txt into a copy of the sources; tests must find each
	@tools/mutants.py --pick $(PICK) $(NAMES)

layers: ## check that no folder of src includes one below it, and that messages below cli name no flag
	@python3 tools/layers.py
	@python3 tools/messages.py

lint: setup layers ## formatting, layering, comments, rows of mutants, and shell and Python syntax
	@python3 tools/comments.py
	@python3 tools/web_bundle.py
	@python3 tools/mutants.py --check
	@echo "== clang-format"
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format --dry-run --Werror
	@python3 -m compileall -q tools tests bench python
	@for f in tools/setup tools/setup-arm64 tools/demo tools/fuzz tools/test_gpu tools/test_clients tools/test_web tools/test_cluster tools/test_prep tools/test_python tools/test_python_debian tools/wheel tools/check_packaging tools/static_libraries tools/test_package tools/try_package .ci/run; do bash -n $$f; done
	@for f in tests/fuzz/*_fuzz.cpp; do grep -q "\`$$(basename $$f .cpp)\`" tests/fuzz/README.md || { echo "$$f: tests/fuzz/README.md does not say what it reads"; exit 1; }; done
	@echo "lint: ok"

tidy: setup ## clang-tidy over all of src (half an hour), or over one of PARTS=N parts
	@cmake --preset release -DHONE_CUDA=off -B build-tidy > build-tidy.log 2>&1 || { cat build-tidy.log; exit 1; }
	@rm -f build-tidy.log
	@git ls-files 'src/*.cpp' | grep -v neon | tools/rotate.py $(PARTS) | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build-tidy --extra-arg=-Wno-unknown-warning-option

format: setup ## format the sources in place
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

clean: ## remove what the build made
	@rm -rf build build-asan build-tsan build-tidy build-mutants build-arm64 build-cuda build-cuda-check build-package build-wheel dist
