"""The parts of `tests/run`."""
