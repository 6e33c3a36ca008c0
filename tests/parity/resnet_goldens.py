"""Makes tests/models/resnets: tiny odd ResNets with what PyTorch says of them.

    tests/parity/resnet_goldens.py

Logits, pooled vectors, and twenty steps of training by SGD in double: losses, gradient norms, and
all weights and running statistics afterwards. Three folders are transformers', two are bare state
dicts: one as torchvision saves it, and one of a form for CIFAR with padded shortcuts, in the legacy
format under `state_dict`, with DataParallel's prefix.
"""
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from torch.nn import functional
from transformers import ResNetConfig, ResNetForImageClassification

from resnet_module import ResNet, made_images, make_uneven

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/models/resnets"
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
IMAGES, BATCH, STEPS, RATE, MOMENTUM, DECAY = 7, 4, 20, 0.01, 0.9, 0.01
CASES = {
    "basic": ({"embedding_size": 6, "hidden_sizes": [6, 10, 13], "depths": [2, 1, 1],
               "layer_type": "basic"}, 5, 29, 35),
    "bottleneck": ({"embedding_size": 5, "hidden_sizes": [12, 20], "depths": [1, 2],
                    "layer_type": "bottleneck", "downsample_in_first_stage": True}, 3, 33, 27),
    "bottleneck-v1": ({"embedding_size": 8, "hidden_sizes": [8, 17, 24], "depths": [1, 1, 2],
                       "layer_type": "bottleneck", "downsample_in_bottleneck": True}, 4, 40, 31),
    "torchvision": ({"embedding_size": 7, "hidden_sizes": [16, 32], "depths": [2, 1],
                     "layer_type": "bottleneck"}, 6, 37, 30),
    "cifar-padded": ({"embedding_size": 4, "hidden_sizes": [4, 9, 18], "depths": [2, 2, 1],
                      "layer_type": "basic", "stem": "cifar", "shortcut": "padding"}, 10, 15, 14),
}


def transformers_model(config, labels):
    return ResNetForImageClassification(ResNetConfig(**config, num_labels=labels))


def save_bare(name, module, folder):
    if name == "torchvision":
        torch.save(module.state_dict(), folder / "resnet.pth")
        return
    state = {"module." + key: value for key, value in module.state_dict().items()}
    torch.save({"state_dict": state, "best_prec1": 90.0}, folder / "resnet.th",
               _use_new_zipfile_serialization=False)


def logits_of(model, images):
    """One pass alone: a second one would blend the running statistics again."""
    return model(images) if isinstance(model, ResNet) else model(images).logits


def answers(model, images):
    if isinstance(model, ResNet):
        return model(images), model.pooled(images)
    return model(images).logits, model.resnet(images).pooler_output[:, :, 0, 0]


def train(model, images, labels):
    """Batches of BATCH images each, which begin at a different one in every step."""
    model = model.double().train()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.SGD([{"params": matrices, "weight_decay": DECAY}, {"params": vectors}],
                                lr=RATE, momentum=MOMENTUM)
    losses, norms = [], []
    for step in range(STEPS):
        batch = [(step * 3 + i) % IMAGES for i in range(BATCH)]
        wanted = torch.tensor([i % labels for i in batch])
        loss = functional.cross_entropy(logits_of(model, images[batch]), wanted)
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item())
        losses.append(loss.item())
        optimizer.step()
    return losses, norms


def make(name, seed):
    config, labels, height, width = CASES[name]
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bare = name in ("torchvision", "cifar-padded")
    module = ResNet(config, labels, "linear" if config.get("stem") else "fc") if bare \
        else transformers_model(config, labels)
    make_uneven(module, seed)
    if bare:
        save_bare(name, module, folder)
    else:
        module.save_pretrained(folder)
    processor = {"image_processor_type": "ViTImageProcessor",
                 "size": {"height": height, "width": width}, "resample": 2, "image_mean": MEAN,
                 "image_std": DEVIATION}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor, indent=1) + "\n")
    images = made_images(IMAGES, height, width, MEAN, DEVIATION)
    with torch.no_grad():
        logits, pooled = answers(module.double().eval(), images)
    losses, norms = train(module, images, labels)
    trained = {key: value.float().contiguous() for key, value in module.state_dict().items()
               if "num_batches" not in key}
    save_file(trained, folder / "trained.golden")
    goldens = {"config": config, "logits": logits.tolist(), "pooled": pooled.tolist(),
               "rate": RATE, "momentum": MOMENTUM, "decay": DECAY, "batch": BATCH,
               "losses": losses, "grad_norms": norms}
    (folder / "goldens.json").write_text(json.dumps(goldens) + "\n")
    print(name, [round(loss, 3) for loss in losses])


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        make(case, 20 + number)
