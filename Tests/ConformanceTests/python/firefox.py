"""Firefox without a window, and the push service that it is connected to.

Browsers speak a protocol of their own with their push service; Firefox's is JSON over a WebSocket: it says hello,
registers a channel for each subscription, gets messages still encrypted, and acknowledges each with a code that tells
whether it could be decrypted. On the other side stands what RFC 8030 says of application servers.
"""

import asyncio
import base64
import ctypes
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import threading
import uuid

import websockets
from support import CheckFailed, until

# Acknowledgements of Firefox.
DELIVERED, NOT_DECRYPTED = 100, 101

PREFERENCES = {
    "dom.push.connection.enabled": True,
    # Else it asks the desktop, which is not there.
    "alerts.useSystemBackend": False,
    "dom.webnotifications.requireinteraction.enabled": True,
    "dom.push.testing.allowInsecureServerURL": True,
    "dom.push.testing.ignorePermission": True,
    "permissions.default.desktop-notification": 1,
    "marionette.port": 0,
    "network.proxy.type": 0,
    # This machine is all that there is.
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "browser.startup.page": 0,
    "browser.topsites.contile.enabled": False,
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


class PushService:
    """The push service of one browser. Messages wait while `holds` says so, as they do for a browser that is away."""

    def __init__(self, chain, key):
        self.endpoints = {}  # The channel of each endpoint's path, and the public key that may send to it.
        self.requests = []  # The headers of each that was taken, and the size of its body.
        self.refused = []
        self.acknowledged = {}  # The code, by the number of the message.
        self.waiting = []  # (Topic, message), in order.
        self.answers = {}  # Status and headers for the next requests, by path.
        self.holds = False
        self.browser = None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.origin = f"https://localhost:{self.http.server_address[1]}"

    async def __aenter__(self):
        self.loop = asyncio.get_running_loop()
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.server = await websockets.serve(
            self.serve, "127.0.0.1", 0, subprotocols=["push-notification"], ping_interval=None)
        self.url = f"ws://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        self.http.shutdown()
        self.http.server_close()

    # The browser's side.

    async def serve(self, socket):
        self.browser = socket
        try:
            async for text in socket:
                message = json.loads(text)
                answer = getattr(self, "on_" + message.get("messageType", "ping"))(message)
                if answer is not None:
                    await socket.send(json.dumps(answer))
        except websockets.ConnectionClosed:
            pass

    def on_hello(self, message):
        identifier = message.get("uaid") or uuid.uuid4().hex
        return {"messageType": "hello", "status": 200, "uaid": identifier, "use_webpush": True, "broadcasts": {}}

    def on_register(self, message):
        path = "/push/" + uuid.uuid4().hex
        self.endpoints[path] = (message["channelID"], message.get("key"))
        return {
            "messageType": "register", "status": 200, "channelID": message["channelID"],
            "pushEndpoint": self.origin + path,
        }

    def on_unregister(self, message):
        channel = message["channelID"]
        self.endpoints = {path: known for path, known in self.endpoints.items() if known[0] != channel}
        return {"messageType": "unregister", "status": 200, "channelID": channel}

    def on_ack(self, message):
        for update in message["updates"]:
            self.acknowledged[update["version"]] = update["code"]

    def on_nack(self, message):
        self.acknowledged[message["version"]] = message["code"]

    def on_broadcast_subscribe(self, message):
        return None

    def on_ping(self, message):
        return {}

    # The application server's side.

    def handler(service):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                taking = asyncio.run_coroutine_threadsafe(service.take(self.path, headers, body), service.loop)
                status, answered = taking.result(60)
                self.send_response(status)
                for name, value in answered.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    async def take(self, path, headers, body):
        if path not in self.endpoints:
            return 410, {}
        channel, key = self.endpoints[path]
        if not (found := re.fullmatch(r"vapid t=[\w.-]+, ?k=([\w-]+)", headers.get("authorization", ""))):
            return self.refuse(401, "there is no VAPID token")
        if key and found.group(1) != key.rstrip("="):
            return self.refuse(403, "the browser subscribed for another key")
        if headers.get("content-encoding") != "aes128gcm" or not headers.get("ttl", "").isdigit():
            return self.refuse(400, "a header of Web Push is missing")
        if len(body) > 4096:
            return self.refuse(413, "the body has more than 4096 bytes")
        if path in self.answers:
            return self.answers.pop(path)
        self.requests.append(headers | {"size": len(body)})
        topic = headers.get("topic")
        self.waiting = [entry for entry in self.waiting if topic is None or entry[0] != topic]
        self.waiting.append((topic, {
            "messageType": "notification", "channelID": channel, "version": uuid.uuid4().hex,
            "data": base64.urlsafe_b64encode(body).decode().rstrip("="), "headers": {"encoding": "aes128gcm"},
        }))
        await self.release()
        return 201, {"location": self.origin + "/message"}

    def refuse(self, status, rule):
        self.refused.append(rule)
        return status, {}

    async def release(self):
        """Hands what waits to the browser, unless it is held back."""
        while self.waiting and not self.holds:
            await self.browser.send(json.dumps(self.waiting.pop(0)[1]))


def die_with_parent():
    """Has the browser end with the script, also where that is killed. Linux has a call for it; elsewhere it stays."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Firefox:
    """The browser, driven over Marionette: a line of JSON after its length, one command at a time."""

    def __init__(self, program, folder, push_url):
        self.folder = pathlib.Path(folder)
        self.number = 0
        profile = self.folder / "profile"
        profile.mkdir()
        preferences = PREFERENCES | {"dom.push.serverURL": push_url}
        if os.geteuid() == 0:
            preferences["security.sandbox.content.level"] = 0
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
        (profile / "user.js").write_text("".join(lines))
        environment = os.environ | {"HOME": str(self.folder), "MOZ_CRASHREPORTER_DISABLE": "1"}
        if libraries := os.environ.get("FIREFOX_LIBRARIES"):
            environment["LD_LIBRARY_PATH"] = libraries
        self.log = open(self.folder / "firefox.txt", "wb")
        # A group of its own, so that its content processes end with it.
        self.process = subprocess.Popen(
            [
                program, "--headless", "--no-remote", "--profile", str(profile), "--marionette",
                "--remote-allow-system-access", "about:blank",
            ], env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
            preexec_fn=die_with_parent)

    async def __aenter__(self):
        try:
            port = await until(self.port, "Firefox says where it is driven from")
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
            await self.read()
            wanted = {"timeouts": {"script": 90_000}}
            await self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.end()
            raise
        return self

    async def __aexit__(self, *_):
        self.end()

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()

    def port(self):
        if self.process.poll() is not None:
            said = (self.folder / "firefox.txt").read_text(errors="replace")[-2000:]
            raise CheckFailed(f"Firefox ended with status {self.process.returncode}: {said}")
        file = self.folder / "profile" / "MarionetteActivePort"
        return int(file.read_text()) if file.exists() and file.read_text().strip() else None

    async def read(self):
        length = await self.reader.readuntil(b":")
        return json.loads(await self.reader.readexactly(int(length[:-1])))

    async def command(self, name, parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.writer.write(f"{len(text)}:".encode() + text)
        _, _, error, result = await self.read()
        if error:
            raise CheckFailed(f"Firefox refuses {name}: {error['error']}: {error['message']}")
        return result

    async def allow_notifications(self, origin):
        """What a person does who clicks on Allow."""
        await self.command("Marionette:SetContext", {"value": "chrome"})
        script = """
          const principal = Services.scriptSecurityManager.createContentPrincipalFromOrigin(arguments[0]);
          Services.perms.addFromPrincipal(principal, "desktop-notification", Services.perms.ALLOW_ACTION);
        """
        await self.command("WebDriver:ExecuteScript", {"script": script, "args": [origin]})
        await self.command("Marionette:SetContext", {"value": "content"})

    async def open(self, url):
        await self.command("WebDriver:Navigate", {"url": url})

    async def evaluate(self, body, *arguments):
        """What an async function with this body returns in the page; its arguments are in `given`."""
        script = """
          const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);
          (async () => {%s})().then((value) => done([value ?? null]), (error) => done(`${error}`));
        """ % body
        answer = await self.command("WebDriver:ExecuteAsyncScript", {"script": script, "args": list(arguments)})
        result = answer["value"]
        if not isinstance(result, list):
            raise CheckFailed(f"the page says: {result}")
        return result[0]
