"""Writes what the peers share into the cache: the ONNX models, SST-2's token ids and the logits.

Started by peers.py, once; what is already there is kept.
"""
import json
import os
import pathlib

from peer_worker import FOLDER, torch_model

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))


def write(path, value):
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(value))
    scratch.rename(path)


def expected():
    import torch
    torch.manual_seed(1)
    ids = torch.randint(5, 30000, (1, 16))
    with torch.inference_mode():
        logits = torch_model("eager").double()(input_ids=ids).logits[0]
    write(FOLDER / "expected.json", {"ids": ids[0].tolist(), "logits": logits.tolist()})


def onnx():
    """The plain export, and the same through ONNX Runtime's transformer optimizer.

    With a mask even for single inputs: the optimizer finds attention only there, and OpenVINO is
    no slower with it.
    """
    import torch
    from onnxruntime.transformers import optimizer
    model = torch_model("eager")
    model.config.return_dict = False
    ids = torch.randint(5, 30000, (2, 16))
    axes = {0: "batch", 1: "length"}
    names = ["input_ids", "attention_mask"]
    scratch = FOLDER / "export.tmp.onnx"
    torch.onnx.export(model, (ids, torch.ones_like(ids)), str(scratch),
                      input_names=names, output_names=["logits"],
                      dynamic_axes={n: axes for n in names}, opset_version=17, dynamo=False)
    made = optimizer.optimize_model(str(scratch), model_type="bert", num_heads=12, hidden_size=768)
    print(made.get_fused_operator_statistics())
    optimized = FOLDER / "optimized.tmp.onnx"
    made.save_model_to_file(str(optimized))
    optimized.rename(FOLDER / "bert.opt.onnx")
    scratch.rename(FOLDER / "bert.onnx")


def onnx_int8():
    """ONNX Runtime's own dynamic quantisation of the optimised model."""
    import onnx as format
    from onnxruntime.quantization import QuantType, quantize_dynamic
    scratch = FOLDER / "int8.tmp.onnx"
    quantize_dynamic(str(FOLDER / "bert.opt.onnx"), str(scratch), weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": format.TensorProto.FLOAT})
    scratch.rename(FOLDER / "bert.int8.onnx")


def sst2():
    """The dev set's ids by bert-base-uncased's own tokenizer."""
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(DATA / "tokenizers/bert-base-uncased/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    lines = (DATA / "glue/SST-2/dev.tsv").read_text(encoding="utf-8").split("\n")[1:]
    sentences = [line.split("\t")[0] for line in lines if line]
    write(FOLDER / "sst2.json", [e.ids for e in tokenizer.encode_batch(sentences)])


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (FOLDER / "sst2.json").exists():
        if DATA.is_dir():
            sst2()
        else:
            print(f"{DATA}: no such folder, so the peers' SST-2 cases are skipped")
    if not (FOLDER / "expected.json").exists():
        expected()
    if not (FOLDER / "bert.onnx").exists():
        try:
            onnx()
        except ImportError as error:
            print(f"no ONNX model: {error}")
    if (FOLDER / "bert.opt.onnx").exists() and not (FOLDER / "bert.int8.onnx").exists():
        try:
            onnx_int8()
        except ImportError as error:
            print(f"no ONNX model in int8: {error}")


if __name__ == "__main__":
    main()
