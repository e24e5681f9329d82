"""The kernel in which a student's code runs. Whatever it does there, this side gets an answer in bounded time.

The kernel is named by a kernelspec: a kernel provisioner behind that name decides where and how isolated it runs.
"""

import json
import logging
import math
import os
import secrets
from dataclasses import dataclass, field

from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from autograder import probe

MOST_OUTPUT = 200_000  # characters that one cell may print
MOST_REPLY = 32 << 20  # characters of one probe's reply
QUIET = logging.getLogger(__name__)  # what goes wrong in a kernel is said in the feedback, once
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # a cell that is stopped leaves its tasks unread
PATIENCE = 5  # seconds that an interrupted kernel gets to come back
LAUNCH = """\
def _ask(source, request, mime):
    import json
    from IPython.display import publish_display_data
    space = {{"__name__": "probe"}}
    exec(compile(source, "<probe>", "exec"), space)
    publish_display_data({{mime: json.dumps(space["probe"](json.loads(request), globals()))}})
_ask({source!r}, {request!r}, {mime!r})
del _ask
"""


class Lost(Exception):
    """The kernel died, or it does not stop when interrupted. Its message says so in words for the student."""


class TooSlow(Exception):
    """The code was interrupted at its time limit; the kernel lives on."""


@dataclass
class StudentKernel:
    """A kernel to run cells and probes in.

    name:   of the kernelspec
    folder: where the kernel starts: the notebook's own folder
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
            resources={"metadata": {"path": self.folder}},
            extra_arguments=["--HistoryManager.hist_file=:memory:", "--log-level=ERROR"],
            log=QUIET,
        )
        self._client.km = self._client.create_kernel_manager()
        # One thread a kernel: a class is graded by many kernels at once, and the arrays are small.
        self._client.start_new_kernel(env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"})
        self._client.start_new_kernel_client()

    def stop(self):
        if self._client is not None and self._client.km is not None:
            self._client._cleanup_kernel()
        self._client = None

    def run(self, source, seconds):
        """Run a cell; returns its outputs. Raises TooSlow or Lost, each with the outputs so far as `.outputs`."""
        if self._client is None:
            self.start()
        cell = new_code_cell(source)
        self._client.nb.cells = [cell]
        self._client.timeout = math.ceil(seconds)
        self._client.printed = 0
        try:
            self._client.execute_cell(cell, 0)
        except CellTimeoutError:
            raise self._interrupted(cell, seconds) from None
        except DeadKernelError:
            raise _with_outputs(Lost("the code ended the kernel"), cell) from None
        return cell.outputs

    def _interrupted(self, cell, seconds):
        """Stop what runs; the exception to raise: TooSlow if the kernel answers again, else Lost."""
        run_sync(self._client.km.interrupt_kernel)()
        ping = new_code_cell("None")
        self._client.nb.cells = [ping]
        self._client.timeout = PATIENCE
        try:
            self._client.execute_cell(ping, 0)
        except (CellTimeoutError, DeadKernelError):
            return _with_outputs(Lost("the code did not stop when it was interrupted"), cell)
        return _with_outputs(TooSlow(f"the code was stopped after {seconds} seconds"), cell)

    def ask(self, request, seconds):
        """Probe the student's object; returns the outcomes, or None where no readable answer came back.

        Raises TooSlow or Lost. What comes back is data of the student's making: only a judge may look at it.
        """
        mime = f"application/x.probe.{secrets.token_hex(8)}+json"
        with open(probe.__file__, encoding="utf-8") as file:
            source = file.read()
        outputs = self.run(LAUNCH.format(source=source, request=json.dumps(request), mime=mime), seconds)
        for output in outputs:
            reply = output.get("data", {}).get(mime)
            if isinstance(reply, str) and len(reply) <= MOST_REPLY:
                try:
                    return json.loads(reply)
                except (ValueError, RecursionError):
                    return None
        return None


class BoundedClient(NotebookClient):
    """A notebook client that drops what a cell prints beyond a bound: a loop that prints must not fill the memory."""

    printed = 0
    skip_cells_with_tag = ""

    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] == "stream":
            self.printed += len(msg["content"]["text"])
            if self.printed > MOST_OUTPUT:
                return None
        return super().process_message(msg, cell, cell_index)


def _with_outputs(error, cell):
    error.outputs = cell.outputs
    return error
