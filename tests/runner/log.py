"""Runs the commands of suites, and keeps what they print and the processor time that they take."""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager

from runner.environment import ENVIRONMENT, LOGS, TOP

# Held while cargo compiles: a second compile would take cores from the first and finish no earlier.
COMPILING = threading.Lock()
# Far more than any step takes, and than any takes from one line of output to the next: a suite that hangs is always stopped
# and reported.
STEP_S_MAX = 50 * 60
SILENT_S_MAX = 12 * 60
# How long the output of a process that has ended may take to be read.
READ_S_MAX = 60
# Between two looks at a process that runs.
LOOK_S_MAX = 0.05


class Missing(Exception):
    """Something that a suite needs is not here and could not be installed."""


class Failed(Exception):
    """A suite could not be run to its end."""


class Log:
    """The output of one suite, or of a part of it, in a file of its own."""

    # The commands that are running, in all suites; and whether no more may start.
    running, stopped = set(), False
    # Seconds of processor time of what has ended, for each suite.
    processor_s, charging = Counter(), threading.Lock()

    def __init__(self, name, suite=None):
        LOGS.mkdir(exist_ok=True)
        self.path, self.suite = LOGS / f"{name}.log", suite or name
        self.path.write_text("")
        # How long the suite has waited for others to finish compiling.
        self.waited_s = 0
        # Seconds and name of each Rust test that it ran.
        self.durations = []
        # What the report says of the suite.
        self.notes = []

    def part(self, name):
        """A further file of the same suite."""
        return Log(name, self.suite)

    def run(self, *command, cwd=TOP, env=None, text=None, low_priority=False, captured=False, limit_s=STEP_S_MAX, silent_s=None):
        """Runs a command to its end; returns its exit code and its output. With `captured` only stderr goes to
        the log, and only stdout is returned. One that takes longer than `limit_s`, or writes nothing to the log for
        `silent_s`, is killed with all that it started. A step that may take longer than others may also be silent for longer."""
        if silent_s is None:
            silent_s = SILENT_S_MAX if limit_s <= STEP_S_MAX else limit_s
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
                output = self.communicate(process, text, limit_s, silent_s)
            except subprocess.TimeoutExpired as late:
                self.kill(process)
                self.reap(process, limit_s)
                why = "without output" if late.timeout == silent_s else "in all"
                raise Failed(f"stopped after {late.timeout} s {why}: {' '.join(command)}") from None
            finally:
                Log.running.discard(process)
        if process.returncode != 0:
            # A program that failed may have left others behind, such as a hub, which would take the processor from what follows.
            self.kill(process)
        if captured:
            return process.returncode, output
        with self.path.open("rb") as log:
            log.seek(start)
            return process.returncode, log.read().decode(errors="replace")

    @staticmethod
    def kill(process):
        """Kills a command, and what it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def communicate(self, process, text, limit_s, silent_s):
        """Gives a process its input and waits for its end; returns its output, if that is a pipe."""
        read = []
        reading = threading.Thread(target=lambda: read.append(process.stdout.read()), daemon=True)
        if process.stdout:
            reading.start()
        if text:
            try:
                with process.stdin:
                    process.stdin.write(text.encode())
            except BrokenPipeError:
                pass
        self.reap(process, limit_s, silent_s)
        if not process.stdout:
            return ""
        # Unless a process that it left behind holds the pipe, its output ends with it.
        reading.join(READ_S_MAX)
        process.stdout.close()
        return b"".join(read).decode(errors="replace")

    def reap(self, process, limit_s, silent_s=None):
        """Waits for the end of a process and charges the suite for its processor time, and for that of the processes that it
        waited for itself."""
        began, look_s = time.monotonic(), 0.001
        size, heard = 0, began
        while process.returncode is None:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                with Log.charging:
                    Log.processor_s[self.suite] += usage.ru_utime + usage.ru_stime
                return
            now = time.monotonic()
            if (written := self.path.stat().st_size) != size:
                size, heard = written, now
            if now - began > limit_s:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            if silent_s is not None and now - heard > silent_s:
                raise subprocess.TimeoutExpired(process.args, silent_s)
            time.sleep(look_s)
            look_s = min(2 * look_s, LOOK_S_MAX)

    @staticmethod
    def stop_all():
        """Ends every running command. What runs on its own, such as a hub, is stopped by the code that started it."""
        Log.stopped = True
        for process in list(Log.running):
            if process.returncode is None:
                try:
                    os.killpg(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass

    @contextmanager
    def waiting(self):
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited_s += time.monotonic() - began

    def cargo(self, *arguments, wrapper=(), **options):
        """A command of cargo's that compiles, where one crate may take long beside the tests. `wrapper` is put before it."""
        options = {"silent_s": STEP_S_MAX} | options
        with self.waiting():
            COMPILING.acquire()
        try:
            return self.run(*wrapper, "cargo", *arguments, **options)
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

    def note(self, text):
        self.notes.append(text)
        self.write(text)

    def text(self):
        return self.path.read_text(errors="replace")
