"""The life of State threads, on two phones each of two people, as docs/STATE.md promises it."""

import asyncio

from pictures import (
    Picture, break_off, get, http_request, offset_of, put, put_rest, put_until_taken, until_gone, upload,
)
from state_phone import Device, all_hear, all_see, phones
from support import OTHER_URL, CuttingProxy, expect, passed, refusal, refused_subscription, run, until

CAPTION = "at the sea, \u00e9 \U0001f30a"


async def uploads(user):
    """Two pictures over a bad network: one in parts, one whose connection is lost."""
    front, rear = Picture("image/jpeg", 150_000), Picture("image/heic", 200_001)
    expect(await offset_of(user, front), 0, "what is there of a picture that nobody began")
    expect(await put_rest(user, front, 0, 65_536), (202, "65536"), "a first part")
    expect(await offset_of(user, front), 65_536, "what is there after a part")
    expect(await put_rest(user, front, 131_072), (409, "65536"), "a part that does not continue what is there")
    expect(await put_rest(user, front, 65_536), (201, "150000"), "the rest")
    expect(await put(user, front), (201, "150000"), "a finished upload that is sent again")

    offset = await break_off(user, rear, 140_000)
    await put_until_taken(user, rear, offset)
    expect(await offset_of(user, rear), 200_001, "what is there of a finished picture")

    status, _, _ = await http_request(None, "PUT", f"/state/pictures?id={Picture().id}", front.bytes)
    expect(status, 401, "an upload without a token")
    status, _, _ = await http_request(user, "PUT", f"/state/pictures?id={Picture().id}", b"no picture at all")
    expect(status, 415, "an upload that is no picture")
    expect(await put("eve", front), (409, None), "somebody else's id")
    expect(await get(user, front), 404, "fetching one's own picture that was not sent")
    passed("uploads go on after parts and lost connections")
    return front, rear


async def seal(ada, bob, front, rear):
    """Ada sends, and bob hears that something came, and nothing of it."""
    message = {"to": "bob", "front": front.id, "rear": rear.id, "caption": CAPTION, "reply_limit": 120_000}
    expect(await refusal(ada[0].do("send", **message)), 433, "sending without a recorder")
    begun = await ada[0].do("begin", to="bob")
    expect(begun["limit"], 120_000, "the server's own limit")
    expect(begun["deadline"], begun["at"] + 120_000 + 60_000, "limit and grace")
    again = await ada[1].do("begin", to="bob")
    expect((again["at"], again["deadline"]), (begun["at"], begun["deadline"]), "beginning again gives no more time")
    eve = await Device.open("eve")
    await eve.do("begin", to="bob")
    expect(await refusal(eve.do("send", **message)), 435, "sending somebody else's pictures")
    sent = await ada[0].do("send", key="k1", **message)
    expect(sent["phase"], "sent", "phase after sending")
    expect(sent["until"] - sent["since"], 24 * 3_600_000, "24 hours")
    await all_see(ada, "bob", "sent")
    await all_see(bob, "ada", "received")
    for device in bob:
        await until(lambda: device.heard("ada") == ["received"], "the notification that something came")
        entry = {"with": "ada", "phase": "received", "colour": "#2F80ED", "since": sent["since"],
                 "until": sent["until"], "limit": 120_000}
        expect(device.threads.get("ada"), entry, "all that a sealed thread tells")
        entry = {"event": "received", "with": "ada", "since": sent["since"], "until": sent["until"], "limit": 120_000}
        expect(device.events.events.values, [entry], "all that the notification tells")
    for device in ada:
        entry = {"with": "bob", "phase": "sent", "colour": "#F5A623", "since": sent["since"], "until": sent["until"]}
        expect(device.threads.get("bob"), entry, "the sender's thread")
    for user in ("ada", "bob", "eve"):
        for picture in (front, rear):
            expect(await get(user, picture), 404, f"a sealed picture, for {user}")
    for channel in ("state.threads:ada", "state.events:ada"):
        expect(await refused_subscription(eve.client, channel), 103, f"eve opens {channel}")
    await eve.client.disconnect()
    passed("what is sealed is announced on both phones, with who, when and how long, and nothing of its content")

    expect(await ada[0].do("send", key="k1", **message), sent, "the same send again")
    expect(await ada[1].do("send", key="other", **message), sent, "the same send again, on another phone")
    others = [Picture("image/webp"), Picture("image/png")]
    await upload("ada", *others)
    second = {"to": "bob", "front": others[0].id, "rear": others[1].id}
    expect(await refusal(ada[0].do("send", key="k1", **second)), 400, "the same key with other pictures")
    expect(await refusal(ada[0].do("send", key="k2", **second)), 430, "a second send while sealed")
    expect(await refusal(ada[0].do("begin", to="bob")), 430, "recording while sealed")
    expect([device.heard("ada") for device in bob], [["received"]] * 2, "notifications after sending again")
    passed("the same send is answered as the first time, and another is refused")
    return message, sent, others


