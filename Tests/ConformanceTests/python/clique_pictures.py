"""Photographs with all that a phone's camera writes into them, made and read by Pillow."""

import io
import os
import random

from PIL import ExifTags, Image, PngImagePlugin
from pictures import Picture

# Stands in all metadata, and nowhere else.
SECRET = "Prater 48.2082N 16.3738E"


def _exif(orientation):
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = SECRET
    exif[ExifTags.Base.Orientation] = orientation
    exif[ExifTags.Base.DateTime] = "2026:01:02 03:04:05"
    exif.get_ifd(ExifTags.IFD.GPSInfo).update({1: "N", 2: (48.0, 12.0, 29.5), 3: "E", 4: (16.0, 22.0, 25.7)})
    return exif


class Photo(Picture):
    """For Clique: it can be decoded, with a place, a device and a comment in it, and more behind its end."""

    app = "clique"

    def __init__(self, size=(640, 480), kind="image/jpeg", orientation=6, seed=1):
        self.id = os.urandom(16).hex()
        self.kind = kind
        self.size = size
        self.orientation = orientation
        noise = random.Random(seed).randbytes(size[0] // 8 * (size[1] // 8) * 3)
        image = Image.frombytes("RGB", (size[0] // 8, size[1] // 8), noise).resize(size, Image.Resampling.BICUBIC)
        file = io.BytesIO()
        image.save(file, kind.split("/")[1], exif=_exif(orientation), **self._notes())
        self.bytes = file.getvalue() + SECRET.encode()

    def _notes(self):
        if self.kind == "image/png":
            notes = PngImagePlugin.PngInfo()
            notes.add_text("Comment", SECRET)
            notes.add_itxt("XML:com.adobe.xmp", SECRET)
            return {"pnginfo": notes}
        if self.kind == "image/webp":
            return {"xmp": SECRET.encode(), "lossless": True}
        return {"comment": SECRET.encode(), "quality": 90}

    @property
    def tells(self):
        """Whether the file tells of its place as it was taken: else the checks of a cleaned one would show nothing."""
        exif = Image.open(io.BytesIO(self.bytes)).getexif()
        return exif.get_ifd(ExifTags.IFD.GPSInfo) != {} and exif[ExifTags.Base.Make] == SECRET

    def is_shown_by(self, answer):
        """Whether what was fetched is this picture, pixel by pixel and turned as it was, and tells nothing else."""
        if not isinstance(answer, tuple):
            return False
        body, kind = answer
        fetched, taken = Image.open(io.BytesIO(body)), Image.open(io.BytesIO(self.bytes))
        exif = fetched.getexif()
        return (
            kind == self.kind and fetched.convert("RGB").tobytes() == taken.convert("RGB").tobytes()
            and dict(exif) == {ExifTags.Base.Orientation: self.orientation}
            and exif.get_ifd(ExifTags.IFD.GPSInfo) == {}
            and SECRET.encode() not in body and not set(fetched.info) & {"comment", "xmp", "Comment"})
