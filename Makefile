# Everything here works on a clean clone: what the build needs from the system is installed by .ci/setup, once.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build serve cluster dist test conformance breaks sanitize fuzz soak micro format lint proto scenarios openapi web pictures clean

# Homebrew keeps these apart from the system's own, so that pkg-config has to be told where they are.
ifeq ($(shell uname -s),Darwin)
export PKG_CONFIG_PATH := $(shell brew --prefix openssl@3 2>/dev/null)/lib/pkgconfig:$(shell brew --prefix sqlite 2>/dev/null)/lib/pkgconfig:$(shell brew --prefix libpq 2>/dev/null)/lib/pkgconfig:$(shell brew --prefix curl 2>/dev/null)/lib/pkgconfig:$(shell brew --prefix zlib 2>/dev/null)/lib/pkgconfig:$(PKG_CONFIG_PATH)
endif

SOURCES := Sources Tests Package.swift

help:  ## Say what can be made.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build:  ## Build everything in debug configuration.
	@.ci/setup build
	swift build

serve:  ## Install what is missing, build for release and run the server with the demo; ARGS="..." passes more flags.
	@.ci/setup build
	swift build --configuration release --product fanfare
	exec "$$(swift build --configuration release --show-bin-path)/fanfare" serve --config config/fanfare.json --set demo.enabled=true $(ARGS)

cluster:  ## Run three brokers that share a PostgreSQL, and two gateways, on this machine (docs/SCALING.md).
	@.ci/setup cluster
	swift build --configuration release --product fanfare
	exec config/cluster/run

# Names of functions stay in the binary, for backtraces; what debuggers need beyond them is in the file beside it, which the
# binary names.
dist:  ## Build what one copies to a server: .build/dist/fanfare, with its debug information in a file beside it.
	@.ci/setup dist
	swift build --configuration release --product fanfare
	@mkdir -p .build/dist
	cd .build/dist && built="$$(cd ../.. && swift build --configuration release --show-bin-path)/fanfare" \
	  && objcopy --only-keep-debug "$$built" fanfare.debug && strip --strip-debug -o fanfare "$$built" \
	  && objcopy --add-gnu-debuglink=fanfare.debug fanfare
	@ls -lh .build/dist

# What is tested is optimised as what ships, and stands beside it: the same flags but for those that let tests in.
TESTED := --configuration release --scratch-path .build/tested -Xswiftc -enable-testing

# All our tests are swift-testing's. XCTest's own closing line would say that it executed none. Tests that all begin at
# once wait for one another on a pool of as many threads as there are cores; the width lets few begin at a time. The whole
# suite runs in processes side by side (.ci/test), a part of it in one.
test: export FANFARE_TESTING = 1
test:  ## Install what is missing and run the whole test suite; ARGS="--filter Name" runs a part of it.
	@.ci/setup test
	swift build $(TESTED) --build-tests
	$(if $(ARGS),SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16 swift test --skip-build --disable-xctest,.ci/test) \
	  $(TESTED) $(ARGS)

# The suite needs Python 2.7 (.ci/autobahn), which .ci/setup does not install.
conformance: export FANFARE_TESTING = 1
conformance: export FANFARE_AUTOBAHN = $(CURDIR)/.ci/autobahn
conformance: export FANFARE_AUTOBAHN_MODE = full
conformance: export FANFARE_AUTOBAHN_REPORTS = $(CURDIR)/.build/autobahn
conformance: export AUTOBAHN_ENV ?= $(CURDIR)/.build/autobahn-env
conformance:  ## Run all 517 cases of the Autobahn WebSocket suite over ws and wss; the reports stay in .build/autobahn.
	@.ci/setup test
	rm -rf .build/autobahn
	swift build $(TESTED) --build-tests
	swift test --skip-build --disable-xctest $(TESTED) --filter AutobahnTests
	@ls .build/autobahn/*/reports/index.html

# A build of its own, in which each break is a choice at run time (.ci/breaks). SCRATCH=.build/tested builds it over that of
# `make test`, which is quicker, and which the next `make test` has to build anew.
breaks:  ## Break the product on purpose, and see that tests find each break; ARGS="--only no-sync" tries one.
	@.ci/setup test
	.ci/breaks $(ARGS)

sanitize:  ## Run the suite with the thread and the address sanitizer; SANITIZER=thread, FILTER=BrokerTests for a part.
	@.ci/setup test
	.ci/sanitize

# Counts, not times: they are the same on a busy machine. BUILT=1: `make test` has just built it; SwiftPM would compile one of
# the libraries again.
micro: export FANFARE_TESTING = 1
micro:  ## Count what the hot path takes; ARGS="--check benchmarks/thresholds/counts.json" compares, as CI does.
	@.ci/setup test
	$(if $(BUILT),,swift build $(TESTED) --build-tests)
	"$$(swift build $(TESTED) --show-bin-path)/fanfare-bench" micro $(ARGS)

fuzz:  ## Fuzz all that faces a peer for an hour; SECONDS=60 for less, ARGS="tokens frames" for some (docs/FUZZING.md).
	FUZZ_SECONDS=$(or $(SECONDS),3600) .ci/fuzz $(ARGS)

# Nothing else must run on the machine meanwhile. The lines of the run stay in SOAK, also when it is cut off.
soak: DURATION ?= 1h
soak: SOAK ?= .build/soak.jsonl
soak:  ## Run all kinds of clients for DURATION=1h (or 7d) with restarts in between; fails where something grows or is lost.
	@.ci/setup build
	swift build --configuration release --product fanfare
	FANFARE_PROGRAM="$$(swift build --configuration release --show-bin-path)/fanfare" \
	  python3 benchmarks/soak --duration $(DURATION) --out $(SOAK) $(ARGS)

format:  ## Format the sources in place.
	swift format --in-place --recursive $(SOURCES)

lint:  ## Check the format, as CI does.
	swift format lint --strict --recursive $(SOURCES)

proto:  ## Generate the Swift messages from Sources/ClientProtobuf/client.proto.
	@.ci/setup proto
	swift build --product protoc-gen-swift
	protoc --plugin=protoc-gen-swift="$$(swift build --show-bin-path)/protoc-gen-swift" \
	  --proto_path=Sources/ClientProtobuf --swift_opt=Visibility=Public --swift_opt=FileNaming=DropPath \
	  --swift_out=Sources/ClientProtobuf client.proto

scenarios:  ## Generate the scenarios that the bench has built in from benchmarks/scenarios.
	benchmarks/embed > .embedded.new && mv .embedded.new Sources/Bench/Scenario/EmbeddedScenarios.swift || { rm -f .embedded.new; exit 1; }

openapi:  ## Build docs/openapi.json into the sources of the server, which gives it out.
	docs/embed > .embedded.new && mv .embedded.new Sources/Admin/API/EmbeddedOpenAPI.swift || { rm -f .embedded.new; exit 1; }

web:  ## Build Sources/Web/fanfare.js and its types into the sources of the server, which serves them.
	Sources/Web/embed > .embedded.new && mv .embedded.new Sources/Web/EmbeddedWebFiles.swift || { rm -f .embedded.new; exit 1; }

pictures:  ## Take over the README's pictures of the demo from the tests in Chromium, which have just made them.
	cp .build/pictures/demo.png .build/pictures/demo-dark.png docs/pictures/

clean:  ## Remove what was built.
	swift package clean
	rm -rf .build/conformance-venv .build/browser-venv .build/moto-venv .build/push-venv .build/pictures .build/autobahn .build/autobahn-env .build/fuzz .build/fuzz-address
