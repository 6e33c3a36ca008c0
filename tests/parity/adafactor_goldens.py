"""Makes tests/optim/goldens/adafactor.json by transformers' Adafactor as Trainer makes it.

    tests/parity/adafactor_goldens.py

Two tensors that lie in one matrix, a table and a bias over three steps, in double; gradients are
rounded to fp32. One gradient has a row of zeros.
"""
import json
import pathlib

import torch
from transformers.optimization import Adafactor

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/optim/goldens/adafactor.json"
SHAPES = {"q.weight": (6, 33), "k.weight": (6, 33), "words": (260, 2), "a.bias": (33,)}
RATE, DECAY, STEPS = 0.02, 0.1, 3

draw = torch.Generator().manual_seed(3)
numbers = lambda shape: (torch.randn(shape, generator=draw) * 64).round().div(64).double()
parameters = {name: torch.nn.Parameter(numbers(shape)) for name, shape in SHAPES.items()}
golden = {"rate": RATE, "decay": DECAY, "start": {}, "gradients": [], "end": {}}
golden["start"] = {name: p.detach().flatten().tolist() for name, p in parameters.items()}
groups = [{"params": [p for n, p in parameters.items() if n != "a.bias"], "weight_decay": DECAY},
          {"params": [parameters["a.bias"]], "weight_decay": 0.0}]
optimizer = Adafactor(groups, lr=RATE, scale_parameter=False, relative_step=False)
for step in range(STEPS):
    gradients = {}
    for name, p in parameters.items():
        p.grad = numbers(p.shape) * 2.0 ** (step - 2)
        if name == "words":
            p.grad[step] = 0
        gradients[name] = p.grad.flatten().tolist()
    golden["gradients"].append(gradients)
    optimizer.step()
golden["end"] = {name: [round(x, 7) for x in p.detach().flatten().tolist()]
                 for name, p in parameters.items()}
OUT.parent.mkdir(exist_ok=True)
OUT.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
