"""The command `ravel`: that of the wheel, of the environment, or of a build beside this file."""

import os
import shutil
import sys
from pathlib import Path


def find():
    asked = os.environ.get("RAVEL_BIN")
    if asked:
        return asked
    here = Path(__file__).resolve().parent
    places = [Path(sys.executable).parent / "ravel", here.parent.parent / "target" / "release" / "ravel"]
    found = next((str(place) for place in places if place.is_file()), None) or shutil.which("ravel")
    if not found:
        raise FileNotFoundError("the command `ravel` was not found; set RAVEL_BIN to its path")
    return found
