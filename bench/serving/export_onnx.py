"""Exports a classifier for the peers: export_onnx.py MODEL_FOLDER OUTPUT_FOLDER

Writes model.onnx and model.opt.onnx, which ONNX Runtime's own transformer optimizer has fused.
Runs in the interpreter that has torch, transformers, onnx and onnxruntime.
"""
import json
import pathlib
import sys

import torch
from onnxruntime.transformers import optimizer
from transformers import AutoModelForSequenceClassification


def main():
    source, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    model = AutoModelForSequenceClassification.from_pretrained(
        source, attn_implementation="eager", local_files_only=True).eval()
    model.config.return_dict = False
    ids = torch.randint(5, 30000, (2, 16))
    names = ["input_ids", "attention_mask"]
    scratch = output / "export.tmp.onnx"
    torch.onnx.export(model, (ids, torch.ones_like(ids)), str(scratch), input_names=names,
                      output_names=["logits"], opset_version=17, dynamo=False,
                      dynamic_axes={**{n: {0: "batch", 1: "length"} for n in names},
                                    "logits": {0: "batch"}})
    fused = optimizer.optimize_model(str(scratch), model_type="bert",
                                     num_heads=config["num_attention_heads"],
                                     hidden_size=config["hidden_size"])
    print(fused.get_fused_operator_statistics())
    optimized = output / "optimized.tmp.onnx"
    fused.save_model_to_file(str(optimized))
    optimized.rename(output / "model.opt.onnx")
    scratch.rename(output / "model.onnx")


if __name__ == "__main__":
    main()
