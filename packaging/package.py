#!/usr/bin/env python3
"""Puts what a system gets of Ravel into one tree, and packs that: command, runtime archive, header, manual pages, completions, licences.

    cargo build --profile dist -p ravel-cli
    python3 packaging/package.py [--target target/dist] [--out dist/package]
    cargo deb -p ravel-cli --no-build --no-strip        # the Debian package, from the tree

The tree is `OUT/tree`, the archive `OUT/ravel-VERSION-MACHINE-linux.tar.xz`. Needs nothing but Python. Binaries are taken as they are: build on
the oldest system that is to be served.
"""

import argparse
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from build_wheel import runtime_archive, version  # noqa: E402

# Where completions are looked for, by shell.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/ravel",
    "zsh": "share/zsh/site-functions/_ravel",
    "fish": "share/fish/vendor_completions.d/ravel.fish",
}


def stage(target, root):
    """Makes the tree."""
    ravel = target / "ravel"
    if not ravel.is_file():
        raise SystemExit(f"{ravel} is missing: cargo build --profile dist -p ravel-cli")

    def put(source, place, mode=0o644):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / place)
        (root / place).chmod(mode)

    put(ravel, "bin/ravel", 0o755)
    put(runtime_archive(target), "lib/ravel/libravel_runtime.a")
    put(ROOT / "runtime/include/ravel.h", "include/ravel.h")
    for name in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"):
        put(ROOT / name, f"share/doc/ravel/{name}")
    pages = root / "share/man/man1"
    pages.mkdir(parents=True)
    subprocess.run([ravel, "man", pages], check=True, stdout=subprocess.DEVNULL)
    for shell, place in COMPLETIONS.items():
        made = subprocess.run([ravel, "completions", shell], check=True, stdout=subprocess.PIPE)
        (root / place).parent.mkdir(parents=True)
        (root / place).write_bytes(made.stdout)


def pack(root, out):
    """Makes the archive of the tree, with a script that unpacks it elsewhere."""
    name = f"ravel-{version()}-{platform.machine()}-linux"
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    contents = out / "CONTENTS"
    contents.write_text("".join(f"{file}\n" for file in files))

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry

    done, partial = out / f"{name}.tar.xz", out / f".{name}.partial"
    with tarfile.open(partial, "w:xz") as archive:
        for file in files:
            archive.add(root / file, f"{name}/{file}", filter=plain)
        archive.add(contents, f"{name}/CONTENTS", filter=plain)
        archive.add(ROOT / "packaging/install.sh", f"{name}/install.sh", filter=plain)
    contents.unlink()
    partial.replace(done)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, default=ROOT / "target/dist", help="where cargo put the build")
    parser.add_argument("--out", type=Path, default=ROOT / "dist/package")
    arguments = parser.parse_args()
    if platform.system() != "Linux":
        raise SystemExit("only Linux is supported so far")
    root = arguments.out / "tree"
    if root.exists():
        shutil.rmtree(root)
    stage(arguments.target.resolve(), root)
    print(pack(root, arguments.out))


if __name__ == "__main__":
    main()
