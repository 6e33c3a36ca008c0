"""Compares hone's ResNets with transformers and with a plain PyTorch module of torchvision's names.

    tests/parity/resnet_compare.py [--hone build/hone]

ResNet-18, -34 and -50 of full size, with seeded random weights and uneven statistics in their norms:
a folder of transformers, and a bare state dict of torchvision's names. Logits of `hone predict --raw`
agree within 1e-4 of the largest, and what `hone convert` and `hone train` write transformers loads
whole, with the same logits.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import torch
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification

from resnet_module import ResNet, made_images, made_pixels, make_uneven

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEAN, DEVIATION, SIDE, IMAGES = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], 224, 3
SIZES = {"resnet18": ("basic", [64, 128, 256, 512], [2, 2, 2, 2]),
         "resnet34": ("basic", [64, 128, 256, 512], [3, 4, 6, 3]),
         "resnet50": ("bottleneck", [256, 512, 1024, 2048], [3, 4, 6, 3])}


def config_of(name):
    layer_type, sizes, depths = SIZES[name]
    return {"embedding_size": 64, "hidden_sizes": sizes, "depths": depths, "layer_type": layer_type}


def write_images(folder):
    paths = []
    for i in range(IMAGES):
        image = Image.frombytes("RGB", (SIDE, SIDE), made_pixels(i, SIDE * SIDE * 3))
        paths.append(folder / f"{i}.png")
        image.save(paths[-1])
    return paths


def write_processor(folder):
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"image_processor_type": "ViTImageProcessor", "size": {"height": SIDE, "width": SIDE},
         "resample": 2, "image_mean": MEAN, "image_std": DEVIATION}))


def predict(hone, model, paths):
    out = subprocess.run([hone, "predict", "--model", model, "--raw", "--device", "cpu"],
                         input="".join(f"{path}\n" for path in paths), capture_output=True,
                         text=True, check=True).stdout
    return torch.tensor([json.loads(line)["logits"] for line in out.splitlines()],
                        dtype=torch.float64)


def check(what, got, wanted):
    worst = ((got - wanted).abs().max() / wanted.abs().max().clamp(min=1)).item()
    print(f"{what}: logits differ by {worst:.1e}")
    assert worst < 1e-4, what


def load(folder):
    model, report = ResNetForImageClassification.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    return model.double().eval()


def train(hone, model, paths, folder):
    """A step that changes nothing but statistics; gives the folder."""
    with open(folder / "train.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for i, path in enumerate(paths):
            rows.writerow([path, f"LABEL_{i}"])
    subprocess.run([hone, "train", "--model", model, "--train_file", folder / "train.csv",
                    "--max_steps", "1", "--learning_rate", "1e-5", "--optim", "sgd", "--quiet",
                    "--per_device_train_batch_size", "3", "--save_strategy", "no", "--device", "cpu",
                    "--output_dir", folder / "trained"], check=True)
    return folder / "trained"


def compare(hone, name, paths, images, scratch):
    torch.manual_seed(0)
    theirs = make_uneven(ResNetForImageClassification(ResNetConfig(**config_of(name),
                                                                   num_labels=10)), 7)
    folder = scratch / name
    theirs.save_pretrained(folder)
    write_processor(folder)
    with torch.inference_mode():
        wanted = theirs.double().eval()(images).logits
    check(f"{name}, transformers", predict(hone, folder, paths), wanted)
    plain = make_uneven(ResNet(config_of(name), 10), 8)
    bare = scratch / f"{name}-torchvision"
    bare.mkdir()
    torch.save(plain.state_dict(), bare / f"{name}.pth")
    write_processor(bare)
    with torch.inference_mode():
        wanted = plain.double().eval()(images)
    check(f"{name}, torchvision's names", predict(hone, bare / f"{name}.pth", paths), wanted)
    subprocess.run([hone, "convert", "--model", bare / f"{name}.pth", "--output",
                    scratch / f"{name}-converted", "--quiet"], check=True)
    with torch.inference_mode():
        check(f"{name}, converted, by transformers",
              load(scratch / f"{name}-converted")(images).logits, wanted)
    if name == "resnet18":
        trained = train(hone, folder, paths, scratch)
        with torch.inference_mode():
            check(f"{name}, trained, by transformers", predict(hone, trained, paths),
                  load(trained)(images).logits)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=ROOT / "build/hone", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch_name:
        place = pathlib.Path(scratch_name)
        files = write_images(place)
        inputs = made_images(IMAGES, SIDE, SIDE, MEAN, DEVIATION)
        for size in SIZES:
            compare(given.hone, size, files, inputs, place)
