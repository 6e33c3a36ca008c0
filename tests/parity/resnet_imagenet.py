"""Compares the ImageNet ResNet-50 of tools/convert_resnet_imagenet.py with transformers, on JPEGs.

    tests/parity/resnet_imagenet.py MODEL IMAGES [--hone build/hone]

MODEL is the folder that the tool wrote; IMAGES a folder of files whose names end in their class's
number, as imagenet_00_243.jpg, of which the PyPI package foolbox 3.3.4 has 20 in foolbox/data. Both
sides read the files themselves. Logits agree within 1e-4 of the largest; printed is how many
images have their class first and among the first five. Needs torch, transformers and pillow.
"""
import argparse
import json
import pathlib
import subprocess

import torch
from PIL import Image
from transformers import AutoImageProcessor, ResNetForImageClassification

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    options = parser.parse_args()
    paths = sorted(options.images.glob("*.jpg"))
    out = subprocess.run([options.hone, "predict", "--model", options.model, "--raw", "--device", "cpu"],
                         input="".join(f"{path}\n" for path in paths), capture_output=True, text=True,
                         check=True).stdout
    got = torch.tensor([json.loads(line)["logits"] for line in out.splitlines()])
    model = ResNetForImageClassification.from_pretrained(options.model).eval()
    processor = AutoImageProcessor.from_pretrained(options.model, backend="pil")
    with torch.inference_mode():
        wanted = torch.cat([model(**processor(Image.open(path).convert("RGB"), return_tensors="pt")).logits
                            for path in paths])
    worst = ((got - wanted).abs().max() / wanted.abs().max()).item()
    classes = torch.tensor([int(path.stem.rsplit("_", 1)[1]) for path in paths])
    found = got.topk(5).indices == classes[:, None]
    print(f"{len(paths)} images: logits differ by {worst:.1e} of the largest; the class is first in "
          f"{found[:, 0].sum()}, among the first five in {found.any(1).sum()}")
    if not worst <= 1e-4:
        raise SystemExit("more than 1e-4")


if __name__ == "__main__":
    main()
