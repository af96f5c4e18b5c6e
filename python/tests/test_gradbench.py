"""The tool for GradBench, by the lines that its evals send."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tests/bench/grad/tool"


@pytest.fixture(scope="module")
def ask():
    """Sends a message, which may be a text, and gives the answer; at the end the tool has ended by itself, and said nothing else."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, str(TOOL)], text=True, bufsize=1, **pipes) as tool:

        def ask(message):
            tool.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
            return json.loads(tool.stdout.readline())

        yield ask
        rest, errors = tool.communicate()
        assert (tool.returncode, rest, errors) == (0, "", "")


def evaluated(ask, module, function, given):
    """The output and the names of the timings."""
    assert ask({"id": 1, "kind": "define", "module": module})["success"]
    found = ask({"id": 2, "kind": "evaluate", "module": module, "function": function, "input": given})
    assert found["id"] == 2 and found["success"], found
    assert all(isinstance(timing["nanoseconds"], int) for timing in found["timings"])
    return found["output"], [timing["name"] for timing in found["timings"]]


HAND = {
    "bone_count": 1, "bone_names": ["wrist"], "parents": [-1], "base_positions": [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]],
    "base_relatives": [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]], "weights": [[1.0], [1.0], [1.0]],
    "inverse_base_absolutes": [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]], "triangles": [[0, 1, 2]], "is_mirrored": False,
}
CASES = [
    ("hello", "square", 3, 9),
    ("hello", "double", 3.5, 7),
    ("lse", "primal", {"x": [0, 0]}, 0.6931471805599453),
    ("lse", "gradient", {"x": [1, 1, 1, 1]}, [0.25] * 4),
    ("llsq", "primal", {"x": [1], "n": 3}, 2.5),
    ("llsq", "gradient", {"x": [1, 0], "n": 3}, [3, -2]),
    ("kmeans", "cost", {"points": [[0, 0], [1, 1], [5, 5]], "centroids": [[0, 1], [5, 5]]}, 2),
    ("kmeans", "dir", {"points": [[0, 0], [1, 1], [5, 5]], "centroids": [[0, 1], [5, 5]]}, [[-0.5, 0.5], [0, 0]]),
    ("ode", "primal", {"x": [1, 1], "s": 1}, [2, 2]),
    ("ode", "gradient", {"x": [1, 3], "s": 2}, [6, 2]),
    ("det", "primal", {"A": [1, 2, 3, 4], "ell": 2}, -2),
    ("det", "gradient", {"A": [1, 2, 3, 4], "ell": 2}, [4, -3, -2, 1]),
    ("gmm", "jacobian", {"d": 1, "k": 1, "n": 2, "alpha": [0], "mu": [[0]], "q": [[0]], "l": [[]], "x": [[1], [2]], "m": 0, "gamma": 1},
     {"alpha": [0], "mu": [[3]], "q": [[-4]], "l": [[]]}),
    ("lstm", "objective", {"main_params": [[0] * 4, [0] * 4], "extra_params": [[1], [0], [0]], "state": [[0], [0]], "sequence": [[0], [1]]},
     1.0986122886681098),
    ("ba", "objective", {"n": 1, "m": 1, "p": 3, "cam": [0] * 6 + [1, 0, 0, 0, 0], "x": [2, 4, 2], "w": 0.5, "feat": [0, 0]},
     {"reproj_error": {"elements": [0.5, 1], "repeated": 3}, "w_err": {"element": 0.75, "repeated": 3}}),
    ("ht", "objective", {"theta": [0] * 26, "us": [], "data": {"model": HAND, "correspondences": [1], "points": [[0, 0, 0]]}}, [0, -1, 0]),
    ("ht", "objective", {"theta": [0] * 26, "us": [[0.5, 0.5]], "data": {"model": HAND, "correspondences": [0], "points": [[0, 0, 0]]}},
     [-0.5, -0.5, 0]),
    ("saddle", "rr", {"start": [1, 1]}, [8.246324826140356e-06] * 4),
    ("saddle", "ff", {"start": [1, 1]}, [8.246324826140356e-06] * 4),
    ("particle", "rr", {"w": 0}, 0.2071918746486116),
    ("particle", "fr", {"w": 0}, 0.2071918746486116),
]


