"""A ResNet in plain PyTorch with torchvision's names, and the forms that papers on CIFAR use.

torchvision's resnet18, 34 and 50, and timm's of these names, have these modules; so have ResNet-20 and
-56 with padded shortcuts, whose output layer is called `linear`.
"""
import torch
from torch import nn
from torch.nn import functional


class Padded(nn.Module):
    """A shortcut without weights: every `stride`-th pixel, with channels of zeros on both sides."""

    def __init__(self, extra, stride):
        super().__init__()
        self.before, self.stride = extra // 2, stride
        self.after = extra - self.before

    def forward(self, x):
        s = self.stride
        return functional.pad(x[:, :, ::s, ::s], (0, 0, 0, 0, self.before, self.after))


class Block(nn.Module):
    def __init__(self, config, inputs, outputs, stride):
        super().__init__()
        if config["layer_type"] == "bottleneck":
            inner = outputs // 4
            early = config.get("downsample_in_bottleneck", False)
            shapes = [(inputs, inner, 1, stride if early else 1),
                      (inner, inner, 3, 1 if early else stride), (inner, outputs, 1, 1)]
        else:
            shapes = [(inputs, outputs, 3, stride), (outputs, outputs, 3, 1)]
        self.count = len(shapes)
        for i, (a, b, kernel, step) in enumerate(shapes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.downsample = nn.Identity()
        if inputs != outputs or stride != 1:
            self.downsample = Padded(outputs - inputs, stride) \
                if config.get("shortcut") == "padding" else nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = y.relu()
        return (y + self.downsample(x)).relu()


class ResNet(nn.Module):
    """Takes the fields of a config.json; `head` is what the output layer is called."""

    def __init__(self, config, labels, head="fc"):
        super().__init__()
        width = config["embedding_size"]
        self.small = config.get("stem") == "cifar"
        kernel, stride = (3, 1) if self.small else (7, 2)
        self.conv1 = nn.Conv2d(3, width, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.stages = []
        for i, (outputs, depth) in enumerate(zip(config["hidden_sizes"], config["depths"]), 1):
            blocks = []
            for k in range(depth):
                halves = k == 0 and (i > 1 or config.get("downsample_in_first_stage", False))
                blocks.append(Block(config, width, outputs, 2 if halves else 1))
                width = outputs
            self.stages.append(f"layer{i}")
            setattr(self, self.stages[-1], nn.Sequential(*blocks))
        self.head = head
        setattr(self, head, nn.Linear(width, labels))

    def pooled(self, x):
        x = self.bn1(self.conv1(x)).relu()
        if not self.small:
            x = functional.max_pool2d(x, 3, 2, 1)
        for stage in self.stages:
            x = getattr(self, stage)(x)
        return x.mean((2, 3))

    def forward(self, x):
        return getattr(self, self.head)(self.pooled(x))


def make_uneven(module, seed):
    """Weights as new ones have them, but norms and their statistics of all sizes."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(like, low, high):
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    def normal(like, deviation):
        return deviation * torch.randn(like.shape, generator=generator)

    with torch.no_grad():
        for each in module.modules():
            if isinstance(each, nn.BatchNorm2d):
                each.weight.copy_(uniform(each.weight, 0.4, 1.2))
                each.bias.copy_(normal(each.bias, 0.2))
                each.running_mean.copy_(normal(each.running_mean, 0.3))
                each.running_var.copy_(uniform(each.running_var, 0.3, 3))
            elif isinstance(each, nn.Conv2d):
                fan_in = each.weight[0].numel()
                each.weight.copy_(normal(each.weight, (2 / fan_in) ** 0.5))
            elif isinstance(each, nn.Linear):
                each.weight.copy_(normal(each.weight, each.in_features ** -0.5))
                each.bias.copy_(normal(each.bias, 0.2))
    return module


def made_pixels(image, count):
    """Bytes of a made-up image; tests in C++ make the same."""
    state, out = 12345 + image, bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        out.append((state >> 24) * (1 + image % 4) // 4)
    return bytes(out)


def made_images(count, height, width, mean, deviation):
    """Images as a model reads them, in double."""
    rows = [torch.tensor(list(made_pixels(i, height * width * 3)), dtype=torch.float64)
            .reshape(height, width, 3).permute(2, 0, 1) for i in range(count)]
    mean = torch.tensor(mean, dtype=torch.float64)[:, None, None]
    deviation = torch.tensor(deviation, dtype=torch.float64)[:, None, None]
    return torch.stack([(row / 255 - mean) / deviation for row in rows])
