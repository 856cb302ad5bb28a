"""The parts of `tests/run` that do not know which suites there are."""
