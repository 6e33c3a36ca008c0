#!/usr/bin/env python3
"""Reads a folder of event files with TensorBoard's own reader and compares it with the JSON log.

usage: events_read.py FOLDER LOG.jsonl

Every number of the log must be a scalar of the same name and step, equal as a float, and there
must be no other scalar. Exit code 1 where they differ, 77 where TensorBoard is not installed.
"""
import json
import math
import sys

try:
    import numpy
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    print(f"events_read: skipped: {error}")
    sys.exit(77)


def read_events(folder: str) -> dict:
    everything = {"scalars": 0, "tensors": 0}  # 0: keep all, do not sample
    events = EventAccumulator(folder, size_guidance=everything).Reload()
    return {
        (tag, event.step): event.value
        for tag in events.Tags()["scalars"]
        for event in events.Scalars(tag)
    }


def read_log(path: str) -> dict:
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            for name, value in entry.items():
                if name != "step":
                    values[(name, entry["step"])] = math.nan if value is None else value
    return values


def same(event: float, logged: float) -> bool:
    if not math.isfinite(event):
        return math.isnan(logged)  # JSON has no infinity
    return numpy.float32(event) == numpy.float32(logged)


def main() -> int:
    events, log = read_events(sys.argv[1]), read_log(sys.argv[2])
    faults = [f"{key}: only in the {'log' if key in log else 'events'}" for key in events.keys() ^ log.keys()]
    faults += [f"{key}: {events[key]} in the events, {log[key]} in the log"
               for key in events.keys() & log.keys() if not same(events[key], log[key])]
    for fault in faults:
        print(fault)
    print(f"events_read: {len(events)} scalars, {len(faults)} differ")
    return 1 if faults or not events else 0


if __name__ == "__main__":
    sys.exit(main())
