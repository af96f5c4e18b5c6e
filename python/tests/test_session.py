"""`ravel session --json`, driven as the kernel drives it."""

import base64
import threading
import time

import pytest

from ravel._session import Ended, Session


@pytest.fixture()
def session():
    session = Session()
    yield session
    session.close()


def run(session, code):
    answers = []
    done = session.ask("execute", answers.append, code=code)
    return done["status"], answers


def test_values_are_displayed(session):
    status, answers = run(session, "use Array: all;\na = reshape([3,4], iota(12));\na")
    assert status == "ok", answers
    data = answers[-1]["data"]
    assert data["text/plain"].startswith("int[3,4]:") and "<caption>int[3,4]</caption>" in data["text/html"]
    status, answers = run(session, "1 + 1")
    assert answers[-1]["data"] == {"text/plain": "int: 2"}


def test_pictures_are_png(session):
    run(session, "use Array: all;")
    status, answers = run(session, "tod(reshape([32,48], iota(32 * 48)))")
    assert status == "ok", answers
    png = base64.b64decode(answers[-1]["data"]["image/png"])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) == (48, 32)
    status, answers = run(session, ":plot tod(iota(30))")
    assert status == "ok" and answers[-1]["data"]["image/svg+xml"].lstrip().startswith("<")


def test_what_is_printed_comes_before_the_end(session):
    status, answers = run(session, 'printf("%d wörld\\n", 5);')
    assert status == "ok"
    assert "".join(answer["text"] for answer in answers if answer["type"] == "stdout") == "5 wörld\n"


def test_errors_have_reports(session):
    status, answers = run(session, "nowhere + 1")
    error = answers[-1]
    assert status == "error" and error["type"] == "error" and error["reports"][0]["code"] == "E0212"
    assert error["html"].startswith("<pre")
    status, answers = run(session, "a = [1,2,3]; a[7]")
    assert status == "error" and "out of range" in answers[-1]["text"]


def test_requests_about_code(session):
    assert session.ask("is_complete", code="{ x = 1;")["status"] == "incomplete"
    assert session.ask("is_complete", code="x = 1;")["status"] == "complete"
    run(session, "height = 3;")
    found = session.ask("complete", code="heig", at=4)
    assert "height" in found["matches"] and (found["start"], found["end"]) == (0, 4)
    assert session.ask("inspect", code="height")["text"] == "height: int"
    session.ask("reset")
    assert run(session, "height")[0] == "error"


def test_an_interrupt_leaves_the_variables(session):
    run(session, "kept = 41; n = 0;")
    for _ in range(2):
        timer = threading.Timer(0.5, session.interrupt)
        timer.start()
        start = time.perf_counter()
        status, answers = run(session, "while (n >= 0) { n = (n + 1) % 1000; }")
        assert status == "error" and "interrupted" in answers[-1]["text"] and time.perf_counter() - start < 10
        timer.join()
    assert run(session, "kept + 1")[1][-1]["data"]["text/plain"] == "int: 42"


def test_nonsense_is_answered(session):
    assert session.ask("dance", [].append)["status"] == "error"
    answers = []
    session._child.stdin.write("no json\n")
    session._child.stdin.flush()
    assert session.ask("execute", answers.append, code="1")["status"] == "ok"


def test_a_lost_child_is_told(session):
    session._child.kill()
    with pytest.raises(Ended):
        run(session, "1")


def test_an_expression_may_follow_a_loop(session):
    status, answers = run(session, "n = 0;\nfor (i = 0; i < 5; i++) { n = n + i; }\nn")
    assert status == "ok" and answers[-1]["data"]["text/plain"] == "int: 10", answers
    status, answers = run(session, "if (n > 3) { n = 1; }\nwrong + 1")
    assert answers[-1]["reports"][0]["place"]["start"]["line"] == 2
