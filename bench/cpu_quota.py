"""Shares of a core for processes, by control groups of version 1; for root."""
import os
import pathlib
import time

PERIOD_US = 10000
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")


class Quota:
    """A control group whose processes have a share of one core."""

    def __init__(self, name, share):
        self.folder = GROUPS / f"hone-{os.getpid()}-{name}"
        self.folder.mkdir()
        (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        self.set(share)

    def set(self, share):
        (self.folder / "cpu.cfs_quota_us").write_text(str(round(share * PERIOD_US)))

    def add(self, process):
        (self.folder / "cgroup.procs").write_text(str(process))

    def remove(self):
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.1)