def near(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(near(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    return found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("module, function, given, expected", CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_outputs(ask, module, function, given, expected):
    output, timings = evaluated(ask, module, function, given)
    assert near(output, expected), output
    assert timings == ["compile", "evaluate"]


def test_the_matrix_of_observations_is_shortened(ask):
    given = {"n": 2, "m": 3, "p": 4, "cam": [0.1] * 11, "x": [1, 2, 5], "w": 0.5, "feat": [0, 0]}
    output, _ = evaluated(ask, "ba", "jacobian", given | {"p": 12})
    assert [len(output[name]) for name in ("rows", "cols", "vals")] == [31] * 3
    assert output["rows"][:3] == [0, 15, 30] and output["rows"][-1] == 31 * 12
    assert output["cols"][:16] == [*range(11), 22, 23, 24, 31, 0] and output["cols"][-1] == 22 + 9 + 11
    assert output["vals"][-1] == -1


def test_a_hand_has_a_column_for_each_angle(ask):
    given = {"theta": [0] * 26, "us": [[0.5, 0.5]], "data": {"model": HAND, "correspondences": [0], "points": [[0, 0, 0]]}}
    output, _ = evaluated(ask, "ht", "jacobian", given)
    assert [len(row) for row in output] == [28] * 3
    assert [row[:2] for row in output] == [[-1, 0], [0, -1], [1, 1]]
    assert [row[5:8] for row in output] == [[-1, 0, 0], [0, -1, 0], [0, 0, -1]]


def test_as_often_and_as_long_as_wanted(ask):
    assert evaluated(ask, "hello", "square", 2)[1].count("evaluate") == 1
    assert evaluated(ask, "lse", "primal", {"x": [1], "min_runs": 5, "min_seconds": 0})[1].count("evaluate") == 5
    assert ask({"id": 0, "kind": "start", "eval": "lse"})["tool"] == "ravel"
    assert ask({"id": "a", "kind": "analysis", "of": 0, "valid": True}) == {"id": "a"}


@pytest.mark.parametrize("message, words", [
    ("what is this", "no line of JSON"),
    ("[1]", "a message is an object"),
    ({"id": 1, "kind": "define", "module": "bogus"}, "there is no module `bogus`"),
    ({"id": 1, "kind": "define"}, "has no `module`"),
    ({"id": 1, "kind": "define", "module": 7}, "`module` is 7"),
    ({"id": 1, "kind": "evaluate", "module": "hello", "function": "cube", "input": 1}, "it has square, double"),
    ({"id": 1, "kind": "evaluate", "module": "hello", "function": "square"}, "has no `input`"),
    ({"id": 1, "kind": "evaluate", "module": "hello", "function": "square", "input": {"x": 1}}, "the input is none"),
    ({"id": 1, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"y": 1}}, "it has no 'x'"),
    ({"id": 1, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [[1]]}}, "stands where"),
    ({"id": 1, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1], "min_runs": "a"}}, "number of times"),
    ({"id": 1, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1], "min_seconds": -1}}, "number of seconds"),
    ({"id": 1, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": [1e999]}}, "cannot say"),
    ({"id": 1, "kind": "evaluate", "module": "det", "function": "primal", "input": {"A": [1], "ell": 2}}, "reshape"),
    ({"id": 1, "kind": "evaluate", "module": "ht", "function": "objective",
      "input": {"theta": [0] * 26, "us": [], "data": {"model": HAND, "correspondences": [3], "points": [[0, 0, 0]]}}}, "Fault"),
])
def test_what_is_wrong_is_said(ask, message, words):
    wrong = ask(message)
    right = ask({"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 2})
    assert wrong["success"] is False and words in wrong["error"], wrong
    assert "Traceback" not in wrong["error"]
    assert right["output"] == 4
