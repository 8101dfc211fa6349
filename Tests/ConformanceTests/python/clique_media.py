"""Pictures and messages that disappear in Clique, on two phones each of two people, as docs/CLIQUE.md promises them."""

import asyncio
import time

from clique_phone import Device, all_see, befriend, close, phones
from clique_pictures import Photo
from pictures import get, http_request, put, put_rest, until_gone, upload
from support import OTHER_URL, CuttingProxy, decode, expect, passed, refusal, run, until

HASH = "LEHV6nWB2yk8pyo0adR*.7kCMdnj"
MINUTE = 60_000


async def message_at(device, offset):
    """What the history has there; None where it was removed."""
    (found,) = [publication for publication in await device.history() if publication.offset == offset]
    return decode(found.data)


def publication_at(device, offset):
    found = [p for p in device.chat.events.publications if p.offset == offset]
    return decode(found[0].data) if found else {}


def is_told_of_removal(device, offset):
    return any(p.tags.get("deletes") == str(offset) for p in device.chat.events.publications)


async def fetched_by(devices, photo):
    return [photo.is_shown_by(await get(device.user, photo, device.url)) for device in devices]


async def refused_uploads():
    photo = Photo()
    status, _, _ = await http_request(None, "PUT", photo.upload_path, photo.bytes)
    expect(status, 401, "an upload without a token")
    status, _, _ = await http_request("ada", "PUT", Photo().upload_path, b"no picture at all")
    expect(status, 415, "an upload that is no picture")
    damaged = Photo()
    expect((await put("ada", damaged, damaged.bytes[:2_000]))[0], 422, "an upload that is damaged")
    passed("what is no picture, or comes without a token, is refused with its status")


async def pictures():
    """Ada and bob talk, and eve, who talks with ada too, sees no picture of theirs."""
    ada, bob = await phones("ada"), await phones("bob")
    eve = [await Device.open("eve")]
    await befriend(ada, eve)
    conversation = await befriend(ada, bob)
    await refused_uploads()
    photos = [Photo(), Photo((320, 200), "image/png", seed=2), Photo((400, 304), "image/webp", orientation=3, seed=3)]
    for photo in photos:
        expect(photo.tells, True, f"that a {photo.kind} tells of its place as it was taken")
    # In parts, as over a bad network, the others at once.
    total = str(len(photos[0].bytes))
    expect(await put_rest("ada", photos[0], 0, 65_536), (202, "65536"), "a first part")
    expect(await put_rest("ada", photos[0], 65_536), (201, total), "the rest")
    await upload("ada", *photos[1:])
    expect(await fetched_by(bob, photos[0]), [False] * 2, "bob fetches what was not sent")
    offsets = []
    for photo in photos:
        picture = {"id": photo.id, "hash": HASH}
        sent = await ada[0].say("", picture=picture, key=photo.id)
        offsets.append(sent["offset"])
        await ada[1].say("", picture=picture, key=photo.id)
    again = ada[0].say("again", picture={"id": photos[0].id}, key="k")
    expect(await refusal(again), 435, "a picture that is sent twice")
    await all_see(ada + bob, lambda device: len(device.texts) >= 3, "three messages")
    for device in ada + bob:
        expect(device.texts, [""] * 3, "each of them once")
        expect(await fetched_by([device] * 3, photos[0]), [True] * 3, "fetching it as often as one likes")
        for photo, offset in zip(photos, offsets):
            shown = dict(publication_at(device, offset)["picture"])
            size = shown.pop("bytes")
            expect(shown, {"id": photo.id, "type": photo.kind, "width": photo.size[0], "height": photo.size[1],
                           "hash": HASH}, f"what a message says of a {photo.kind}")
            answer = await get(device.user, photo, device.url)
            expect(photo.is_shown_by(answer), True, f"a {photo.kind}'s pixels, and nothing else, for {device.user}")
            expect(len(answer[0]), size, "the bytes that the message says")
    await all_see(bob, lambda device: device.entry.get("picture") is True, "that the last message has a picture")
    expect([await get("eve", photo) for photo in photos], [404] * 3, "pictures that somebody else fetches")
    passed("both phones of both fetch the same pixels, and nothing of place, device and comments")

    await removed(ada, bob, photos, offsets)
    await blocked(ada, bob)
    await close(*ada, *bob, *eve)


