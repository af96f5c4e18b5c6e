"""`%%ravel NAME` in a Python notebook: the cell's SaC functions become a module that shares arrays."""

from ._module import module


def load(shell):
    def ravel(line, cell):
        name = line.strip() or "sac"
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no name of a variable")
        made = module(cell, name=name)
        shell.user_ns[name] = made

    shell.register_magic_function(ravel, "cell", "ravel")
