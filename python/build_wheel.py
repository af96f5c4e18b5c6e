#!/usr/bin/env python3
"""Packs a built release into a wheel: the command `ravel`, libravel, the runtime archive, the Python package and the Jupyter kernelspec.

    cargo build --release -p ravel-cli -p ravel-capi
    python3 python/build_wheel.py [--target target/release] [--out dist]

Needs nothing but Python. Binaries are taken as they are: for wheels that run elsewhere, build on the oldest system that is to be served.
"""

import argparse
import base64
import hashlib
import platform
import re
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "Ravel: a compiler for SaC (Single Assignment C), for Python and Jupyter"


def version():
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^version = "(.*)"', text, re.MULTILINE)[1]


def runtime_archive(target):
    """The newest archive of the runtime; cargo leaves it with a hash in its name."""
    found = [*target.glob("libravel_runtime*.a"), *(target / "deps").glob("libravel_runtime*.a")]
    if not found:
        raise SystemExit(f"libravel_runtime.a is not in {target}: cargo build --release -p ravel-cli")
    return max(found, key=lambda path: path.stat().st_mtime)


def build(target, out):
    name, tag = f"ravel-{version()}", f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    data = f"{name}.data"
    files = {}
    for path in sorted((ROOT / "python" / "ravel").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".json"):
            files[path.relative_to(ROOT / "python").as_posix()] = (path.read_bytes(), 0o644)
    for path, place, mode in [
        (target / "libravel.so", "ravel/libravel.so", 0o755),
        (target / "ravel", f"{data}/scripts/ravel", 0o755),
        (runtime_archive(target), f"{data}/data/lib/ravel/libravel_runtime.a", 0o644),
        (ROOT / "python/ravel/kernelspec/kernel.json", f"{data}/data/share/jupyter/kernels/ravel/kernel.json", 0o644),
    ]:
        if not path.is_file():
            raise SystemExit(f"{path} is missing: cargo build --release -p ravel-cli -p ravel-capi")
        files[place] = (path.read_bytes(), mode)
    info = f"{name}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: ravel\nVersion: {version()}\nSummary: {SUMMARY}\nLicense: MIT OR Apache-2.0\n"
        "Requires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: jupyter\n"
        'Requires-Dist: ipykernel; extra == "jupyter"\n'
    )
    files[f"{info}/METADATA"] = (metadata.encode(), 0o644)
    wheel = f"Wheel-Version: 1.0\nGenerator: ravel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = (wheel.encode(), 0o644)
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        files[f"{info}/{licence}"] = ((ROOT / licence).read_bytes(), 0o644)
    record = []
    for place, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{place},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = ("".join(record).encode(), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    done, partial = out / f"{name}-{tag}.whl", out / f".{name}-{tag}.partial"
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for place, (content, mode) in files.items():
            entry = zipfile.ZipInfo(place, (2024, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    partial.replace(done)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, default=ROOT / "target" / "release", help="where cargo put the release")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    if platform.system() != "Linux":
        raise SystemExit("only Linux is supported so far")
    print(build(arguments.target, arguments.out))


if __name__ == "__main__":
    main()
