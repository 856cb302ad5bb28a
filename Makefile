# `make test` is all that a fresh clone needs; tests/run installs what the tests do and says what it
# skipped. One suite alone: `make test SUITES="rust web"`.

.PHONY: run test fmt clean

run:
	cargo run --release

test:
	@python3 tests/run $(SUITES)

fmt:
	cargo fmt --all

clean:
	cargo clean
	rm -rf .tools test-results tests/browser/node_modules