async def reveal(ada, bob, theirs):
    """Bob answers while his tablet is away."""
    phone, tablet = bob
    tablet.lose_network()
    mine = [Picture("image/png", 70_000), Picture("image/webp", 5_000)]
    begun = await phone.do("begin", to="ada")
    expect(begun["limit"], 120_000, "the limit that came along")
    await upload("bob", *mine)
    for device in ada + bob:
        expect(CAPTION in device.everything or theirs[0].id in device.everything, False, "content before the answer")
    answer = {"to": "ada", "front": mine[0].id, "rear": mine[1].id, "caption": "inland"}
    sent = await phone.do("send", **answer)
    expect(sent["phase"], "revealed", "phase after answering")
    await all_see(ada, "bob", "revealed")
    await all_see([phone], "ada", "revealed")
    expect(tablet.phase("ada"), "received", "what a phone knows that is away")
    await tablet.find_network()
    await all_see([tablet], "ada", "revealed")
    contents = {
        "ada": {"front": theirs[0].id, "rear": theirs[1].id, "caption": CAPTION},
        "bob": {"front": mine[0].id, "rear": mine[1].id, "caption": "inland"},
    }
    for device in ada + bob:
        other = "bob" if device.user == "ada" else "ada"
        entry = device.threads.get(other)
        expect((entry["mine"], entry["theirs"]), (contents[device.user], contents[other]), "what was revealed")
        expect((entry["unread"], entry["since"], entry["until"]), (True, sent["since"], sent["until"]), "an entry")
        await until(lambda: device.heard(other)[-1:] == ["revealed"], "the notification of the reveal")
    expect(ada[0].heard("bob"), ["sent", "revealed"], "ada's events")
    expect(bob[1].heard("ada"), ["received", "revealed"], "bob's events, on the phone that was away")
    for user in ("ada", "bob"):
        for picture in theirs + mine:
            expect(await get(user, picture) == (picture.bytes, picture.kind), True, f"a picture as {user} fetches it")
    for picture in theirs + mine:
        expect(await get("eve", picture), 404, "a revealed picture, for somebody else")
    status, _, _ = await http_request(None, "GET", f"/state/pictures/{mine[0].id}")
    expect(status, 401, "a revealed picture without a token")
    expect(await phone.do("send", **answer), sent, "the same answer again")
    passed("the answer reveals both on all four phones, and a phone that was away recovers it")
    return mine


