# `make test` is all that a fresh clone needs; tests/run installs what the tests need and reports what it
# skipped. Single suites: `make test SUITES="rust web"`.

.PHONY: run check budgets lower-budgets test test-systems test-long image-test package-test fuzz fmt clean

run:
	cargo run --release

# Before each commit: budgets, format, lints, and the unit tests of the crates that differ from origin/main.
check:
	@python3 tests/run --check

# Measures a cold build and `make test`, which takes an hour, and writes the figures into budgets.toml. Single steps:
# `make budgets STEPS=build_default`.
budgets:
	@python3 tests/run --budgets $(STEPS)

# Lowers the limits of budgets.toml to what is counted now.
lower-budgets:
	@python3 tests/run --lower-budgets

test:
	@python3 tests/run $(SUITES)

# The rest: PostgreSQL and other servers, clients and browsers of other people, crashes, clusters, packages.
test-systems:
	@python3 tests/run --systems

# Too long for every push: all cases of the Autobahn test suite, fuzzing, and the Rust tests with all databases,
# customers and random cases.
test-long:
	@python3 tests/run --long

# The container image with the static program, which takes a build of its own; and the Debian package on a Debian in a
# folder, with a systemd of its own. `make test-long` has both too.
image-test:
	@python3 tests/run image

package-test:
	@python3 tests/run package

# Longer, or single targets: `make fuzz SECONDS=600 TARGETS=wyscout`.
fuzz:
	@python3 tools/fuzz/run -s $(or $(SECONDS),60) $(TARGETS)

fmt:
	cargo fmt --all

clean:
	cargo clean
	rm -rf .tools test-results tests/browser/node_modules
