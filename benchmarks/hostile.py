#!/usr/bin/env python3
"""Measures what an honest client notices of a hostile one: benchmarks/measure hostile.

Starts the server that was built, and for each attack looks at an honest client before, during and after it: how long a
publication takes to arrive, how long a sign-in takes, how much memory the server has. What comes during and after is held
against what came before, in the same run on the same machine; where it is more than the factors below allow, the exit
code is 1. Uses the standard library and the openssl command.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time

SECRET = "0123456789abcdef" * 4
ATTACKER, HONEST = "127.0.0.66", "127.0.0.7"
PATH = "/connection/websocket"
# The attacker takes a core of the machine too, so an honest client may notice that much.
LATENCY_FACTOR, LATENCY_FLOOR = 10, 0.005
MEMORY_DURING, MEMORY_AFTER = 192 << 20, 64 << 20


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user):
    head = base64url(b'{"alg":"HS256"}')
    claims = base64url(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
    signature = hmac.new(SECRET.encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return f"{head}.{claims}.{base64url(signature)}"


def frame(text):
    data = text.encode()
    if len(data) < 126:
        head = bytes([0x81, 0x80 | len(data)])
    elif len(data) < 65536:
        head = bytes([0x81, 0xFE]) + len(data).to_bytes(2, "big")
    else:
        head = bytes([0x81, 0xFF]) + len(data).to_bytes(8, "big")
    return head + bytes(4) + data


class Client:
    """One WebSocket of the JSON protocol."""

    def __init__(self):
        self.waiting, self.last, self.on_push = {}, 0, lambda push: None

    async def open(self, port, source, user):
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(source, 0))
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.writer.write(
            f"GET {PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        status = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in status.split(b"\r\n")[0]:
            raise ConnectionError(status.split(b"\r\n")[0].decode())
        self.task = asyncio.create_task(self.read())
        reply = await self.ask({"connect": {"token": token(user)}})
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
                    message = json.loads(line)
                    if not message:
                        self.writer.write(frame("{}"))
                    elif "push" in message:
                        self.on_push(message["push"])
                    elif message["id"] in self.waiting:
                        self.waiting.pop(message["id"]).set_result(message)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            for future in self.waiting.values():
                future.set_exception(ConnectionError(str(error)))
            self.waiting = {}

    async def ask(self, command):
        self.last += 1
        future = self.waiting[self.last] = asyncio.get_running_loop().create_future()
        self.writer.write(frame(json.dumps({"id": self.last, **command})))
        return await asyncio.wait_for(future, 30)

    def close(self):
        self.task.cancel()
        self.writer.close()


# The attacks. Each runs in a process of its own until it is ended, as fast as it can.


def pour(port, messages, user="mallory"):
    """One connection that sends these over and over, and reads what comes."""

    async def run():
        client = await Client().open(port, ATTACKER, user)
        while True:
            for message in messages:
                client.writer.write(message)
                await client.writer.drain()

    while True:
        try:
            asyncio.run(run())
        except (ConnectionError, OSError):
            time.sleep(0.05)


def connections(port, _):
    """All sockets that one address gets, kept open, and more tried all the time."""
    held = []
    while True:
        try:
            one = socket.socket()
            one.bind((ATTACKER, 0))
            one.connect(("127.0.0.1", port))
            held.append(one)
        except OSError:
            time.sleep(0.01)
        held = held[-5000:]


def publications(port, _):
    pour(port, [frame("\n".join('{"id":%d,"publish":{"channel":"a:flood","data":"%s"}}' % (n, "x" * 200)
                                for n in range(1, 101)))])


def commands(port, _):
    pour(port, [frame("\n".join('{"id":%d,"rpc":{"method":"clique.list","data":{}}}' % n for n in range(1, 501)))])


def tokens(port, folder):
    head, signature = base64url(b'{"alg":"ES512"}'), base64url(b"\x01" * 132)

    def pair(n):
        claims = base64url(json.dumps({"sub": "mallory", "channel": f"a:{n}"}).encode())
        return ('{"id":%d,"subscribe":{"channel":"a:%d","token":"%s.%s.%s"}}\n{"id":%d,"unsubscribe":{"channel":"a:%d"}}'
                % (2 * n, n, head, claims, signature, 2 * n + 1, n))

    pour(port, [frame("\n".join(pair(n) for n in range(1, 101)))])


ATTACKS = [connections, publications, commands, tokens]


class Observation:
    """What an honest client saw for a while."""

    def __init__(self):
        self.deliveries, self.sign_ins, self.failures, self.memory = [], [], [], 0

    @staticmethod
    def worst(numbers):
        return sorted(numbers)[int(len(numbers) * 0.99)] if numbers else float("inf")

    def __str__(self):
        return (f"delivery p99 {self.worst(self.deliveries) * 1000:8.2f} ms, sign-in p99 "
                f"{self.worst(self.sign_ins) * 1000:8.2f} ms, failures {len(self.failures):3}, "
                f"memory {self.memory / (1 << 20):6.1f} MiB  ({len(self.deliveries)} and {len(self.sign_ins)} measured)")


async def observe(port, process, seconds):
    seen = Observation()
    end = time.monotonic() + seconds

    async def deliveries():
        arrived = {}
        reader = await Client().open(port, HONEST, "reader")
        reader.on_push = lambda push: arrived.get(push["pub"]["data"], lambda: None)() if "pub" in push else None
        await reader.ask({"subscribe": {"channel": "a:honest"}})
        writer = await Client().open(port, HONEST, "writer")
        number = 0
        while time.monotonic() < end:
            number += 1
            event, start = asyncio.Event(), time.monotonic()
            arrived[number] = event.set
            reply = await writer.ask({"publish": {"channel": "a:honest", "data": number}})
            if "error" in reply:
                seen.failures.append(reply["error"])
            await asyncio.wait_for(event.wait(), 30)
            seen.deliveries.append(time.monotonic() - start)
            await asyncio.sleep(0.01)
        reader.close()
        writer.close()

    async def sign_ins():
        number = 0
        while time.monotonic() < end:
            number += 1
            start = time.monotonic()
            try:
                client = await Client().open(port, f"127.0.2.{number % 200 + 1}", f"user{number}")
                seen.sign_ins.append(time.monotonic() - start)
                client.close()
            except (ConnectionError, OSError, asyncio.TimeoutError) as error:
                seen.failures.append(str(error))
            await asyncio.sleep(0.05)

    async def memory():
        while time.monotonic() < end:
            seen.memory = max(seen.memory, resident(process))
            await asyncio.sleep(0.1)

    results = await asyncio.gather(deliveries(), sign_ins(), memory(), return_exceptions=True)
    seen.failures += [str(result) for result in results if isinstance(result, Exception)]
    return seen


def resident(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def start(program, folder):
    key = os.path.join(folder, "ec.pem")
    subprocess.run(["openssl", "ecparam", "-name", "secp521r1", "-genkey", "-noout", "-out", key + ".secret"], check=True)
    subprocess.run(["openssl", "ec", "-in", key + ".secret", "-pubout", "-out", key], check=True, stderr=subprocess.DEVNULL)
    namespace = {"name": "a", "allow_subscribe_for_client": True, "allow_publish_for_client": True}
    settings = {
        "server": {"host": "127.0.0.1", "port": 0, "max_connections": 4000, "address": {"limit_loopback": True}},
        "token": {"hmac_secret": SECRET, "ecdsa_public_key_file": key},
        "broker": {"services": {"enabled": False}},
        "data": {"directory": os.path.join(folder, "data")},
        "channel": {"namespaces": [namespace]},
    }
    file = os.path.join(folder, "fanfare.json")
    with open(file, "w", encoding="utf-8") as output:
        json.dump(settings, output)
    log = open(os.path.join(folder, "log.txt"), "w", encoding="utf-8")
    process = subprocess.Popen([program, "serve", "--config", file], stderr=log)
    endpoints = os.path.join(folder, "data", "endpoints.json")
    while not os.path.exists(endpoints):
        if process.poll() is not None:
            sys.exit(f"the server did not start: {open(log.name, encoding='utf-8').read()}")
        time.sleep(0.05)
    with open(endpoints, encoding="utf-8") as source:
        return process, int(json.load(source)["websocket"].split(":")[2].split("/")[0])


def judge(name, before, during, after):
    faults = []
    for when, seen in [("during", during), ("after", after)]:
        if seen.failures:
            faults.append(f"{len(seen.failures)} failures {when} it, the first: {seen.failures[0]}")
        for what in ["deliveries", "sign_ins"]:
            allowed = LATENCY_FACTOR * max(Observation.worst(getattr(before, what)), LATENCY_FLOOR)
            found = Observation.worst(getattr(seen, what))
            if found > allowed:
                faults.append(f"p99 of {what} {when} it is {found * 1000:.1f} ms, more than {allowed * 1000:.1f}")
    if during.memory > before.memory + MEMORY_DURING:
        faults.append(f"the server took {(during.memory - before.memory) >> 20} MiB more during it")
    if after.memory > before.memory + MEMORY_AFTER:
        faults.append(f"the server kept {(after.memory - before.memory) >> 20} MiB after it")
    for fault in faults:
        print(f"   {name}: {fault}")
    return not faults


def main():
    program = os.environ.get("FANFARE_PROGRAM", ".build/release/fanfare")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    is_good = True
    for attack in ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            process, port = start(program, folder)
            try:
                asyncio.run(observe(port, process, 1))
                before = asyncio.run(observe(port, process, seconds))
                attacker = multiprocessing.Process(target=attack, args=(port, folder), daemon=True)
                attacker.start()
                during = asyncio.run(observe(port, process, seconds))
                attacker.kill()
                attacker.join()
                time.sleep(2)
                after = asyncio.run(observe(port, process, seconds))
            finally:
                process.terminate()
                process.wait()
        print(f"{attack.__name__}\n   before  {before}\n   during  {during}\n   after   {after}", flush=True)
        is_good = judge(attack.__name__, before, during, after) and is_good
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
