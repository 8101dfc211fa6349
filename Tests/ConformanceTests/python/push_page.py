"""A page with a service worker, made of the JavaScript in docs/PUSH.md, in the browser of one person."""

import http.server
import pathlib
import re
import threading

from support import CheckFailed

# Firefox has no badges: what the worker would show is told to the page. And it takes away after a while what nobody has to
# answer, which a slow machine would take for withdrawn.
BEFORE_THE_WORKER = """
self.oninstall = () => self.skipWaiting();
self.onactivate = (event) => event.waitUntil(clients.claim());
const told = new BroadcastChannel("told");
navigator.setAppBadge = async (count) => told.postMessage(count);
const show = registration.showNotification.bind(registration);
registration.showNotification = (title, options) => show(title, {...options, requireInteraction: true});
self.addEventListener("push", (event) => told.postMessage("push"));
"""

PAGE = """<!doctype html><title>Chat</title><script>
  var badges = [];
  var pushes = 0;
  new BroadcastChannel("told").onmessage = (event) => {
    if (event.data === "push") pushes += 1; else badges.push(event.data);
  };
  async function subscribe() {
    await navigator.serviceWorker.register("/worker.js");
    const registration = await navigator.serviceWorker.ready;
    %s
    return device;
  }
  async function shown() {
    const registration = await navigator.serviceWorker.ready;
    return (await registration.getNotifications()).map(({title, body, tag, data}) => ({title, body, tag, data}));
  }
</script>"""


def documented(page, key):
    """The JavaScript that subscribes, and that of the service worker, as the page of the documentation has them."""
    blocks = re.findall(r"^```js\n(.*?)^```", pathlib.Path(page).read_text(encoding="utf-8"), re.S | re.M)
    (subscribing,) = [block for block in blocks if "pushManager.subscribe" in block]
    (worker,) = [block for block in blocks if 'addEventListener("push"' in block]
    placeholder = '"the line that fanfare push keys prints"'
    if subscribing.count(placeholder) != 1:
        raise CheckFailed(f"{page} has no place for the key any more")
    return subscribing.replace(placeholder, f'"{key}"'), worker


class Page:
    """The page's server, and what the page shows."""

    def __init__(self, firefox, documentation, key):
        self.firefox = firefox
        subscribing, worker = documented(documentation, key)
        texts = {
            "/": ("text/html; charset=utf-8", PAGE % subscribing),
            "/worker.js": ("text/javascript", BEFORE_THE_WORKER + worker),
        }

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kind, text = texts.get(self.path, ("text/plain", ""))
                self.send_response(200 if text else 404)
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server.server_address[1]}"

    async def __aenter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        await self.firefox.allow_notifications(self.origin)
        await self.firefox.open(self.origin + "/")
        return self

    async def __aexit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    async def subscribe(self):
        """The device, as the documentation has a page make it."""
        return await self.firefox.evaluate("return await subscribe();")

    async def shown(self):
        return await self.firefox.evaluate("return await shown();")

    async def badges(self):
        return await self.firefox.evaluate("return badges;")

    async def unsubscribe(self):
        await self.firefox.evaluate("""
          const registration = await navigator.serviceWorker.ready;
          await (await registration.pushManager.getSubscription()).unsubscribe();
        """)

    async def pushes(self):
        """How many messages the worker has seen."""
        return await self.firefox.evaluate("return pushes;")
