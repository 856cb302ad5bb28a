"""What the checks found: a line each, and the sum."""

from contextlib import contextmanager


class Different(Exception):
    """The hub's answer differs from the documentation: what was expected, what arrived."""


class NotServed(Exception):
    """There is nothing to check: this hub does not serve it, or has nothing of the kind now."""


def expect(holds, wanted, came=""):
    """Ends the check unless it holds."""
    if not holds:
        raise Different(f"{wanted}; came {came!r}" if came != "" else wanted)


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    @contextmanager
    def check(self, name):
        """One check: any exception inside is its result, and the next one runs."""
        try:
            yield
        except NotServed as reason:
            self.skipped += 1
            print(f"skipped: {name}: {reason}", flush=True)
        except Different as difference:
            self.fail(name, difference)
        except Exception as error:  # noqa: BLE001 - an answer of another shape is a difference as well
            self.fail(name, f"{type(error).__name__}: {error}")
        else:
            self.passed += 1
            print(f"ok: {name}", flush=True)

    def fail(self, name, why):
        self.failed += 1
        print(f"FAILED: {name}: {why}", flush=True)

    def sum(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
