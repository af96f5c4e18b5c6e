"""The kernel, by Jupyter's own conformance tests and by a notebook that is run."""

import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

from ravel import jupyter

try:
    KernelSpecManager().get_kernel_spec("ravel")
except NoSuchKernel:
    jupyter.install(prefix=sys.prefix)

import jupyter_kernel_test  # noqa: E402


class Conformance(jupyter_kernel_test.KernelTests):
    kernel_name = "ravel"
    language_name = "sac"
    file_extension = ".sac"
    code_hello_world = 'printf("hello, world\\n");'
    code_stderr = None
    completion_samples = [{"text": "printf", "matches": {"printf("}}]
    complete_code_samples = ["x = 1;", "1 + 1"]
    incomplete_code_samples = ["int f(int a) {"]
    code_execute_result = [{"code": "6 * 7", "result": "int: 42"}]
    code_generate_error = "nowhere + 1"
    code_inspect_sample = "printf"


del jupyter_kernel_test.KernelTests

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_give_what_they_hold(path):
    notebook = nbformat.read(path, as_version=4)
    expected = [[output.get("data", {}).get("text/plain") for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="ravel").execute()
    found = [[output.get("data", {}).get("text/plain") for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]
    assert found == expected


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_cells_of_python_notebooks(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext ravel")
    assert shell.run_cell("%%ravel mm\nuse Array: all;\nint twice(int a) { return 2 * a; }\n").success
    assert shell.run_cell("mm.twice(a=3)").result == 6
    capsys.readouterr()
    assert not shell.run_cell("%%ravel bad\nint f(int a) { return a + ; }\n").success
    told = capsys.readouterr().out
    assert "<bad>:1:27" in told and "Traceback" not in told, told
    assert isinstance(shell.run_cell("mm.twic").error_in_exec, AttributeError)
    assert isinstance(shell.run_cell("%%ravel class\nint f(int a) { return a; }\n").error_in_exec, ValueError)
