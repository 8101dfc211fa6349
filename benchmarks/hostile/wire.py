"""What both sides of a measurement say on the wire: tokens, frames, and the honest client."""

import asyncio
import base64
import functools
import hashlib
import hmac
import json
import socket
import ssl
import time

SECRET = "0123456789abcdef" * 4
PATH = "/connection/websocket"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user):
    """A connection token that the server under attack accepts."""
    head = base64url(b'{"alg":"HS256"}')
    claims = base64url(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
    signature = hmac.new(SECRET.encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return f"{head}.{claims}.{base64url(signature)}"


def frame(text):
    """A masked text frame; the mask is zero, which the server cannot tell from any other."""
    data = text if isinstance(text, bytes) else text.encode()
    if len(data) < 126:
        head = bytes([0x81, 0x80 | len(data)])
    elif len(data) < 65536:
        head = bytes([0x81, 0xFE]) + len(data).to_bytes(2, "big")
    else:
        head = bytes([0x81, 0xFF]) + len(data).to_bytes(8, "big")
    return head + bytes(4) + data


def message(*commands):
    """One message with these commands, each a dictionary."""
    return frame("\n".join(json.dumps(command, separators=(",", ":")) for command in commands))


def upgrade():
    """The request that opens a WebSocket."""
    return (f"GET {PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()


@functools.cache
def insecure():
    """TLS without a look at the certificate, which is made for one run."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Client:
    """One WebSocket of the JSON protocol, as an honest program has it."""

    def __init__(self):
        self.waiting, self.last, self.on_push = {}, 0, lambda push: None

    async def open(self, target, source, user, **more):
        """Connects as a user; `more` is what `connect` says besides the token."""
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", target.port, local_addr=(source, 0), ssl=insecure() if target.is_tls else None)
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.writer.write(upgrade())
        try:
            status = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("the server hung up") from error
        if b" 101 " not in status.split(b"\r\n")[0]:
            raise ConnectionError(status.split(b"\r\n")[0].decode())
        self.task = asyncio.create_task(self.read())
        reply = await self.ask({"connect": {"token": token(user), **more}})
        if "error" in reply:
            raise ConnectionError(str(reply["error"]))
        return self

    async def read(self):
        try:
            while True:
                head = await self.reader.readexactly(2)
                length = head[1] & 127
                if length == 126:
                    length = int.from_bytes(await self.reader.readexactly(2), "big")
                elif length == 127:
                    length = int.from_bytes(await self.reader.readexactly(8), "big")
                data = await self.reader.readexactly(length)
                if head[0] & 15 == 8:
                    raise ConnectionError(f"closed with {int.from_bytes(data[:2], 'big')}")
                for line in data.split(b"\n"):
                    self.take(json.loads(line))
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            for future in self.waiting.values():
                if not future.done():
                    future.set_exception(ConnectionError(str(error)))
            self.waiting = {}

    def take(self, reply):
        if not reply:
            self.writer.write(frame("{}"))
        elif "push" in reply:
            self.on_push(reply["push"])
        elif reply["id"] in self.waiting:
            self.waiting.pop(reply["id"]).set_result(reply)

    async def ask(self, command):
        self.last += 1
        future = self.waiting[self.last] = asyncio.get_running_loop().create_future()
        self.writer.write(frame(json.dumps({"id": self.last, **command})))
        return await asyncio.wait_for(future, 30)

    def close(self):
        self.task.cancel()
        self.writer.close()
