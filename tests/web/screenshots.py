"""Screenshots beside committed ones: at most 0.5% of the pixels may differ."""
import io

import numpy as np
from PIL import Image

from pages import HERE

BASELINES = HERE / "baselines"
MOST = 0.005  # share of pixels
NEAR = 40  # of 255, in any channel: edges of letters and colours of a palette of 96
HEIGHT = 1400


def taken(page, width):
    page.evaluate("document.activeElement.blur()")
    png = page.screenshot(full_page=True, animations="disabled", caret="hide",
                          clip={"x": 0, "y": 0, "width": width, "height": HEIGHT})
    return Image.open(io.BytesIO(png)).convert("RGB")


def check(page, name, width, scratch, write):
    image = taken(page, width)
    path = BASELINES / f"{name}.png"
    if write:
        BASELINES.mkdir(exist_ok=True)
        image.quantize(96, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
        return
    assert path.exists(), f"{path} is not there: make web-baselines"
    image.save(scratch / f"{name}.png")
    wanted = Image.open(path).convert("RGB")
    assert image.size == wanted.size, f"{name}: {image.size} pixels, the baseline has {wanted.size}"
    distance = np.abs(np.asarray(image, dtype=int) - np.asarray(wanted, dtype=int)).max(axis=2)
    share = float((distance > NEAR).mean())
    assert share <= MOST, f"{name}: {100 * share:.2f}% of the pixels differ; see {scratch / name}.png"
