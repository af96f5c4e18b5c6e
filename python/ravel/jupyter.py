"""`python -m ravel.jupyter install`: writes the kernelspec where a wheel did not."""

import argparse
import json
import sys
import tempfile
from pathlib import Path


def install(user=True, prefix=None):
    """Installs the kernel for the interpreter that runs this; the folder."""
    from jupyter_client.kernelspec import KernelSpecManager

    spec = json.loads((Path(__file__).parent / "kernelspec" / "kernel.json").read_text())
    spec["argv"][0] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.json").write_text(json.dumps(spec, indent=2))
        return KernelSpecManager().install_kernel_spec(folder, "ravel", user=user and not prefix, prefix=prefix)


def main():
    parser = argparse.ArgumentParser(prog="python -m ravel.jupyter", description=__doc__)
    parser.add_argument("command", choices=["install"])
    parser.add_argument("--prefix", help="the environment to install into, instead of the user's folder")
    parser.add_argument("--sys-prefix", action="store_true", help="the environment of this interpreter")
    arguments = parser.parse_args()
    print(install(prefix=sys.prefix if arguments.sys_prefix else arguments.prefix))


if __name__ == "__main__":
    main()