async def look(ada, bob, theirs, mine, others):
    await ada[0].do("seen", **{"with": "bob"})
    for device in ada:
        await until(lambda: device.threads.get("bob").get("unread") is False, "looking on one phone is known to both")
    expect([device.threads.get("ada")["unread"] for device in bob], [True] * 2, "the other's own unread")
    passed("looking on one phone clears the unread mark on the other")

    # Two more pictures lie ready since the second send was refused.
    expect(await refusal(ada[0].do("begin", to="bob")), 431, "beginning anew before the other has looked")
    await bob[1].do("seen", **{"with": "ada"})
    await until(lambda: bob[0].threads.get("ada").get("unread") is False, "bob has looked")
    await ada[0].do("begin", to="bob")
    sent = await ada[0].do("send", to="bob", front=others[0].id, rear=others[1].id)
    expect(sent["phase"], "sent", "a new exchange")
    await all_see(bob, "ada", "received")
    for user in ("ada", "bob"):
        for picture in theirs + mine:
            await until_gone(user, picture)
    passed("a new send puts the last exchange away, with its pictures")


async def block(ada, bob):
    """Bob blocks ada, whose State waits for him."""
    before = dict(ada[0].threads.get("bob"))
    heard = [len(device.events.events.publications) for device in bob]
    await bob[0].do("block", user="ada")
    for device in bob:
        await until(lambda: device.threads.get("ada").get("blocked"), "the block, on both phones")
        expect(device.threads.get("ada")["phase"], "idle", "phase of whoever blocks")
    expect(await refusal(bob[0].do("begin", to="ada")), 432, "recording for somebody blocked")
    expect(await refusal(ada[0].do("begin", to="bob")), 430, "the blocked one's own is still sealed")
    # What carol sends comes after all of that.
    carol = await Device.open("carol")
    pictures = [Picture(), Picture()]
    await upload("carol", *pictures)
    await carol.do("begin", to="bob")
    await carol.do("send", to="bob", front=pictures[0].id, rear=pictures[1].id)
    await all_see(bob, "carol", "received")
    await all_hear(bob, "carol", "received")
    expect([ada[0].threads.get("bob"), ada[1].threads.get("bob")], [before] * 2, "the blocked one's thread")
    for device, count in zip(bob, heard):
        expect([event["with"] for event in device.events.events.values[count:]], ["carol"], "bob's events")
    await bob[1].do("unblock", user="ada")
    for device in bob:
        await until(lambda: "ada" not in device.threads, "nothing is open after unblocking")
    await carol.client.disconnect()
    passed("a block looks like silence to the other, and what came under it is gone")


async def both_at_once():
    """Two who send at the same moment: the second is the answer."""
    fay, gus = await phones("fay"), await phones("gus")
    pictures = {"fay": [Picture(), Picture()], "gus": [Picture(), Picture()]}
    for device, other in ((fay[0], "gus"), (gus[0], "fay")):
        await upload(device.user, *pictures[device.user])
        await device.do("begin", to=other)
    replies = await asyncio.gather(*(
        device.do("send", to=other, front=pictures[device.user][0].id, rear=pictures[device.user][1].id)
        for device, other in ((fay[0], "gus"), (gus[0], "fay"))))
    expect(sorted(reply["phase"] for reply in replies), ["revealed", "sent"], "what the two were answered")
    await all_see(fay, "gus", "revealed")
    await all_see(gus, "fay", "revealed")
    for user in ("fay", "gus"):
        for picture in pictures["fay"] + pictures["gus"]:
            expect((await get(user, picture))[0] == picture.bytes, True, f"a picture as {user} fetches it")
    for device in fay + gus:
        await device.client.disconnect()
    passed("of two who send at once, one is the answer")


async def exchange():
    async with CuttingProxy(OTHER_URL) as proxy:
        ada, bob = await phones("ada"), await phones("bob", proxy)
        theirs = list(await uploads("ada"))
        _, _, others = await seal(ada, bob, *theirs)
        mine = await reveal(ada, bob, theirs)
        await look(ada, bob, theirs, mine, others)
        await block(ada, bob)
        for device in ada + bob:
            expect(device.client.events.disconnected, [], f"connections of {device.user} that were ended for good")
            await device.client.disconnect()


async def main():
    await asyncio.gather(exchange(), both_at_once())


run(main)
