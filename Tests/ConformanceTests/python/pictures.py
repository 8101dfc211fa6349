"""Pictures over HTTP, as a phone uploads and fetches them (docs/STATE.md, docs/CLIQUE.md)."""

import asyncio
import http.client
import os
import socket
from urllib.parse import urlsplit

from support import URL, CheckFailed, connection_token, expect

PART = 65_536
HEADS = {
    "image/jpeg": b"\xff\xd8\xff\xe0", "image/png": b"\x89PNG\r\n\x1a\n", "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
    "image/heic": b"\x00\x00\x00\x18ftypheic",
}


class Picture:
    """For State, of bytes that only begin like a picture's."""

    app = "state"

    def __init__(self, kind="image/jpeg", size=100_000):
        self.id = os.urandom(16).hex()
        self.kind = kind
        self.bytes = HEADS[kind] + os.urandom(size - len(HEADS[kind]))

    @property
    def upload_path(self):
        return f"/{self.app}/pictures?id={self.id}"

    @property
    def path(self):
        return f"/{self.app}/pictures/{self.id}"


def _address(url=URL):
    parts = urlsplit(url)
    return parts.hostname, parts.port


def _request(user, method, path, body, headers, url):
    connection = http.client.HTTPConnection(*_address(url), timeout=120)
    try:
        if user:
            headers["Authorization"] = f"Bearer {connection_token(user)}"
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


async def http_request(user, method, path, body=None, url=URL, **headers):
    """Status, headers and body of the answer of the gateway at the URL. Without a user, without a token."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return await asyncio.to_thread(_request, user, method, path, body, headers, url)


async def put(user, picture, body=None, **headers):
    body = picture.bytes if body is None else body
    status, headers, _ = await http_request(user, "PUT", picture.upload_path, body, **headers)
    return status, headers.get("Upload-Offset")


async def put_rest(user, picture, offset, end=None):
    """A part, from an offset on."""
    total = len(picture.bytes)
    end = total if end is None else end
    return await put(user, picture, picture.bytes[offset:end], Content_Range=f"bytes {offset}-{end - 1}/{total}")


async def offset_of(user, picture):
    """How much of a picture the server says is there."""
    status, headers, _ = await http_request(user, "HEAD", picture.upload_path)
    expect(status, 200, "answer to HEAD")
    return int(headers["Upload-Offset"])


async def get(user, picture, url=URL):
    """The picture's bytes and type; the status where it is not given."""
    status, headers, body = await http_request(user, "GET", picture.path, url=url)
    return (body, headers.get("Content-Type")) if status == 200 else status


async def upload(user, *pictures):
    for picture in pictures:
        expect(await put(user, picture), (201, str(len(picture.bytes))), f"an upload of {user}")


def _break_off(user, picture, count):
    head = (
        f"PUT {picture.upload_path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {connection_token(user)}\r\nContent-Length: {len(picture.bytes)}\r\n\r\n"
    )
    with socket.create_connection(_address()) as connection:
        connection.sendall(head.encode() + picture.bytes[:count])


async def break_off(user, picture, count):
    """An upload whose connection is lost after that many bytes of the picture; returns what is kept of it."""
    await asyncio.to_thread(_break_off, user, picture, count)
    deadline = asyncio.get_running_loop().time() + 90
    while not (offset := await offset_of(user, picture)) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.02)
    # What was on its way when the connection was lost may be lost too.
    expect((0 < offset < count, offset % PART), (True, 0), f"{offset} bytes kept of {count}: whole parts of {PART}")
    return offset


async def put_until_taken(user, picture, offset):
    """Goes on as often as the server says where, as a phone does."""
    for _ in range(1_000):
        status, told = await put_rest(user, picture, offset)
        if status == 201:
            return
        expect(status, 409, "an answer that says where to go on, or that the former connection still writes")
        if told is None:
            await asyncio.sleep(0.05)
        offset = await offset_of(user, picture) if told is None else int(told)
    raise CheckFailed("the upload does not end")


async def until_gone(user, picture):
    for _ in range(1_000):
        if await get(user, picture) == 404:
            return
        await asyncio.sleep(0.02)
    expect(await get(user, picture), 404, f"a picture that is over, for {user}")
