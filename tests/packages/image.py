"""The image: its Dockerfile, and its root file system, in which the program runs as a container engine would run it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from parts import DEPLOY, ENVIRONMENT, STEP_S_MAX, Failed, Missing, expect, run

DOCKERFILE = DEPLOY / "container" / "Dockerfile"
USER = "10001"
# Versions of Debian's packages are those of the base image; the only pipe there cannot fail.
LINTS_IGNORED = ("DL3008", "DL4006")
# All that the image has.
FILES = {"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/bin/matchwire"}
# The mounts of an engine: a root that nobody can write to, one volume, and the file systems of the kernel.
MOUNTS = """
set -e
mount --bind "$1" "$1"
mount --bind "$2" "$1/var/lib/matchwire"
mount -t proc proc "$1/proc"
mount --bind /dev/null "$1/dev/null"
mount --bind /dev/urandom "$1/dev/urandom"
mount -o remount,bind,ro "$1"
ip link set lo up
"""
CLIENT = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Authorization": sys.argv[2]})
print(urllib.request.urlopen(request, timeout=60).read().decode())
"""
# Capabilities go with the user; `set -e` ends a container that could not be set up.
START = MOUNTS + 'root=$1; user=$3; folder=$4; shift 4; exec unshare --root="$root" --wd="$folder" --setuid="$user" --setgid="$user" "$@"'


def dockerfile_is_well_formed(context):
    options = [option for lint in LINTS_IGNORED for option in ("--ignore", lint)]
    run(context.tools / "hadolint", *options, DOCKERFILE)


def container_serves_from_a_read_only_root(context):
    if os.geteuid() != 0:
        raise Missing("root, which starts containers,")
    for program in ("unshare", "nsenter", "ip"):
        if not shutil.which(program):
            raise Missing(program)
    root, volume = context.folder / "root", context.folder / "volume"
    make_root(context, root)
    volume.mkdir()
    os.chown(volume, int(USER), int(USER))
    # The container must see the folders above its root.
    context.folder.chmod(0o755)
    with Container(root, volume, context.folder / "first.log") as container:
        container.wait_until_healthy()
        status = Path(f"/proc/{container.hub}/status").read_text()
        expect(re.search(rf"^Uid:(\s+{USER}){{4}}$", status, re.MULTILINE), "the hub does not run as the user of the image")
        expect(re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), "the hub has capabilities")
        key = container.execute("matchwire", "key", "create", "--db", "matchwire.db").strip()
        expect(container.account(key).startswith("{"), "the key does not work")
        container.execute("matchwire", "backup", "--db", "matchwire.db", "--to", "copy.db")
        said = container.execute("matchwire", "backup", "--db", "matchwire.db", "--to", "/copy.db", code=1)
        expect("os error 30" in said, f"the root is not read-only: {said}")
        # A static program must resolve names by itself.
        cluster = {"CLUSTER_NAME": "c", "CLUSTER_NATS": "nats://localhost:1", "SERVER_DB": "postgres://u@localhost/d"}
        env = {f"MATCHWIRE_{name}": value for name, value in cluster.items()}
        said = container.execute("matchwire", "cluster", "init", code=1, env=env)
        expect("Connection refused" in said, f"localhost was not resolved: {said}")
        expect(container.stop() == 0, f"the hub did not stop in order: {container.log()}")
    with Container(root, volume, context.folder / "second.log") as container:
        container.wait_until_healthy()
        container.account(key)
        expect(container.stop() == 0, f"the hub did not stop in order: {container.log()}")


def make_root(context, root):
    program = context.small_program()
    run("sh", DEPLOY / "container" / "root.sh", program, root)
    found = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    expect(found == FILES, f"the image has other files: {sorted(found ^ FILES)}")
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout)
    expect(not libraries or not context.must_be_static, f"the program is not static: it needs {libraries}")
    # `make test-systems` has no static program: it takes the time of a second build. `make image-test` has.
    for library in libraries:
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    # What an engine adds.
    for folder in ("proc", "dev"):
        (root / folder).mkdir()
    for device in ("null", "urandom"):
        (root / "dev" / device).touch()
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")


class Container:
    """The program of the image in namespaces of its own, with the environment and the commands of the Dockerfile."""

    def __init__(self, root, volume, log):
        self.root, self.log_path = root, log
        self.lines = DOCKERFILE.read_text().replace("\\\n", " ")
        words = shlex.split(re.search(r"^FROM scratch.*?^ENV (.*?)$", self.lines, re.MULTILINE | re.DOTALL)[1])
        self.env = dict(word.split("=", 1) for word in words)
        folder = re.search(r"^WORKDIR (/var.*)$", self.lines, re.MULTILINE)[1]
        command = self.list_of("ENTRYPOINT") + self.list_of("CMD")
        start = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", START, "sh", root, volume, USER, folder]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*start, *command], env=ENVIRONMENT | self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )
        self.hub = None

    def list_of(self, instruction):
        """The list of an instruction, the last one of the Dockerfile."""
        return json.loads(re.findall(rf"^\s*{instruction} (\[.*\])$", self.lines, re.MULTILINE)[-1])

    def wait_until_healthy(self):
        health = json.loads(re.search(r"^HEALTHCHECK .*CMD (\[.*\])$", self.lines, re.MULTILINE)[1])
        deadline = time.monotonic() + STEP_S_MAX
        while True:
            if self.process.poll() is not None:
                raise Failed(f"the container ended: {self.log()}")
            try:
                self.hub = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])
                self.execute(*health)
                return
            except (Failed, IndexError, FileNotFoundError) as problem:
                if time.monotonic() > deadline:
                    raise Failed(f"never healthy: {problem}\n{self.log()}") from None
            time.sleep(0.1)

    def execute(self, *command, code=0, env=None):
        """As `docker exec` does."""
        spaces = ("--mount", "--pid", "--net", "--root", "--wd", f"--setuid={USER}", f"--setgid={USER}")
        return run("nsenter", f"--target={self.hub}", *spaces, *command, code=code, env=self.env | (env or {}))

    def account(self, key):
        """An answer of the hub, by a client on the network of the container."""
        url = "http://127.0.0.1:8080/api/v2/account/"
        return run("nsenter", f"--target={self.hub}", "--net", sys.executable, "-c", CLIENT, url, f"Token {key}")

    def stop(self):
        """The exit code of the hub after SIGTERM."""
        os.kill(self.hub, 15)
        return self.process.wait(STEP_S_MAX)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


CHECKS = (dockerfile_is_well_formed, container_serves_from_a_read_only_root)