async def removed(ada, bob, photos, offsets):
    expect(await refusal(bob[0].remove(offsets[0])), 103, "removing somebody else's picture")
    await ada[1].remove(offsets[0])
    await all_see(ada + bob, lambda device: is_told_of_removal(device, offsets[0]), "the removal")
    for device in ada + bob:
        expect(await get(device.user, photos[0], device.url), 404, f"a removed picture, for {device.user}")
        expect(await message_at(device, offsets[0]), None, f"a removed message in the history of {device.user}")
    expect(await fetched_by(ada + bob, photos[1]), [True] * 4, "the other pictures")
    passed("a removed message takes its picture away from everybody")


async def blocked(ada, bob):
    """Bob blocks ada: what she sends then is hers alone, and she fetches what he sent before."""
    before, after = Photo(seed=4), Photo(seed=5)
    await upload("bob", before)
    await bob[1].say("look", picture={"id": before.id})
    await all_see(ada, lambda device: "look" in device.texts, "bob's picture")
    await bob[0].do("block", person="ada")
    await upload("ada", after)
    await ada[0].say("and this", picture={"id": after.id})
    expect(await fetched_by(ada, before), [True] * 2, "the blocked one fetches a picture from before")
    expect(await fetched_by(ada, after), [True] * 2, "the blocked one's own")
    await bob[0].do("unblock", person="ada")
    await all_see(bob, lambda device: device.entry["state"] == "active", "the conversation stands again")
    expect(await fetched_by(bob, before), [True] * 2, "who has blocked fetches their own")
    expect([await get("bob", after, device.url) for device in bob], [404] * 2, "a picture sent under the block")
    passed("a picture that was sent under a block is its author's alone, after the block too")


async def all_list(devices, **expected):
    for name, value in expected.items():
        await all_see(devices, lambda device: device.entry.get(name) == value, f"{name} {value!r} in the list")


async def agree(cy, di):
    """Nothing holds until both have said the same."""
    await cy[0].do("disappear", conversation=cy[0].conversation, after=MINUTE)
    await all_list(cy + di, disappear_asked={"after": MINUTE, "by": "cy"}, disappear=None)
    await di[0].do("disappear", conversation=di[0].conversation, after=0)
    await all_list(cy + di, disappear_asked=None, disappear=None)
    for after in (MINUTE - 1, 31 * 24 * 60 * MINUTE):
        expect(await refusal(cy[0].do("disappear", conversation=cy[0].conversation, after=after)), 107, "a wrong time")
    stays = await cy[0].say("said before")
    expect("expires" in await message_at(cy[0], stays["offset"]), False, "whether a message goes before both agree")
    await di[1].do("disappear", conversation=di[0].conversation, after=60 * MINUTE)
    await all_list(cy + di, disappear_asked={"after": 60 * MINUTE, "by": "di"})
    await cy[1].do("disappear", conversation=cy[0].conversation, after=MINUTE)
    await all_list(cy + di, disappear_asked={"after": MINUTE, "by": "cy"}, disappear=None)
    await di[0].do("disappear", person="cy", after=MINUTE)
    await all_list(cy + di, disappear=MINUTE, disappear_asked=None)
    event = {"event": "disappear", "user": "di", "after": MINUTE}
    await all_see(cy + di, lambda device: event in device.chat.events.values, "the event of the agreement")
    passed("messages disappear from when both have said the same time, and not by one alone")


