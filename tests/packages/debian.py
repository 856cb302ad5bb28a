"""The Debian package: built from the table of Cargo.toml, then installed, upgraded, removed and purged in a folder."""

import re
import shutil

from parts import TOP, VERSION, Missing, expect, get, hub, run

# Files that an installation must have, and those that stay when it is removed.
PROGRAM, SETTINGS = "usr/bin/matchwire", "etc/matchwire/matchwire.toml"
ENABLED = "etc/systemd/system/multi-user.target.wants/matchwire.service"
DOCUMENTS = "usr/share/doc/matchwire"
# Optional units, which are not enabled.
EXAMPLES = [f"{DOCUMENTS}/examples/matchwire{name}" for name in (".socket", "-backup.service", "-backup.timer")]


def package_can_be_installed_upgraded_and_removed(context):
    for program in ("dpkg-deb", "dpkg", "unshare"):
        if not shutil.which(program):
            raise Missing(program)
    first = build(context)
    newer = changed(context, first, f"{VERSION}-2", "# A later default.\n")
    newest = changed(context, first, f"{VERSION}-3", "# The latest default.\n")
    root = Root(context.folder / "debian-root")

    root.dpkg("--install", first)
    for name in (PROGRAM, SETTINGS, ENABLED, "usr/lib/sysusers.d/matchwire.conf", f"{DOCUMENTS}/OPERATING.md", f"{DOCUMENTS}/LICENSE-MIT", *EXAMPLES):
        expect(root.has(name), f"not installed: {name}")
    expect(re.search(r"^matchwire:", root.read("etc/passwd"), re.MULTILINE), "the user matchwire was not created")
    for name in ("sockets.target.wants/matchwire.socket", "timers.target.wants/matchwire-backup.timer"):
        expect(not root.has(f"etc/systemd/system/{name}"), f"enabled although it is optional: {name}")
    serves_loopback_with_its_settings(context, root)

    root.dpkg("--install", newer)
    expect(root.version() == f"{VERSION}-2", "the upgrade was not installed")
    expect("A later default" in root.read(SETTINGS), "settings that nobody changed must follow the package")
    (root.path / SETTINGS).write_text("# The operator's own.\n")
    root.dpkg("--install", "--force-confold", newest)
    expect(root.read(SETTINGS) == "# The operator's own.\n", "an upgrade replaced the operator's settings")

    database = root.path / "var/lib/matchwire/matchwire.db"
    database.parent.mkdir(parents=True)
    database.touch()
    root.dpkg("--remove", "matchwire")
    expect(not root.has(PROGRAM), f"still there: {PROGRAM}")
    expect(root.has(SETTINGS) and database.exists(), "the removal took settings or data, which only a purge may")
    root.dpkg("--purge", "matchwire")
    expect(not root.has("etc/matchwire") and not database.parent.exists(), "the purge left settings or data")
    expect(not root.has(ENABLED), "the purge left the service enabled")


def serves_loopback_with_its_settings(context, root):
    """The installed program accepts the settings of the package, and its page is there. Other ports and folders, since
    this is not its own machine."""
    settings = root.read(SETTINGS)
    expect('listen = "127.0.0.1:' in settings, "the package must listen on loopback only")
    folder = context.folder / "debian-hub"
    folder.mkdir()
    env = {"MATCHWIRE_SERVER_LISTEN": "127.0.0.1:0", "MATCHWIRE_SERVER_DB": str(folder / "hub.db")}
    with hub(root.path / PROGRAM, "--config", root.path / SETTINGS, folder=folder, env=env) as address:
        for path in ("/readyz", "/", "/docs/"):
            status, _ = get(address, path)
            expect(status == 200, f"{path} of the installed hub answers {status}")


class Root:
    """A folder that dpkg takes for a machine. Its scripts run outside of it, and name it by DPKG_ROOT."""

    def __init__(self, path):
        self.path = path
        for name in ("etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
            (path / name).mkdir(parents=True)
        (path / "var/lib/dpkg/status").touch()

    def dpkg(self, *arguments):
        # Without /run nothing reaches the systemd of this machine. There are no other packages to depend on.
        options = ("--root", self.path, "--log", self.path / "dpkg.log", "--force-script-chrootless", "--force-depends")
        hide = 'mount -t tmpfs none /run && exec "$@"'
        run("unshare", "--map-root-user", "--mount", "sh", "-c", hide, "sh", "dpkg", *options, *arguments)

    def version(self):
        return re.search(r"^Version: (.*)$", self.read("var/lib/dpkg/status"), re.MULTILINE)[1]

    def has(self, name):
        path = self.path / name
        return path.exists() or path.is_symlink()

    def read(self, name):
        return (self.path / name).read_text()


def build(context):
    """The path of the package with the program under test."""
    if not context.cargo_deb:
        raise Missing("cargo-deb")
    target, package = context.folder / "debian-target", context.folder / "matchwire.deb"
    (target / "release").mkdir(parents=True)
    (target / "release" / "matchwire").symlink_to(context.small_program())
    # Fast, by the system's gzip: cargo-deb is not optimised here, and a small package is not what is tested.
    compression = ("--compress-type", "gzip", "--compress-system", "--fast")
    command = [context.cargo_deb, "deb", "--no-build", "--no-strip", *compression, "--output", package]
    run(*command, cwd=TOP, env={"CARGO_TARGET_DIR": str(target)})
    said = run("dpkg-deb", "--field", package, "Version")
    expect(said.strip() == f"{VERSION}-1", f"the package has the version {said}")
    return package


def changed(context, package, version, settings):
    """The same package as a later version, with more in its settings."""
    content, path = context.folder / f"deb-{version}", context.folder / f"matchwire-{version}.deb"
    run("dpkg-deb", "--raw-extract", package, content)
    control = content / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
    with (content / SETTINGS).open("a") as file:
        file.write(settings)
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", content, path)
    shutil.rmtree(content)
    return path


CHECKS = (package_can_be_installed_upgraded_and_removed,)
