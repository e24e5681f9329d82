"""Write down a run: its numbers, and what a reader needs to judge or repeat them."""

import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

STARTED = time.perf_counter()


def cpu_model():
    """The processor's own name where Linux tells it, else what Python knows."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def record(name, seed, results, seconds=None):
    """Write NAME.json beside this file.

    name:    the script's name without .py
    seed:    the seed, or the list of seeds
    results: numbers, strings, lists and dicts that json can write
    seconds: how long the run took; by default, the time since this module was imported
    """
    if seconds is None:
        seconds = time.perf_counter() - STARTED
    run = {
        "name": name,
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        },
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        "results": results,
    }
    Path(__file__).with_name(f"{name}.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
