"""Runs the commands of suites, and keeps what they print."""

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager

from runner.environment import ENVIRONMENT, LOGS, TOP

# Held while cargo compiles: a second compile would take cores from the first and finish no earlier.
COMPILING = threading.Lock()
# Far more than any step takes: a suite that hangs is always stopped and reported.
STEP_S_MAX = 50 * 60


class Missing(Exception):
    """Something that a suite needs is not here and could not be installed."""


class Failed(Exception):
    """A suite could not be run to its end."""


class Log:
    """The output of one suite, in a file of its own."""

    # The commands that are running, in all suites; and whether no more may start.
    running, stopped = set(), False

    def __init__(self, name):
        LOGS.mkdir(exist_ok=True)
        self.path = LOGS / f"{name}.log"
        self.path.write_text("")
        # How long the suite has waited for others to finish compiling.
        self.waited_s = 0
        # Seconds and name of each Rust test that it ran.
        self.durations = []

    def run(self, *command, cwd=TOP, env=None, text=None, low_priority=False, captured=False, limit_s=STEP_S_MAX):
        """Runs a command to its end; returns its exit code and its output. With `captured` only stderr goes to
        the log, and only stdout is returned."""
        if Log.stopped:
            raise Failed("interrupted")
        command = [str(part) for part in command]
        start = self.path.stat().st_size
        with self.path.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            # A group, so that all of it can be killed, but not a session: where the kernel divides the processor
            # among sessions first, a priority means nothing outside of its own session.
            process = subprocess.Popen(
                (["nice", "-n", "19"] if low_priority else []) + command, cwd=cwd, env=ENVIRONMENT | (env or {}),
                stdout=subprocess.PIPE if captured else log, stderr=log if captured else subprocess.STDOUT,
                stdin=subprocess.PIPE if text else subprocess.DEVNULL, process_group=0,
            )
            Log.running.add(process)
            try:
                output, _ = process.communicate(text.encode() if text else None, timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Failed(f"stopped after {limit_s} s: {' '.join(command)}") from None
            finally:
                Log.running.discard(process)
        if captured:
            return process.returncode, output.decode(errors="replace")
        with self.path.open("rb") as log:
            log.seek(start)
            return process.returncode, log.read().decode(errors="replace")

    @staticmethod
    def stop_all():
        """Ends every running command. What runs on its own, such as a hub, is stopped by the code that started it."""
        Log.stopped = True
        for process in list(Log.running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)

    @contextmanager
    def waiting(self):
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited_s += time.monotonic() - began

    def cargo(self, *arguments, **options):
        """A command of cargo's that compiles."""
        with self.waiting():
            COMPILING.acquire()
        try:
            return self.run("cargo", *arguments, **options)
        finally:
            COMPILING.release()

    def must(self, *command, **options):
        code, said = self.run(*command, **options)
        if code != 0:
            raise Failed(f"exit code {code}: {' '.join(map(str, command))}")
        return said

    def write(self, text):
        with self.path.open("a") as log:
            log.write(text + "\n")

    def text(self):
        return self.path.read_text(errors="replace")
