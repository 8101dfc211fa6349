"""State where times run out: limits of 10 s without a grace, seals of 40 s, reveals of 20 s."""

import asyncio
import time

from pictures import Picture, get, offset_of, upload
from state_phone import all_hear, all_see, phones
from support import OTHER_URL, CuttingProxy, expect, passed, refusal, run, until


async def pass_by(begun):
    """Waits until a recorder's deadline is over. The answer is older than now, so that this is later by the server."""
    end = time.monotonic() + (begun["deadline"] - begun["now"]) / 1000 + 0.01
    await until(lambda: time.monotonic() > end, "the deadline is over")


async def send(device, other, **more):
    pictures = [Picture("image/jpeg"), Picture("image/png", 1_000)]
    await upload(device.user, *pictures)
    await device.do("begin", to=other)
    sent = await device.do("send", to=other, front=pictures[0].id, rear=pictures[1].id, **more)
    return pictures, sent


async def expires(ada, bob):
    """Nobody answers in time: bob is too late, and then it is over."""
    phone, tablet = bob
    theirs, sent = await send(ada[0], "bob", caption="never seen", reply_limit=10_000)
    await all_hear(bob, "ada", "received")
    await all_see(bob, "ada", "received")
    tablet.lose_network()
    begun = await phone.do("begin", to="ada")
    expect((begun["limit"], begun["deadline"]), (10_000, begun["at"] + 10_000), "the limit that came along")
    mine = [Picture(), Picture()]
    await upload("bob", *mine)
    answer = {"to": "ada", "front": mine[0].id, "rear": mine[1].id}
    await pass_by(begun)
    expect(await refusal(phone.do("send", **answer)), 434, "an answer that comes too late")
    expect((phone.phase("ada"), ada[0].phase("bob")), ("received", "sent"), "the seal stays")
    expect(await get("bob", theirs[0]), 404, "a sealed picture after a late answer")
    passed("an answer after the deadline is refused, and the seal stays")

    await all_see(ada, "bob", "expired")
    await all_see([phone], "ada", "expired")
    expect(tablet.phase("ada"), "received", "what a phone knows that is away")
    await tablet.find_network()
    await all_see([tablet], "ada", "expired")
    for device in ada + bob:
        other = "bob" if device.user == "ada" else "ada"
        entry = device.threads.get(other)
        expect(set(entry), {"with", "phase", "colour", "since", "until"}, "what an expired thread tells")
        expect((entry["colour"], entry["since"]), ("#EB5757", sent["until"]), "an expired thread")
        expected = ["sent" if device.user == "ada" else "received", "expired"]
        await until(lambda: device.heard(other) == expected, f"the events {expected} of {device.user}")
        told = [text in device.everything for text in ["never seen"] + [picture.id for picture in theirs]]
        expect(told, [False] * 3, f"content that {device.user} was ever told")
    for user in ("ada", "bob"):
        for picture in theirs:
            expect(await get(user, picture), 404, f"an expired picture, for {user}")
    for picture in theirs:
        for _ in range(1_000):
            if not await offset_of("ada", picture):
                break
            await asyncio.sleep(0.02)
        expect(await offset_of("ada", picture), 0, "what the server has of an expired picture")
    passed("after the deadline it has expired on all four phones, one of which was away, and the pictures are gone")

    expect(await refusal(phone.do("send", **answer)), 434, "the late answer again")
    await ada[1].do("seen", **{"with": "bob"})
    for device in ada:
        await until(lambda: "bob" not in device.threads, "looking puts it away on both phones")
    expect([device.phase("ada") for device in bob], ["expired"] * 2, "and not for the other")
    await phone.do("begin", to="ada")
    expect((await phone.do("send", **answer))["phase"], "sent", "what came too late is the first of a new exchange")
    await all_hear(ada, "bob", "received")
    await all_hear(bob, "ada", "sent")
    passed("what was too late can be sent anew")


async def late(cy, di):
    expect(await cy[0].do("settings"), {"limit": 10_000}, "the server's limit")
    expect(await refusal(cy[0].do("settings", limit=4_999)), 107, "a limit that is too small")
    expect(await cy[0].do("settings", limit=12_000), {"limit": 12_000}, "one's own limit")
    expect(await cy[1].do("settings"), {"limit": 12_000}, "one's own limit, on the other phone")
    begun = await cy[0].do("begin", to="di")
    expect(begun["limit"], 12_000, "the limit of a first send is one's own")
    pictures = [Picture(), Picture()]
    await upload("cy", *pictures)
    message = {"to": "di", "front": pictures[0].id, "rear": pictures[1].id, "key": "k"}
    await pass_by(begun)
    expect(await refusal(cy[0].do("send", **message)), 434, "a send that comes too late")
    expect(await refusal(cy[1].do("send", **message)), 434, "a send that comes too late, tried again")
    expect((cy[0].phase("di"), di[0].phase("cy"), di[1].events.events.values), ("idle", "idle", []), "nothing was sent")
    again = await cy[1].do("begin", to="di")
    expect(again["at"] >= begun["deadline"], True, "after the deadline it begins anew")
    expect((await cy[1].do("send", **message))["phase"], "sent", "the same pictures in time")
    await all_hear(di, "cy", "received")
    passed("a send after the deadline is refused, and can be tried anew with the same pictures")


async def reveal_ends(eli, flo):
    theirs, _ = await send(eli[0], "flo")
    await all_hear(flo, "eli", "received")
    mine, sent = await send(flo[0], "eli", caption="short")
    expect((sent["phase"], sent["until"] - sent["since"]), ("revealed", 20_000), "a reveal of 20 s")
    for device, other in [(device, "flo") for device in eli] + [(device, "eli") for device in flo]:
        await all_hear([device], other, "revealed")
    await all_see(eli, "flo", "idle")
    await all_see(flo, "eli", "idle")
    for user in ("eli", "flo"):
        for picture in theirs + mine:
            expect(await get(user, picture), 404, f"a picture whose time is over, for {user}")
    passed("a reveal ends by itself, and the pictures with it")


async def main():
    async with CuttingProxy(OTHER_URL) as proxy:
        people = {user: await phones(user) for user in ("ada", "cy", "di", "eli", "flo")}
        people["bob"] = await phones("bob", proxy)
        await asyncio.gather(
            expires(people["ada"], people["bob"]), late(people["cy"], people["di"]),
            reveal_ends(people["eli"], people["flo"]))
        for device in sum(people.values(), []):
            expect(device.client.events.disconnected, [], f"connections of {device.user} that were ended for good")
            await device.client.disconnect()


run(main)
