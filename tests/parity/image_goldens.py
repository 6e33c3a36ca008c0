#!/usr/bin/env python3
"""Makes tests/image/goldens: small images of every kind, and what Pillow and transformers make of
them, as hashes (FNV-1a, 64 bits) of red, green and blue bytes.

    .venv/bin/python tests/parity/image_goldens.py      (pillow, numpy, transformers)
"""
import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps
from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "image" / "goldens"


def fnv(data: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def picture(width: int, height: int, seed: int) -> np.ndarray:
    """Smooth colours with edges and some noise, so that every filter and rounding has work."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 90 * np.sin(x / (3 + c) + seed) + 60 * np.cos(y / (4 - c) + c) for c in range(3)]
    image = np.stack(planes, -1) + rng.normal(0, 12, (height, width, 3))
    image[height // 3 : height // 2, width // 4 : width // 2] = rng.integers(0, 256, 3)
    return np.clip(image, 0, 255).astype(np.uint8)


def png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(width, height, depth, colour, rows: bytes, extra: bytes = b"") -> bytes:
    """A PNG of any depth and colour type, of rows that are packed already."""
    stride = len(rows) // height
    filtered = b"".join(b"\0" + rows[y * stride : (y + 1) * stride] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + extra
            + png_chunk(b"IDAT", zlib.compress(filtered)) + png_chunk(b"IEND", b""))


def saved(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif(orientation: int) -> bytes:
    return b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + struct.pack(">HH", orientation, 0) + b"\0" * 4


def jpegs() -> dict[str, bytes]:
    rgb = Image.fromarray(picture(37, 29, 1))
    cmyk = Image.fromarray(np.dstack([picture(23, 18, 4), picture(23, 18, 5)[..., 0]]), "CMYK")
    files = {
        "444.jpg": saved(rgb, "JPEG", quality=90, subsampling=0),
        "422.jpg": saved(rgb, "JPEG", quality=80, subsampling=1),
        "420.jpg": saved(rgb, "JPEG", quality=75, subsampling=2),
        "progressive.jpg": saved(rgb, "JPEG", quality=70, progressive=True),
        "restart.jpg": saved(rgb, "JPEG", quality=85, restart_marker_blocks=2),
        "gray.jpg": saved(rgb.convert("L"), "JPEG"),
        "cmyk.jpg": saved(cmyk, "JPEG", quality=90),
        "rgb.jpg": saved(rgb, "JPEG", quality=90, keep_rgb=True),
    }
    small = Image.fromarray(picture(9, 5, 2))
    for turn in range(1, 9):
        files[f"turned{turn}.jpg"] = saved(small, "JPEG", quality=95, exif=exif(turn))
    # The same inks as YCCK: Adobe's marker says 2 instead of 0.
    plain = files["cmyk.jpg"]
    at = plain.index(b"Adobe")
    files["ycck.jpg"] = plain[: at + 11] + b"\x02" + plain[at + 12 :]
    # Without EXIF's orientation that of XMP counts.
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x tiff:Orientation=\"6\"/>"
    jpeg = saved(small, "JPEG", quality=95)
    files["xmp.jpg"] = jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(xmp) + 2) + xmp + jpeg[2:]
    return files


def pngs() -> dict[str, bytes]:
    rng = np.random.default_rng(7)
    rgb = Image.fromarray(picture(21, 17, 3))
    files = {
        "rgb.png": saved(rgb, "PNG"),
        "rgba.png": saved(Image.fromarray(np.dstack([picture(21, 17, 3), picture(21, 17, 9)[..., 0]])), "PNG"),
        "la.png": saved(rgb.convert("LA"), "PNG"),
        "gray.png": saved(rgb.convert("L"), "PNG"),
        "palette.png": saved(rgb.quantize(200), "PNG"),
        "palette4.png": saved(rgb.quantize(11), "PNG", bits=4),
        "palette_alpha.png": saved(rgb.quantize(9), "PNG", transparency=3),
        "exif.png": saved(rgb, "PNG", exif=exif(8)),
    }
    for depth in (1, 2, 4):
        rows = rng.integers(0, 256, ((13 * depth + 7) // 8) * 6, dtype=np.uint8).tobytes()
        files[f"gray{depth}.png"] = raw_png(13, 6, depth, 0, rows)
        palette = png_chunk(b"PLTE", rng.integers(0, 256, 3 * ((1 << depth) - 1), dtype=np.uint8).tobytes())
        if depth > 1:  # one colour of the last place is missing
            rows = (np.frombuffer(rows, np.uint8) & (0x55 if depth == 2 else 0x77)).tobytes()
        else:
            palette = png_chunk(b"PLTE", bytes([9, 200, 30, 250, 4, 77]))
        files[f"palette{depth}_short.png"] = raw_png(13, 6, depth, 3, rows, palette)
    for name, colour, channels in (("gray16", 0, 1), ("rgb16", 2, 3), ("la16", 4, 2), ("rgba16", 6, 4)):
        values = rng.integers(0, 65536, 7 * 5 * channels)
        values[::3] //= 300
        files[f"{name}.png"] = raw_png(7, 5, 16, colour, values.astype(">u2").tobytes())
    files["transparent_gray.png"] = raw_png(
        13, 6, 8, 0, rng.integers(0, 256, 78, dtype=np.uint8).tobytes(), png_chunk(b"tRNS", b"\0\x07"))
    files["interlaced.png"] = interlaced(picture(19, 11, 6))
    return files


def interlaced(pixels: np.ndarray) -> bytes:
    height, width, _ = pixels.shape
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    data = b""
    for x, y, dx, dy in passes:
        part = pixels[y::dy, x::dx]
        if part.shape[1]:
            data += b"".join(b"\0" + row.tobytes() for row in part)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(data))
            + png_chunk(b"IEND", b""))


def webps() -> dict[str, bytes]:
    rgb = Image.fromarray(picture(33, 26, 8))
    alpha = Image.fromarray(np.dstack([picture(33, 26, 8), picture(33, 26, 2)[..., 1]]))
    more = Image.fromarray(picture(33, 26, 9))
    return {
        "lossy.webp": saved(rgb, "WEBP", quality=70),
        "lossless.webp": saved(rgb, "WEBP", lossless=True),
        "alpha.webp": saved(alpha, "WEBP", quality=80),
        "alpha_lossless.webp": saved(alpha, "WEBP", lossless=True, exact=True),
        "turned.webp": saved(rgb, "WEBP", quality=70, exif=exif(5)[6:]),
        "animated.webp": saved(rgb, "WEBP", save_all=True, append_images=[more], quality=60),
    }


def opened(path: pathlib.Path) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def resizes() -> list[dict]:
    cases = []
    source = opened(FOLDER / "444.jpg")
    for size in ((37, 29), (1, 1), (16, 16), (64, 48), (37, 12), (11, 29), (5, 90), (200, 3), (36, 27), (36, 26), (38, 28)):
        for filter in range(6):
            result = source.resize(size, Image.Resampling(filter))
            cases.append({"file": "444.jpg", "size": size, "filter": filter, "fnv": fnv(result.tobytes())})
    for box in ((0, 0, 37, 14.5), (3.25, 4.5, 30.75, 28), (10, 5, 26, 21)):
        for filter, size in [(f, (16, 16)) for f in range(6)] + [(3, (33, 9)), (2, (40, 40))]:
            result = source.resize(size, Image.Resampling(filter), box=box)
            cases.append(
                {"file": "444.jpg", "size": size, "filter": filter, "box": box, "fnv": fnv(result.tobytes())})
    return cases


def preprocessing() -> list[dict]:
    """What transformers makes of images, before values are scaled, and some values behind it."""
    convnext = dict(size={"shortest_edge": 24}, crop_pct=0.875, resample=3, image_mean=[0.485, 0.456, 0.406],
                    image_std=[0.229, 0.224, 0.225])
    kinds = [
        (ViTImageProcessorPil, "ViTImageProcessor", dict(size={"height": 20, "width": 28})),
        (ViTImageProcessorPil, "ViTImageProcessor",
         dict(size={"height": 40, "width": 40}, do_center_crop=True, crop_size={"height": 33, "width": 32})),
        (ConvNextImageProcessorPil, "ConvNextImageProcessor", convnext),
        (ConvNextImageProcessorPil, "ConvNextImageProcessor", dict(convnext, size={"shortest_edge": 384})),
        (BitImageProcessorPil, "BitImageProcessor",
         dict(size={"shortest_edge": 18}, crop_size={"height": 17, "width": 25}, resample=2)),
        (BitImageProcessorPil, "BitImageProcessor",
         dict(do_resize=False, crop_size={"height": 31, "width": 32})),
    ]
    cases = []
    for make, name, options in kinds:
        for file in ("444.jpg", "turned6.jpg", "rgb.png", "lossy.webp"):
            image = opened(FOLDER / file)
            bytes_only = make(**options, do_rescale=False, do_normalize=False)
            pixels = np.asarray(bytes_only(image)["pixel_values"][0]).transpose(1, 2, 0).astype(np.uint8)
            values = np.asarray(make(**options)(image)["pixel_values"][0]).transpose(1, 2, 0)
            cases.append({"file": file, "options": dict(options, image_processor_type=name),
                          "fnv": fnv(pixels.tobytes()), "first": [float(v) for v in values[:2].reshape(-1)[:12]]})
    return cases


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    decoded = []
    for name, data in {**jpegs(), **pngs(), **webps()}.items():
        (FOLDER / name).write_bytes(data)
        image = opened(FOLDER / name)
        decoded.append({"file": name, "size": image.size, "fnv": fnv(image.tobytes())})
    goldens = {"decoded": decoded, "resized": resizes(), "preprocessed": preprocessing()}
    lines = [f'"{key}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]" for key, cases in goldens.items()]
    (FOLDER / "goldens.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
