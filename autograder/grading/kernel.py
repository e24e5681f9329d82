"""The kernel in which a student's code runs. Whatever it does there, this side gets an answer in bounded time.

The kernel is named by a kernelspec: a kernel provisioner behind that name decides where and how isolated it runs.
"""

import asyncio
import json
import logging
import math
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import zmq
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from autograder import probe
from autograder.grading.outputs import shown

MOST_PRINTED = 200_000  # characters that one cell may print
MOST_SHOWN = 2 << 20  # characters of all that one cell shows: figures are large
MOST_REPLY = 32 << 20  # characters of one probe's reply
MOST_MESSAGE = 64 << 20  # bytes of one message of a kernel; a longer one is not even received
OUTPUTS = {"stream", "display_data", "execute_result", "error"}
QUIET = logging.getLogger(__name__)  # what goes wrong in a kernel is said in the feedback, once
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # a cell that is stopped leaves its tasks unread
PATIENCE = 5  # seconds that an interrupted kernel gets to come back
# The kernel starts outside the student's folder, where no file of theirs can pass for a part of it. Where there is a
# kit, `autograder` and `solutions` are the kit's, wherever a cell goes from there: the course's own are not found.
SETTLE = """\
import os, sys
os.makedirs({folder!r}, exist_ok=True)
os.chdir({folder!r})
if os.path.isdir("solutions"):
    installed = [getattr(sys.modules.get(getattr(each, "__module__", "")), "MAPPING", {{}}) for each in sys.meta_path]
    sys.meta_path[:] = [each for each, names in zip(sys.meta_path, installed) if "solutions" not in names]
    del installed
    import autograder, solutions
    del autograder, solutions
del os, sys
"""
# One expression, which binds and loses no name of the student's.
LAUNCH = 'exec({source!r}, {{"__name__": "probe", "request": {request!r}, "mime": {mime!r}, "notebook": globals()}})'
REPLY = """
import json
from IPython.display import publish_display_data
publish_display_data({mime: json.dumps(probe(json.loads(request), notebook))})
"""


class Lost(Exception):
    """The kernel died, or it does not stop when interrupted. Its message says so in words for the student."""


class TooSlow(Exception):
    """The code was interrupted at its time limit; the kernel lives on."""


@dataclass
class StudentKernel:
    """A kernel to run cells and probes in.

    name:   of the kernelspec
    folder: where the cells run: the notebook's own folder
    """

    name: str
    folder: str
    _client: "BoundedClient" = field(default=None, repr=False)

    def start(self):
        self._client = BoundedClient(
            new_notebook(),
            kernel_name=self.name,
            kernel_manager_class=AsyncKernelManager,
            allow_errors=True,
            shutdown_kernel="immediate",
            store_widget_state=False,
            extra_arguments=["--HistoryManager.hist_file=:memory:", "--log-level=ERROR"],
            log=QUIET,
        )
        self._client.km = self._client.create_kernel_manager()
        self._client.km.context.setsockopt(zmq.MAXMSGSIZE, MOST_MESSAGE)
        # One thread a kernel: a class is graded by many kernels at once, and the arrays are small.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # not the instructor's screen
        self._client.start_new_kernel(env=environment, cwd=sys.prefix, **quiet)
        self._client.start_new_kernel_client()
        self.run(SETTLE.format(folder=os.path.abspath(self.folder)), 60, history=False)

    def stop(self):
        if self._client is not None and self._client.km is not None:
            self._end_children()
            self._client._cleanup_kernel()
        self._client = None

    def _end_children(self):
        """End what the student's code started, too: a local kernel leads a process group of its own."""
        local = self._client.km.provisioner
        if getattr(local, "pgid", None) and local.process is not None and local.process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(local.pgid, signal.SIGKILL)

    def run(self, source, seconds, history=True):
        """Run a cell; returns its outputs. Raises TooSlow or Lost, each with the outputs so far as `.outputs`."""
        if self._client is None:
            self.start()
        cell = self._client.prepare(source, seconds)
        try:
            self._client.execute_alone(cell, store_history=history)
        except CellTimeoutError:
            raise self._interrupted(cell, seconds) from None
        except DeadKernelError:
            raise _with_outputs(Lost("the code ended the kernel"), cell) from None
        except Exception:  # forged or broken messages, in whatever way: the next kernel is a sound one
            raise _with_outputs(Lost("the code broke the kernel's connection"), cell) from None
        if self._client.leaving:
            raise _with_outputs(Lost("the code ended the kernel"), cell)
        return shown(cell.outputs)

    def _interrupted(self, cell, seconds):
        """Stop what runs; the exception to raise: TooSlow if the kernel answers again, else Lost."""
        try:
            run_sync(self._client.km.interrupt_kernel)()
            self._client.execute_alone(self._client.prepare("None", PATIENCE), store_history=False)
        except Exception:
            return _with_outputs(Lost("the code did not stop when it was interrupted"), cell)
        return _with_outputs(TooSlow(f"the code was stopped after {seconds:.3g} seconds"), cell)

    def ask(self, request, seconds):
        """Probe the student's object; returns the outcomes, or None where no readable answer came back.

        Raises TooSlow or Lost. What comes back is data of the student's making: only a judge may look at it.
        """
        mime = f"application/x.probe.{secrets.token_hex(8)}+json"
        with open(probe.__file__, encoding="utf-8") as file:
            source = file.read() + REPLY
        if self._client is None:
            self.start()
        self._client.awaited, self._client.reply = mime, None
        self.run(LAUNCH.format(source=source, request=json.dumps(request), mime=mime), seconds, history=False)
        try:
            return json.loads(self._client.reply)
        except (TypeError, ValueError, RecursionError):
            return None


