"""The whole way to a real Firefox: a request in Clique that nobody acknowledges is shown, and withdrawn once it is read."""

import os

from firefox import DELIVERED, Firefox, PushService
from push_page import Page
from support import call, connect, expect, passed, run, until_so


async def main():
    async with PushService(os.environ["CERTIFICATE"], os.environ["CERTIFICATE_KEY"]) as service:
        async with Firefox(os.environ["FIREFOX"], os.environ["FOLDER"], service.url) as firefox:
            async with Page(firefox, os.environ["PUSH_PAGE"], os.environ["VAPID_PUBLIC_KEY"]) as page:
                await notified(service, page)
                expect(service.refused, [], "rules of Web Push that were broken")


async def notified(service, page):
    bob = await connect("bob")
    device = await page.subscribe()
    registered = await call(bob, "push.register", device=device, language="en")
    told = await call(bob, "push.devices")
    expect([one["device"] for one in told["devices"]], [registered["device"]], "bob's devices")
    passed("Firefox is registered as a device of bob's")

    # A socket that stays open and acknowledges nothing is no reason not to notify.
    ada = await connect("ada")
    secret = "What nobody may read on a locked phone"
    await call(ada, "clique.send", to="bob", text=secret, key="k1")

    async def shown():
        return await page.shown()

    (found,) = await until_so(shown, "the request is shown")
    expect(found["title"], "New message request", "what is shown of a request")
    expect(secret in str(found), False, "whether its text is shown")
    expect(set(service.acknowledged.values()), {DELIVERED}, "what Firefox says of it")
    passed("a request that nobody acknowledges is shown, without its text")

    conversation = found["data"]["conversation"]
    await call(bob, "clique.read", conversation=conversation, offset=1)

    async def nothing():
        return not await page.shown()

    await until_so(nothing, "what was read is withdrawn")
    passed("once it is read, it is withdrawn")


run(main)
