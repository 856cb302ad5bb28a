"""Checks what deploy/ and compose.yaml install: the units, the Debian package, the image, the compose files, the chart.

    pip install -r tests/packages/requirements.txt
    python3 tests/packages --program target/debug/matchwire
    python3 tests/packages --program target/x86_64-unknown-linux-gnu/release/matchwire --static image

Nothing is installed on this machine: packages go into folders, containers are namespaces. The last line is
`N passed, N failed, N skipped`; the exit code is 1 if anything failed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import chart
import compose
import debian
import image
import machine
import units
from parts import Failed, Missing, run

AREAS = {"units": units, "debian": debian, "image": image, "compose": compose, "chart": chart, "machine": machine}
# Only if it is named: it downloads a Debian, and takes minutes.
LONG = ("machine",)


class Context:
    """What checks work with: the program, tools, and a folder of their own."""

    def __init__(self, arguments, folder):
        self.program, self.must_be_static, self.folder = arguments.program.resolve(), arguments.static, folder
        self.cargo_deb = arguments.cargo_deb or shutil.which("cargo-deb")
        # The programs of the packages next to this Python.
        self.tools = Path(sys.executable).parent
        self.small = None

    def small_program(self):
        """The program without its symbols, which would take longer to copy and to compress than all else."""
        if self.small is None:
            self.small = self.folder / "matchwire"
            if shutil.which("strip"):
                run("strip", "-o", self.small, self.program)
            else:
                shutil.copy(self.program, self.small)
        return self.small


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the hub")
    parser.add_argument("--cargo-deb", type=Path, help="the program, unless it is on the path")
    parser.add_argument("--static", action="store_true", help="fail unless the program is static, as in the image")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.areas if name not in AREAS]:
        parser.error(f"no area {unknown[0]}; there are {', '.join(AREAS)}")
    passed, failed, skipped = 0, 0, 0
    for name in arguments.areas or (name for name in AREAS if name not in LONG):
        for check in AREAS[name].CHECKS:
            title = f"{name}: {check.__name__}"
            with tempfile.TemporaryDirectory(prefix="matchwire-packages-") as folder:
                try:
                    check(Context(arguments, Path(folder)))
                    passed += 1
                    print(f"ok: {title}", flush=True)
                except Missing as missing:
                    skipped += 1
                    print(f"skipped: {title}: {missing} is missing", flush=True)
                except (Failed, OSError, subprocess.TimeoutExpired) as problem:
                    failed += 1
                    print(f"FAILED: {title}: {problem}", flush=True)
                except Exception:
                    failed += 1
                    print(f"FAILED: {title}: {traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
