"""The units of systemd."""

import shutil

from parts import DEPLOY, Missing, expect, run

# What `systemd-analyze security` may count, in tenths. What is left is the network, and the few files that the hub reads.
EXPOSURE_MAX = 15


def units_are_valid(context):
    systemd(context)
    units = sorted((DEPLOY / "systemd").iterdir())
    # In one folder, since they refer to each other; and with a program that exists.
    for unit in units:
        (context.folder / unit.name).write_text(unit.read_text().replace("/usr/bin/matchwire", str(context.program)))
    said = run("systemd-analyze", "verify", "--man=no", *(context.folder / unit.name for unit in units))
    expect(not said.strip(), said)


def service_is_confined(context):
    systemd(context)
    unit = DEPLOY / "systemd" / "matchwire.service"
    run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", unit)


def systemd(context):
    if not shutil.which("systemd-analyze"):
        raise Missing("systemd-analyze")


CHECKS = (units_are_valid, service_is_confined)
