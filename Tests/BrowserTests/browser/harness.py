"""A server of its own with the demo on it, windows of a real Chromium, and what every page is held to.

A scenario is a function `scenario_…(windows)`. Whatever a page says on its console as an error, whatever its content
security policy refuses, and every request to anywhere else fails the scenario, unless it is forgiven for a time.
"""

import contextlib
import json
import mimetypes
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import expect, sync_playwright

# Of WCAG's rules, those that the demo and the console promise to keep.
GRAVE = ("serious", "critical")
# How soon a page notices that its network is gone.
QUICK = {"client.ping_interval": "3s", "client.pong_timeout": "2s"}
# Of 255, averaged over squares of 16 pixels: text in another font is 1 to 2, another layout is 8 and more.
MOST_DIFFERENCE = 4.0
# Where one works on the pages: the folder whose files are tried in place of the server's, without building it.
WEB = os.environ.get("WEB")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self' ws: wss:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

expect.set_options(timeout=20_000)


class Server:
    """`fanfare serve` with the shipped configuration and the demo, on ports that stay the same over restarts."""

    def __init__(self, folder: pathlib.Path, settings: tuple[str, ...] = ()):
        self.folder = folder
        self.settings = settings
        self.ports = {"server.port": "0", "admin.port": "0"}
        self.process = None
        self.start()

    def start(self):
        data = self.folder / "data"
        if not data.exists():
            data.mkdir(mode=0o700)
            self.password = self.make_password()
        listening = data / "endpoints.json"
        listening.unlink(missing_ok=True)
        given = {"data.directory": str(data), "server.host": "127.0.0.1", "demo.enabled": "true", **QUICK, **self.ports}
        flags = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
        flags += [part for setting in self.settings for part in ("--set", setting)]
        command = [os.environ["FANFARE"], "serve", "--config", os.environ["CONFIGURATION"], *flags]
        self.log = (self.folder / "server.log").open("a")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while not listening.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the server did not start: {(self.folder / 'server.log').read_text()[-4000:]}")
            time.sleep(0.05)
        places = json.loads(listening.read_text())
        client, admin = (urllib.parse.urlparse(places[name]) for name in ("websocket", "admin"))
        self.ports = {"server.port": str(client.port), "admin.port": str(admin.port)}
        self.address = f"http://127.0.0.1:{client.port}"
        self.admin = f"http://127.0.0.1:{admin.port}"

    def begin_anew(self, *settings):
        """The same, with more settings and without data."""
        self.stop()
        self.folder = self.folder / "anew"
        self.folder.mkdir()
        self.settings = (*self.settings, *settings)
        self.start()

    def make_password(self):
        """Makes a password for the console. A server that runs takes it within a second, so it is made before."""
        command = [
            os.environ["FANFARE"], "console", "password", "--config", os.environ["CONFIGURATION"],
            "--set", f"data.directory={self.folder / 'data'}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    def kill(self):
        """Ends it without notice, as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


class Windows:
    """Windows of one browser; each is a person's device, with a session of its own."""

    def __init__(self, browser, server: Server, pictures: pathlib.Path):
        self.browser = browser
        self.server = server
        self.folder = pictures
        self.problems = []
        self.is_forgiving = False
        self.contexts = []

    def open(self, name=None, *, width=1280, height=800, dark=False, path="", touch=False, sockets=None,
             **options):
        """Opens the demo, and signs in where a name is given; `sockets` is asked to carry what its WebSockets say."""
        page = self.page(name or "nobody", width, height, dark, touch, options)
        if sockets:
            page.route_web_socket("**/*", sockets)
        page.goto(f"{self.server.address}/demo/{path}")
        if name:
            page.get_by_label("Your name", exact=True).fill(name)
            page.keyboard.press("Enter")
            expect(page.locator("#tabs")).to_be_visible()
        return page

    def console(self, *, width=1280, height=800, dark=False, path="", signs_in=True):
        """Opens the console."""
        page = self.page("the operator", width, height, dark, False, {})
        page.goto(f"{self.server.admin}/console/{path}")
        if signs_in:
            page.get_by_label("Password").fill(self.server.password)
            page.keyboard.press("Enter")
            expect(page.get_by_label("Password")).to_be_hidden()
        return page

    def page(self, name, width, height, dark, touch, options):
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="en-GB",
            reduced_motion="reduce", has_touch=touch, service_workers="block", **options)
        self.contexts.append(context)
        page = context.new_page()
        self.watch(page, name)
        if WEB:
            page.route("**/*", self.from_sources)
        return page

    def watch(self, page, name):
        def tell(text):
            if not self.is_forgiving:
                self.problems.append(f"{name}: {text}")

        def elsewhere(request):
            address = request.url
            if not address.startswith((self.server.address, self.server.admin, "data:", "blob:")):
                self.problems.append(f"{name}: asks {address}, which is elsewhere")

        def said(message):
            # Whoever opens the console is not signed in yet, and the browser says so of each answer of that kind.
            if message.type == "error" and not message.location["url"].endswith("/console/session"):
                tell(f"console: {message.text}")

        page.on("console", said)
        page.on("pageerror", lambda error: tell(f"error: {error} {error.stack}"))
        page.on("request", elsewhere)

    def from_sources(self, route):
        """Answers with a file of Sources/Web in place of the one that is built in."""
        path = urllib.parse.urlparse(route.request.url).path.lstrip("/")
        file = pathlib.Path(WEB) / (path + "index.html" if path.endswith("/") else path)
        if route.request.method != "GET" or not path or not file.is_file():
            return route.continue_()
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return route.fulfill(
            body=file.read_bytes(), headers={"content-type": kind, "content-security-policy": POLICY})

    @contextlib.contextmanager
    def forgiving(self):
        """While the server is away or a device offline, the browser itself says errors of the network."""
        self.is_forgiving = True
        try:
            yield
        finally:
            self.is_forgiving = False

    def picture(self, page, name, whole=False):
        """Keeps what the page looks like, for people to look at; `whole`: with what one would have to scroll to."""
        page.screenshot(path=self.folder / f"{name}.png", full_page=whole)

    def resembles(self, name):
        """The committed picture of that name shows what this one does, as far as other fonts and times let it."""
        committed = pathlib.Path(os.environ["COMMITTED"]) / f"{name}.png"
        if not committed.exists():
            self.problems.append(f"{committed.name} is not committed: run `make pictures`")
            return
        old, new = (Image.open(file).convert("L") for file in (committed, self.folder / f"{name}.png"))
        if old.size != new.size:
            self.problems.append(f"{committed.name} has another size than the page: run `make pictures`")
            return
        small = [picture.resize((70, 42), Image.Resampling.BOX) for picture in (old, new)]
        difference = ImageStat.Stat(ImageChops.difference(*small)).mean[0]
        if difference > MOST_DIFFERENCE:
            self.problems.append(
                f"{committed.name} is {difference:.1f} of 255 away from what the page is now: run `make pictures`")

    def accessible(self, page, name):
        """axe finds nothing grave."""
        found = Axe().run(page).response["violations"]
        for violation in found:
            if violation["impact"] in GRAVE:
                places = "; ".join(node["html"][:160] for node in violation["nodes"][:4])
                self.problems.append(f"{name}: axe: {violation['id']}, {violation['help']}: {places}")

    def fits(self, page, name):
        """Nothing makes the page wider than its window."""
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            self.problems.append(f"{name}: the page is {wide} pixels wider than its window")

    def look(self, page, name, whole=False):
        self.picture(page, name, whole)
        self.accessible(page, name)
        self.fits(page, name)

    def close(self):
        for context in self.contexts:
            context.close()
        self.contexts = []


