"""`push_send` to a real Firefox: what arrives in the service worker of docs/PUSH.md, what does not, and what it shows."""

import asyncio
import json
import os
import urllib.request

from firefox import DELIVERED, NOT_DECRYPTED, Firefox, PushService
from push_page import Page
from support import CheckFailed, expect, passed, run, until, until_so

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def push_send(device, fields):
    body = json.dumps({"devices": [device], "title": "Ada"} | fields).encode()
    request = urllib.request.Request(
        os.environ["ADMIN_URL"] + "/api/push_send", body, {"X-API-Key": os.environ["API_KEY"]})
    answer = json.load(OPENER.open(request, timeout=60))
    if "error" in answer:
        raise CheckFailed(f"push_send is answered with {answer['error']}")
    return answer["result"]["devices"][0]


async def send(device, expected="taken", **fields):
    told = await asyncio.to_thread(push_send, device, fields)
    expect(told["outcome"], expected, f"what the push service makes of it: {told}")


async def shown(page, condition, what):
    """What the page shows once that is so."""
    async def look():
        now = await page.shown()
        return [now] if condition(now) else None

    return (await until_so(look, what))[0]


async def notification(service, page, device):
    await send(
        device, body="Hello — grüße, 漢字", data={"channel": "chat:7"}, badge=3, collapse_key="chat:7", ttl=60)
    (first,) = await shown(page, lambda now: len(now) == 1, "the first notification is shown")
    expect((first["title"], first["body"]), ("Ada", "Hello — grüße, 漢字"), "the text of the notification")
    expect(first["data"]["channel"], "chat:7", "its data")
    expect(len(first["tag"]) == 32 and "chat:7" not in first["tag"], True, f"its tag, {first['tag']}, says nothing")
    expect(await page.badges(), [3], "the badge")
    expect(set(service.acknowledged.values()), {DELIVERED}, "what Firefox says of it")
    passed("a notification is shown with title, body, data, tag and badge")

    await send(device, body="Again", badge=4, collapse_key="chat:7")
    (second,) = await shown(
        page, lambda now: [one["body"] for one in now] == ["Again"], "a newer one with the key replaces it")
    expect(second["tag"], first["tag"], "the tag of both")
    await send(device, title="Grace", body="Other", collapse_key="chat:8")
    await shown(page, lambda now: len(now) == 2, "one with another key stands beside it")
    passed("of notifications with one key the newest is shown")


async def withdrawal(page, device):
    await send(device, withdraw=True, badge=1, collapse_key="chat:7")
    (left,) = await shown(page, lambda now: len(now) == 1, "the withdrawal closes what was shown")
    expect(left["title"], "Grace", "the one that stays")
    expect((await page.badges())[-1], 1, "the badge after it")
    passed("a withdrawal closes what was shown under its key, and nothing else")


async def replaced_while_away(service, page, device):
    service.holds, before = True, await page.pushes()
    await send(device, body="Nobody will see this", collapse_key="chat:9")
    await send(device, withdraw=True, collapse_key="chat:9")
    expect(len(service.waiting), 1, "what waits at the push service")
    service.holds = False
    await service.release()
    await until_so(lambda: reached(page, before + 1), "the withdrawal arrives")
    expect([one["title"] for one in await page.shown()], ["Grace"], "what is shown")
    passed("for a browser that is away, the withdrawal takes the place of what it withdraws")


async def reached(page, count):
    return await page.pushes() >= count


async def sizes(service, page, device):
    await send(device, body="x" * 5000, collapse_key="long")
    found = await shown(page, lambda now: len(now) == 2, "the largest notification is shown")
    (long,) = [one for one in found if one["title"] == "Ada"]
    expect(service.requests[-1]["size"], 4096, "the size of the largest body")
    expect(long["body"].endswith("x…") and len(long["body"]) > 3000, True, "its text, which ends with an ellipsis")
    await send(device, withdraw=True, collapse_key="long")
    await shown(page, lambda now: len(now) == 1, "it is withdrawn")
    passed("the largest payload, of 3,993 bytes, arrives")


async def another_secret(service, page, device):
    count, before = len(service.acknowledged), await page.pushes()
    other = device | {"keys": device["keys"] | {"auth": "AAAAAAAAAAAAAAAAAAAAAA"}}
    await send(other, body="Unreadable", collapse_key="unreadable")
    await until(lambda: len(service.acknowledged) > count, "Firefox says of it what it is")
    expect(list(service.acknowledged.values())[-1], NOT_DECRYPTED, "what Firefox says of it")
    # The next one would be seen after it.
    await send(device, body="Readable", collapse_key="readable")
    found = await shown(page, lambda now: any(one["body"] == "Readable" for one in now), "the next one is shown")
    expect(sorted(one["body"] for one in found), ["Other", "Readable"], "what is shown")
    expect(await page.pushes(), before + 1, "how many the service worker has seen")
    passed("with another auth secret nothing is shown")


async def gone(service, page, device):
    await page.unsubscribe()
    await until(lambda: not service.endpoints, "Firefox ends its subscription")
    await send(device, "forget", body="Nobody is there")
    passed("a subscription that the page ended is answered with forget")


async def main():
    async with PushService(os.environ["CERTIFICATE"], os.environ["CERTIFICATE_KEY"]) as service:
        async with Firefox(os.environ["FIREFOX"], os.environ["FOLDER"], service.url) as firefox:
            async with Page(firefox, os.environ["PUSH_PAGE"], os.environ["VAPID_PUBLIC_KEY"]) as page:
                device = await page.subscribe()
                expect((device["kind"], list(device["keys"])), ("web", ["auth", "p256dh"]), "the device")
                passed("Firefox subscribes")
                await notification(service, page, device)
                await withdrawal(page, device)
                await replaced_while_away(service, page, device)
                await sizes(service, page, device)
                await another_secret(service, page, device)
                await gone(service, page, device)
                expect(service.refused, [], "rules of Web Push that were broken")


run(main)
