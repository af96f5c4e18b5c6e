"""A child process `ravel session --json`: requests and answers as lines of JSON."""

import json
import queue
import subprocess
import threading

from . import _binary


class Ended(Exception):
    """The child process is gone."""


class Session:
    """One request at a time; `interrupt` may be called on any thread meanwhile."""

    def __init__(self):
        self._child = subprocess.Popen(
            [_binary.find(), "session", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            # Ctrl-C in a terminal is for whoever started this process, who says what is to be interrupted.
            start_new_session=True,
        )
        self._answers = queue.Queue()
        self._last = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._child.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def _send(self, request):
        try:
            with self._lock:
                self._child.stdin.write(json.dumps(request) + "\n")
                self._child.stdin.flush()
        except (OSError, ValueError) as error:
            raise Ended(str(error)) from error

    def ask(self, do, each=lambda answer: None, **request):
        """The last answer to a request; the others go to `each`."""
        self._last += 1
        number = self._last
        self._send({"id": number, "do": do, **request})
        while True:
            answer = self._answers.get()
            if answer is None:
                raise Ended(f"ravel ended with status {self._child.wait()}")
            if answer.get("id") != number:
                continue
            if answer["type"] == "done":
                return answer
            each(answer)

    def interrupt(self):
        self._send({"id": 0, "do": "interrupt"})

    def close(self):
        try:
            self._child.stdin.close()
        except OSError:
            # A child that is gone leaves the last request unread.
            pass
        try:
            self._child.wait(2)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
