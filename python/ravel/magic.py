"""`%%ravel NAME` in a Python notebook: the cell's SaC functions become a module that shares arrays."""

import keyword

from ._errors import CompileError
from ._module import module


def load(shell):
    def ravel(line, cell):
        name = line.strip() or "sac"
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"{name!r} is no name of a variable: %%ravel NAME")
        try:
            made = module(cell, name=name)
        except CompileError as error:
            # The lines of Python that led here are none of the user's.
            error._render_traceback_ = str(error).splitlines
            raise
        shell.user_ns[name] = made

    shell.register_magic_function(ravel, "cell", "ravel")