class BoundedClient(NotebookClient):
    """A notebook client that survives its kernel: it keeps no more than so much, and no message that is malformed."""

    skip_cells_with_tag = ""
    printed = size = 0
    awaited = reply = None  # the mime type of a probe's reply, and the first one that came
    leaving = False  # whether the kernel said that it will exit
    listener = None  # the task that takes the kernel's messages

    def prepare(self, source, seconds):
        """A cell to execute, with nothing left over from the one before."""
        cell = new_code_cell(source)
        self.nb.cells = [cell]
        self.timeout = max(1, math.ceil(seconds))
        self.printed = self.size = 0
        self.leaving = False
        self.on_cell_executed = self._note_exit
        if self.listener is not None:  # after a timeout nbclient leaves it there, to take the next cell's messages
            self.listener.get_loop().call_soon_threadsafe(self.listener.cancel)
        return cell

    async def _async_poll_output_msg(self, *arguments):
        self.listener = asyncio.current_task()
        await super()._async_poll_output_msg(*arguments)

    async def async_execute_alone(self, cell, store_history):
        """Execute a cell and leave nothing behind: a cell that is stopped would go on taking the next one's outputs."""
        before = asyncio.all_tasks()
        try:
            await self.async_execute_cell(cell, 0, store_history=store_history)
        finally:
            for task in asyncio.all_tasks() - before:
                task.cancel()

    execute_alone = run_sync(async_execute_alone)

    def _note_exit(self, cell, cell_index, execute_reply):
        self.leaving = any(item.get("source") == "ask_exit" for item in execute_reply["content"].get("payload", []))

    def process_message(self, msg, cell, cell_index):
        try:
            if msg["msg_type"] not in OUTPUTS:
                bystander = msg["msg_type"].startswith(("comm", "update"))
                return None if bystander else super().process_message(msg, cell, cell_index)
            return self._keep(msg, cell, cell_index)
        except CellControlSignal:
            raise
        except Exception:  # no message of a kernel's: code of the student's wrote it
            return None

    def _keep(self, msg, cell, cell_index):
        content = msg["content"]
        if msg["msg_type"] == "display_data" and self.awaited in content["data"]:
            reply = content["data"][self.awaited]
            if self.reply is None and isinstance(reply, str) and len(reply) <= MOST_REPLY:
                self.reply = reply
            return None
        content.pop("transient", None)  # no later cell changes what this one showed
        if msg["msg_type"] == "stream":
            self.printed += len(content["text"])
        self.size += len(content["text"] if msg["msg_type"] == "stream" else str(content))
        if self.printed > MOST_PRINTED or self.size > MOST_SHOWN:
            return None
        return super().process_message(msg, cell, cell_index)


def _with_outputs(error, cell):
    error.outputs = shown(cell.outputs)
    return error