def run(scenarios, settings=()):
    """Runs the scenarios one after the other, each with a server and windows of its own."""
    folder = pathlib.Path(os.environ["FOLDER"])
    pictures = pathlib.Path(os.environ["PICTURES"])
    pictures.mkdir(parents=True, exist_ok=True)
    wanted = os.environ.get("ONLY")
    failures = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"],
            args=[
                "--no-sandbox", "--disable-features=LocalNetworkAccessChecks", "--use-fake-device-for-media-stream",
                "--use-fake-ui-for-media-stream",
            ])
        try:
            for scenario in scenarios:
                if wanted and wanted not in scenario.__name__:
                    continue
                own = folder / scenario.__name__
                own.mkdir()
                server = Server(own, settings)
                windows = Windows(browser, server, pictures)
                try:
                    scenario(windows)
                    failures += [f"{scenario.__name__}: {problem}" for problem in windows.problems]
                    print(f"ok: {scenario.__name__}", flush=True)
                except Exception as error:  # Told with the picture of each window, and the next scenario goes on.
                    failures.append(f"{scenario.__name__}: {error}")
                    failures += [f"{scenario.__name__}: {problem}" for problem in windows.problems]
                    for number, context in enumerate(windows.contexts):
                        for page in context.pages:
                            with contextlib.suppress(Exception):
                                windows.picture(page, f"failed-{scenario.__name__}-{number}")
                    print(server.folder.joinpath("server.log").read_text()[-2000:])
                finally:
                    windows.close()
                    server.stop()
        finally:
            browser.close()
    for failure in failures:
        print(f"FAILED {failure}", flush=True)
    raise SystemExit(1 if failures else 0)
