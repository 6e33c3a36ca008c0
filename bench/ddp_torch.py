"""The torch side of ddp.py: MODEL BATCH LENGTH RANKS STEPS; DistributedDataParallel over gloo.

Each rank has one thread and a batch of its own. Prints the seconds of each step, as the slowest rank
has them, after one that is not timed.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from transformers import BertConfig, BertForSequenceClassification

SHAPES = {"bert-base": (768, 3072, 12, 12), "minilm": (384, 1536, 6, 12)}


def train(rank, name, batch, length, ranks, steps, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    hidden, intermediate, layers, heads = SHAPES[name]
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
        num_attention_heads=heads)).train()
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
    generator = torch.Generator().manual_seed(1 + rank)
    seconds = []
    for step in range(steps + 1):
        ids = torch.randint(1996, 30000, (batch, length), generator=generator)
        dist.barrier()
        begin = time.perf_counter()
        model(input_ids=ids, labels=torch.arange(batch) % 2).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        dist.barrier()
        if step > 0:
            seconds.append(time.perf_counter() - begin)
    if rank == 0:
        print(json.dumps({"seconds": seconds}), flush=True)
    dist.destroy_process_group()


def main():
    name, batch, length, ranks, steps, port = sys.argv[1], *map(int, sys.argv[2:7])
    multiprocessing.spawn(train, (name, batch, length, ranks, steps, port), nprocs=ranks)


if __name__ == "__main__":
    main()
