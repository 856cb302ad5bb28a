"""Runs suites in lanes: one suite after another in each lane, the lanes at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import wraps


def run_lanes(lanes, run, stop):
    """Calls `run` with every name of every lane; returns the results by name. When the caller is interrupted,
    `stop` ends what is running, no further suite begins, and the interruption continues after all have ended."""
    stopped, results = threading.Event(), {}

    def run_lane(names):
        for name in names:
            if not stopped.is_set():
                results[name] = run(name)

    with ThreadPoolExecutor(max_workers=max(1, len(lanes))) as pool:
        try:
            for lane in [pool.submit(run_lane, names) for names in lanes]:
                lane.result()
        except BaseException:
            stopped.set()
            stop()
            raise
    return results


def once(function):
    """Remembers the result of `function(log, *arguments)` for each `arguments`, so that suites can all ask for
    what they need. Two lanes never run it at once. A failure is not remembered."""
    lock, results = threading.RLock(), {}

    @wraps(function)
    def remembered(log, *arguments):
        with lock:
            if arguments not in results:
                results[arguments] = function(log, *arguments)
            return results[arguments]

    return remembered
