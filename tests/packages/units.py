"""The units of systemd."""

import shutil

from parts import DEPLOY, Missing, expect, files_max, run, stop_s

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


def service_fits_the_limits_of_the_hub(context):
    text = (DEPLOY / "systemd" / "matchwire.service").read_text()
    value = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    expect(int(value["TimeoutStopSec"]) >= stop_s(), "systemd kills the hub while it stops")
    expect(int(value["LimitNOFILE"]) >= files_max(), "the hub has too few file descriptors for its limits")
    expect(int(value["WatchdogSec"]) >= 2 * stop_s(), "the watchdog ends a hub that stops, or is only slow")
    expect(value["RestartPreventExitStatus"] == "2", "systemd starts a hub with invalid settings again")
    # Both read the same settings, or the reload asks another hub.
    settings = value["ExecStart"].partition(" serve ")[2]
    expect(settings and value["ExecReload"].endswith(f" reload {settings}"), f"the reload is of other settings: {value['ExecReload']}")


def systemd(context):
    if not shutil.which("systemd-analyze"):
        raise Missing("systemd-analyze")


CHECKS = (units_are_valid, service_is_confined, service_fits_the_limits_of_the_hub)