def screen(device):
    """The texts that a phone shows. By its own clock it hides what is over, whether or not the server has said so."""
    now = time.time() * 1000
    shown = {}
    for publication in device.chat.events.publications:
        data, tags = decode(publication.data), publication.tags
        if "deletes" in tags:
            shown.pop(int(tags["deletes"]), None)
        elif "edits" in tags:
            if int(tags["edits"]) in shown:
                shown[int(tags["edits"])] |= data
        elif data and "text" in data:
            shown[publication.offset] = dict(data)
    return [one["text"] for _, one in sorted(shown.items()) if one.get("expires", now + 1) > now]


async def vanish():
    async with CuttingProxy(OTHER_URL) as proxy:
        cy, di = await phones("cy"), await phones("di", proxy)
        await befriend(cy, di)
        await agree(cy, di)
        photo = Photo(seed=6)
        await upload("cy", photo)
        sent = await cy[0].say("a whisper in the meadow")
        reply = await di[0].say("a shout in the meadow", reply=sent["offset"])
        with_picture = await cy[1].say("", picture={"id": photo.id})
        offsets = [message["offset"] for message in (sent, reply, with_picture)]
        texts = ["said before", "a whisper in the meadow", "a shout in the meadow", ""]
        await all_see(cy + di, lambda device: screen(device) == texts, f"the messages {texts}")
        expires = [publication_at(cy[0], offset)["expires"] for offset in offsets]
        for device in cy + di:
            expect(await fetched_by([device], photo), [True], "the picture, as long as its message is there")
            expect([publication_at(device, offset)["expires"] for offset in offsets], expires, "when they are over")
            await until(lambda: device.entry.get("expires") == expires[2], "when the list's last message goes")
            expect("meadow" in str(device.list.entries), False, "the text of what disappears in the list")
            expect((await device.do("search", text="meadow"))["messages"], [], "what search finds of it")
        passed("messages that disappear say when, and stand in no list and no search")
        await gone(cy, di, photo, offsets, expires)
        await close(*cy, *di)


async def gone(cy, di, photo, offsets, expires):
    """One phone of di is away when the time comes: it hides them by itself, and hears of it when it is back."""
    away = di[1]
    opened = len(away.chat.events.subscribed)
    away.proxy.is_shut = True
    away.proxy.cut()
    here = cy + di[:1]
    for offset in offsets:
        for device in here:
            await until(lambda: is_told_of_removal(device, offset), f"that {offset} is gone for {device.user}", 150)
    expect(time.time() * 1000 >= expires[0], True, "that nothing was taken away before its time")
    expect([screen(device) for device in here + [away]], [["said before"]] * 4, "what phones show, one without network")
    for device in here:
        expect(await get(device.user, photo, device.url), 404, f"the picture of what is gone, for {device.user}")
        texts = str([(decode(p.data), p.tags) for p in await device.history()])
        for text in ("meadow", photo.id):
            expect(text in texts, False, f"\"{text}\" in the history of {device.user}")
        await until(lambda: device.entry.get("last") == "said before", "the list's last message is what is left")
        expect("expires" in device.entry, False, "whether that goes")
    await until_gone("cy", photo)
    expect(is_told_of_removal(away, offsets[0]), False, "what a phone knows that is away")
    away.proxy.is_shut = False
    await until(lambda: len(away.chat.events.subscribed) > opened, "the phone is back")
    await until(lambda: all(is_told_of_removal(away, offset) for offset in offsets), "that it hears of what is gone")
    expect(await get("di", photo, away.url), 404, "the picture, for the phone that was away")
    passed("at their time they are gone from both phones of both, from the history, and the picture with them")

    await cy[0].do("disappear", conversation=cy[0].conversation, after=0)
    await di[0].do("disappear", conversation=cy[0].conversation, after=0)
    await all_list(cy + di, disappear=None, disappear_asked=None)
    stays = await di[0].say("this stays")
    expect("expires" in await message_at(di[0], stays["offset"]), False, "whether what is said then goes")
    await all_see(cy + di, lambda device: screen(device) == ["said before", "this stays"], "what stays")
    passed("both agree to end it, and what is said then stays")


async def main():
    await asyncio.gather(pictures(), vanish())


run(main)
