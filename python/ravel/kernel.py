"""The Jupyter kernel: cells are inputs of a session in a child process."""

import asyncio
import re

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from . import __version__
from ._session import Ended, Session

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class RavelKernel(Kernel):
    implementation = "ravel"
    implementation_version = __version__
    banner = f"Ravel {__version__}: SaC, compiled cell by cell"
    language_info = {
        "name": "sac",
        "mimetype": "text/x-csrc",
        "file_extension": ".sac",
        "pygments_lexer": "c",
        "codemirror_mode": "clike",
    }

    def __init__(self, **options):
        super().__init__(**options)
        self._session = Session()

    async def _ask(self, do, each=lambda answer: None, **request):
        """Asks on another thread, so that this one hears of an interrupt."""
        loop = asyncio.get_running_loop()
        waiting = asyncio.Queue()

        def work():
            try:
                result = self._session.ask(
                    do, lambda answer: loop.call_soon_threadsafe(waiting.put_nowait, answer), **request
                )
            except Ended as error:
                self._session = Session()
                text = f"{error}; a new session has begun, its variables are gone"
                failure = {"type": "error", "title": str(error), "text": text}
                loop.call_soon_threadsafe(waiting.put_nowait, failure)
                result = {"type": "done", "status": "error"}
            loop.call_soon_threadsafe(waiting.put_nowait, result)

        loop.run_in_executor(None, work)
        while True:
            answer = await waiting.get()
            if answer["type"] == "done":
                return answer
            each(answer)

    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        failures = []

        def each(answer):
            if answer["type"] == "error":
                failures.append(answer)
            if silent:
                return
            if answer["type"] in ("stdout", "stderr"):
                self._publish("stream", {"name": answer["type"], "text": answer["text"]})
            elif answer["type"] == "display":
                self._publish(
                    "execute_result",
                    {"execution_count": self.execution_count, "data": answer["data"], "metadata": {}},
                )
            elif answer["type"] == "error":
                self._publish("error", self._error(answer))

        done = await self._ask("execute", each, code=code) if code.strip() else {"status": "ok"}
        if done.get("status") != "ok" or failures:
            failure = failures[0] if failures else {"title": "error", "text": "error"}
            return {"status": "error", "execution_count": self.execution_count, **self._error(failure)}
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _error(self, answer):
        reports = answer.get("reports") or [{}]
        return {
            "ename": reports[0].get("code", "error"),
            "evalue": reports[0].get("title", answer.get("title", "")),
            "traceback": answer["text"].splitlines(),
        }

    def _publish(self, kind, content):
        self.send_response(self.iopub_socket, kind, content)

    async def do_complete(self, code, cursor_pos):
        at = len(code[:cursor_pos].encode())
        done = await self._ask("complete", code=code, at=at)
        start = len(code.encode()[: done.get("start", at)].decode("utf-8", "ignore"))
        return {
            "status": "ok",
            "matches": done.get("matches", []),
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        name = next((found[0] for found in _NAME.finditer(code) if found.start() <= cursor_pos <= found.end()), None)
        done = await self._ask("inspect", code=name) if name else {}
        text = done.get("text")
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    async def do_is_complete(self, code):
        done = await self._ask("is_complete", code=code)
        status = done.get("status", "unknown")
        return {"status": status, "indent": "    "} if status == "incomplete" else {"status": status}

    async def interrupt_request(self, stream, ident, parent):
        self._session.interrupt()
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    def do_shutdown(self, restart):
        self._session.close()
        return {"status": "ok", "restart": restart}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=RavelKernel)
