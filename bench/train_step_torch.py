"""The torch side of train_step.py: MODEL BATCH LENGTH THREADS [FILE]; one command a line.

"step" trains all batches once and answers with its times; "memory" answers with the bytes that a
step adds to the resident size. With LENGTH 0 the file says how long the sequences are; each batch
is padded to its longest.
"""
import json
import sys
import threading
import time

import torch
from transformers import BertConfig, BertForSequenceClassification

SHAPES = {"bert-base": (768, 3072, 12, 12), "minilm": (384, 1536, 6, 12)}


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def make_batches(batch, length, lengths):
    generator = torch.Generator().manual_seed(1)
    if length > 0:
        return [(torch.randint(5, 30000, (batch, length), generator=generator), None)]
    out = []
    for first in range(0, len(lengths), batch):
        some = torch.tensor(lengths[first:first + batch])
        longest = int(some.max())
        ids = torch.randint(5, 30000, (len(some), longest), generator=generator)
        mask = torch.arange(longest)[None, :] < some[:, None]
        out.append((ids * mask, mask.long()))
    return out


class Trainer:
    def __init__(self, name, batch, length, lengths):
        hidden, intermediate, layers, heads = SHAPES[name]
        config = BertConfig(hidden_size=hidden, intermediate_size=intermediate,
                            num_hidden_layers=layers, num_attention_heads=heads)
        torch.manual_seed(0)
        self.model = BertForSequenceClassification(config).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-5, weight_decay=0.01)
        self.batches = make_batches(batch, length, lengths)
        self.number = 0

    def step(self):
        ids, mask = self.batches[self.number % len(self.batches)]
        self.number += 1
        labels = torch.arange(len(ids)) % 2
        loss = self.model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
        return len(ids)

    def timed(self):
        wall, cpu = time.perf_counter(), time.process_time()
        sequences = sum(self.step() for _ in self.batches)
        return {"ms": (time.perf_counter() - wall) * 1e3,
                "cpu_ms": (time.process_time() - cpu) * 1e3, "sequences": sequences,
                "steps": len(self.batches)}

    def memory(self):
        self.step()  # gradients and moments exist from now on
        before, peak, done = resident(), [0], threading.Event()

        def watch():
            while not done.wait(0.002):
                peak[0] = max(peak[0], resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.step()
        done.set()
        watcher.join()
        return {"bytes": peak[0] - before}


def main():
    name, batch, length, threads = sys.argv[1], *map(int, sys.argv[2:5])
    lengths = []
    if len(sys.argv) > 5:
        with open(sys.argv[5], encoding="ascii") as file:
            lengths = [int(line) for line in file]
    torch.set_num_threads(threads)
    trainer = Trainer(name, batch, length, lengths)
    for line in sys.stdin:
        answer = trainer.memory() if line.strip() == "memory" else trainer.timed()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
