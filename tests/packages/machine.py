"""The Debian package on a machine of its own: a small Debian in a folder, whose systemd runs in namespaces."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import debian
from parts import ENVIRONMENT, STEP_S_MAX, VERSION, Failed, Missing, expect, run

PACKAGES = "systemd,systemd-sysv,ca-certificates,curl,procps"
DATABASE = "/var/lib/matchwire/matchwire.db"
SETTINGS = "/etc/matchwire/matchwire.toml"
# What a container engine sets up before it starts the init of its container. `pivot_root` and not `chroot`, in which
# services could not have users of their own.
BOOT = """
set -e
cd "$1"
mount --make-rprivate /
mount --bind . .
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
chmod 1777 tmp
for device in null zero full random urandom tty; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ip link set lo up
mkdir -p host
pivot_root . host
umount -l /host
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=0
"""


def package_runs_confined_and_survives_upgrades(context):
    if os.geteuid() != 0:
        raise Missing("root, which starts a machine,")
    for program in ("mmdebstrap", "unshare", "nsenter", "ip"):
        if not shutil.which(program):
            raise Missing(program)
    package = debian.build(context)
    newer = debian.changed(context, package, f"{VERSION}-2", "# A later default.\n")
    root = context.folder / "machine"
    suite = re.search(r"^VERSION_CODENAME=(.*)$", Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    run("mmdebstrap", "--variant=apt", f"--include={PACKAGES}", suite, root)
    for path in (package, newer):
        shutil.copy(path, root / "root")
    with Machine(root) as machine:
        machine.shell("apt-get install -y /root/matchwire.deb")
        # The package has enabled and started it.
        expect(machine.shell("systemctl is-enabled matchwire").strip() == "enabled", "the service is not enabled")
        machine.wait_until_ready()
        is_confined(machine)
        key = machine.shell(f"runuser -u matchwire -- matchwire key create --db {DATABASE}").strip()
        account = f"curl -sS --fail -H 'Authorization: Token {key}' http://127.0.0.1:8080/api/v2/account/"
        machine.shell(account)

        before = machine.process()
        machine.shell(f"apt-get install -y /root/{newer.name}")
        machine.wait_until_ready()
        expect(machine.process() != before, "the upgrade did not restart the service")
        expect("A later default" in machine.shell(f"cat {SETTINGS}"), "settings that nobody changed must follow the package")
        machine.shell(account)

        machine.shell(f"kill -9 {machine.process()}")
        machine.wait_until_ready()
        machine.shell(account)

        settings_are_read_again(machine)
        wrong_settings_are_not_tried_again(machine)
        demo_runs_within_the_limits_of_the_service(machine)

        socket_refuses_no_connection(machine)
        timer_makes_backups(machine)

        machine.shell("apt-get remove -y matchwire")
        machine.shell("! systemctl is-active --quiet matchwire.socket")
        machine.shell(f"test ! -e /usr/bin/matchwire -a -e {DATABASE} -a -e {SETTINGS}")
        machine.shell("apt-get purge -y matchwire")
        machine.shell("test ! -e /var/lib/matchwire -a ! -e /etc/matchwire -a -e /var/lib/matchwire-backups")


def is_confined(machine):
    status = machine.shell(f"cat /proc/{machine.process()}/status")
    user = machine.shell("id -u matchwire").strip()
    expect(re.search(rf"^Uid:(\s+{user}){{4}}$", status, re.MULTILINE), "the service does not run as matchwire")
    expect(re.search(r"^CapBnd:\s+0+$", status, re.MULTILINE), "the service has capabilities")
    expect(re.search(r"^Seccomp:\s+2$", status, re.MULTILINE), "system calls are not filtered")


def wrong_settings_are_not_tried_again(machine):
    machine.shell(f"cp {SETTINGS} /root/settings && echo 'wrong = 1' >> {SETTINGS}")
    machine.shell("systemctl restart matchwire || true")
    machine.wait_until("systemctl is-failed --quiet matchwire", "the service went on with wrong settings")
    machine.shell(f"cp /root/settings {SETTINGS} && systemctl restart matchwire")
    machine.wait_until_ready()


def demo_runs_within_the_limits_of_the_service(machine):
    """Much more happens in the demo than in an empty hub, so a system call that is needed and denied shows here."""
    lines = "[Service]\\nEnvironment=MATCHWIRE_DEMO_ENABLED=true MATCHWIRE_DEMO_PAST=false\\nWatchdogSec=4\\n"
    machine.shell("mkdir -p /run/systemd/system/matchwire.service.d")
    machine.shell(f"printf '{lines}' > /run/systemd/system/matchwire.service.d/demo.conf")
    machine.shell("systemctl daemon-reload && systemctl restart matchwire")
    metrics = "curl -sS http://127.0.0.1:8080/metrics"
    machine.wait_until(f"{metrics} | grep -q '^matchwire_matches [1-9]'", "the demo has no matches")
    said = machine.shell(metrics)
    expect(not re.search(r"^matchwire_panics_total [1-9]", said, re.MULTILINE), "a part of the demo panicked")
    fed = "systemctl show -P WatchdogTimestampMonotonic matchwire"
    before = machine.shell(fed).strip()
    machine.wait_until(f"test $({fed}) != {before}", "the watchdog is not fed")
    machine.shell("systemctl stop matchwire")
    expect(machine.shell("systemctl show -P Result matchwire").strip() == "success", "the service did not stop in order")


def socket_refuses_no_connection(machine):
    """With the example of the package: connections wait while the hub restarts, and start it if it does not run."""
    machine.shell("rm -r /run/systemd/system/matchwire.service.d")
    machine.shell("cp /usr/share/doc/matchwire/examples/matchwire.socket /etc/systemd/system/ && systemctl daemon-reload")
    machine.shell("systemctl enable --now matchwire.socket")
    # Nothing runs yet, so this connection starts the service.
    machine.shell("! systemctl is-active --quiet matchwire && curl -sS --fail http://127.0.0.1:8080/healthz")
    before = machine.process()
    # Each request is a connection of its own. The first that is refused ends the loop.
    requests = "while kill -0 $restart 2> /dev/null; do curl -sS --fail http://127.0.0.1:8080/healthz || exit 1; done"
    machine.shell(f"systemctl restart matchwire & restart=$!; {requests}; wait $restart")
    expect(machine.process() != before, "the service was not restarted")
    machine.wait_until_ready()


def timer_makes_backups(machine):
    """With the examples of the package."""
    machine.shell("cp /usr/share/doc/matchwire/examples/matchwire-backup.* /etc/systemd/system/ && systemctl daemon-reload")
    machine.shell("systemctl enable --now matchwire-backup.timer && systemctl start matchwire-backup.service")
    machine.shell("test -s /var/lib/matchwire-backups/matchwire-*.db")


def settings_are_read_again(machine):
    machine.shell(f"cp {SETTINGS} /root/settings && printf '\\n[logging]\\nfilter = \"debug\"\\n' >> {SETTINGS}")
    before = machine.process()
    machine.shell("systemctl reload matchwire")
    machine.wait_until("journalctl -u matchwire | grep -q 'logging.filter changed'", "the settings were not read again")
    machine.shell(f"echo 'colour = 1' >> {SETTINGS} && ! systemctl reload matchwire")
    expect(machine.process() == before, "the reload restarted the service")
    machine.shell(f"cp /root/settings {SETTINGS} && systemctl reload matchwire")


class Machine:
    def __init__(self, root):
        command = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child"]
        self.process_of_unshare = subprocess.Popen(
            [*command, "sh", "-c", BOOT, "sh", root], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def __enter__(self):
        # `degraded`: a service of Debian that does not work in namespaces is not what is tested.
        self.wait_until("systemctl is-system-running | grep -qE 'running|degraded'", "the machine did not start")
        return self

    def __exit__(self, *_):
        # With it, all that runs in its namespaces.
        self.process_of_unshare.kill()
        self.process_of_unshare.wait()

    def shell(self, command):
        """What a command prints, which must succeed."""
        if self.process_of_unshare.poll() is not None:
            raise Failed(f"the machine ended: {self.process_of_unshare.stdout.read()}")
        number = self.process_of_unshare.pid
        init = Path(f"/proc/{number}/task/{number}/children").read_text().strip()
        spaces = ("--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--root", "--wd")
        env = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive")
        return run("nsenter", f"--target={init}", *spaces, *env, "sh", "-c", command)

    def process(self):
        return self.shell("systemctl show -P MainPID matchwire").strip()

    def wait_until_ready(self):
        try:
            self.wait_until("curl -sS --fail http://127.0.0.1:8080/readyz", "the service is not ready")
        except Failed as failed:
            raise Failed(f"{failed}\n{self.shell('journalctl --no-pager --lines 50')}") from None

    def wait_until(self, command, problem):
        deadline = time.monotonic() + STEP_S_MAX
        while True:
            try:
                return self.shell(command)
            except Failed as failed:
                if time.monotonic() > deadline:
                    raise Failed(f"{problem}: {failed}") from None
            time.sleep(0.2)


CHECKS = (package_runs_confined_and_survives_upgrades,)
