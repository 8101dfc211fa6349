"""The life of Clique conversations, on two phones each of two people, as docs/CLIQUE.md promises it."""

import asyncio

from clique_phone import Device, all_see, phones, told_since
from support import OTHER_URL, CuttingProxy, call, decode, expect, passed, refusal, refused_subscription, run, until


async def request(ada, bob):
    """Messages to somebody with whom nothing stands wait, and nothing else passes between the two."""
    sent = await ada[0].do("send", to="bob", text="hello bob", key="first")
    conversation = sent["conversation"]
    expect(sent, {"conversation": conversation, "waiting": 1}, "answer to a first message")
    for device in ada + bob:
        device.conversation = conversation
    await all_see(bob, lambda device: device.entry, "the request")
    for device in bob:
        entry = device.entry
        shown = {name: entry[name] for name in ("state", "with", "from", "last", "unread")}
        expected = {"state": "request_in", "with": "ada", "from": "ada", "last": "hello bob", "unread": 1}
        expect(shown, expected, "a request's entry")
        expect([message["text"] for message in entry["messages"]], ["hello bob"], "messages of a request")
        expect("key" in entry["messages"][0], False, "the sender's key in the recipient's request")
    await all_see(ada, lambda device: device.entry.get("state") == "request_out", "the sender's entry")
    passed("a request is on both phones of both, with its sender and text")

    expect((await ada[0].do("send", to="bob", text="hello bob", key="first"))["waiting"], 1, "a message sent again")
    expect(await refusal(ada[0].do("send", to="bob", text="x" * 1001)), 106, "answer to 1,001 characters")
    await ada[1].do("send", to="bob", text="\U0001f600" * 1000)
    await ada[1].do("send", to="bob", text="are you there?")
    expect(await refusal(ada[0].do("send", to="bob", text="hello??")), 106, "answer to a fourth message")
    await all_see(bob, lambda device: device.entry.get("unread") == 3, "three messages of a request")
    texts = [message["text"] for message in bob[1].entry["messages"]]
    expect(texts, ["hello bob", "\U0001f600" * 1000, "are you there?"], "messages of a request, in order")
    passed("three messages of 1,000 characters wait, and no more")

    for device in (ada[0], bob[0]):
        for kind in ("chat", "receipts", "typing"):
            channel = f"clique.{kind}:{conversation}"
            expect(await refused_subscription(device.client, channel), 103, f"{device.user} opens {kind} early")
        presence = device.client.presence(f"clique.chat:{conversation}")
        expect(await refusal(presence), 103, f"{device.user} asks who is there")
        expect(await refusal(device.history()), 103, f"{device.user} asks for the history")
        for method, more in (("typing", {}), ("read", {"offset": 1}), ("delivered", {"offset": 1})):
            code = await refusal(device.do(method, conversation=conversation, **more))
            # Who is asked may say that the request has arrived, so that no other device is notified of it.
            expected = None if device is bob[0] and method != "typing" else 103
            expect(code, expected, f"{device.user} says {method} before the conversation is open")
    expect(await refusal(ada[0].do("accept", person="bob")), 108, "the sender accepts")
    # Looking at a request is nobody's business: the sender's entry is as it was.
    expect(set(ada[1].entry), {"conversation", "with", "state", "last", "from", "time", "unread", "messages"},
           "what the sender's entry tells")
    passed("before it is accepted neither gets chat, presence, receipts or typing of the other")
    return conversation


async def accept(ada, bob, conversation):
    """On one phone, for all four."""
    await bob[0].do("accept", person="ada")
    await all_see(ada + bob, lambda device: device.entry.get("state") == "active", "the conversation is open")
    for device in ada + bob:
        expect("messages" in device.entry, False, f"waiting messages in an entry of {device.user}")
    expect([device.entry["unread"] for device in bob], [0, 0], "unread after accepting")
    for device in ada + bob:
        await device.enter(conversation)
        texts = await device.history_texts()
        expect(texts, ["hello bob", "\U0001f600" * 1000, "are you there?"], f"what waited, for {device.user}")
    history = await bob[1].history()
    expect([publication.info.user for publication in history], ["ada"] * 3, "author of what waited")
    expect([publication.offset for publication in history], [1, 2, 3], "offsets of what waited")
    expect([decode(publication.data)["from"] for publication in history], ["ada"] * 3, "sender of what waited")
    expect(await bob[1].do("accept", person="ada"), {"conversation": conversation}, "accepting twice")
    passed("accepting on one phone clears the request on the other, and its messages are the first")


async def talk(ada, bob):
    await ada[0].say("one")
    await bob[1].say("two")
    sent = await ada[1].say("three", key="third")
    expect(sent["offset"], 6, "offset of the sixth message")
    expect(await refusal(ada[1].say("three", key="third")), None, "a message sent again")
    await bob[0].say("four \u00e9\u2028\"")
    everybody = ada + bob
    await all_see(everybody, lambda device: len(device.texts) >= 4, "four messages")
    for device in everybody:
        expect(device.texts, ["one", "two", "three", "four \u00e9\u2028\""], f"messages of {device.user}, in order")
        authors = [publication.info.user for publication in device.chat.events.publications]
        expect(authors, ["ada", "bob", "ada", "bob"], "authors")
    expect({info.user for info in (await ada[0].chat.presence()).clients.values()}, {"ada", "bob"}, "who is there")
    passed("messages arrive on all four phones once, in one order")

    await all_see(ada, lambda device: device.entry["unread"] == 1, "one unread message of ada")
    await all_see(bob, lambda device: device.entry["unread"] == 0, "who answers has read")
    await ada[0].do("delivered", conversation=ada[0].conversation, offset=7)
    await all_see(bob, lambda device: device.receipts.get("ada").get("delivered") == 7, "that it was delivered")
    expect(bob[0].receipts.get("ada").get("read", 0) < 7, True, "delivered is not read")
    await ada[0].do("read", conversation=ada[0].conversation, offset=7)
    await all_see(bob, lambda device: device.receipts.get("ada") == {"read": 7, "delivered": 7}, "that it was read")
    await all_see(ada, lambda device: device.entry["unread"] == 0, "reading on one phone clears the count on both")
    await ada[1].do("read", conversation=ada[0].conversation, offset=5)
    expect(await refusal(ada[1].do("read", conversation=ada[0].conversation, offset=99)), 107, "reading ahead")
    await bob[0].do("read", conversation=ada[0].conversation, offset=7)
    await all_see(ada, lambda device: device.receipts.get("bob").get("read") == 7, "that bob has read")
    expect(ada[0].receipts.get("ada"), {"read": 7, "delivered": 7}, "a receipt never goes back")
    passed("receipts and unread counts follow on all phones, and never go back")

    await bob[0].do("typing", conversation=bob[0].conversation)
    # What was told stays told, however soon it is over.
    await all_see(ada + bob[1:], lambda device: device.has_seen_typing("bob"), "that bob types")
    await all_see(ada + bob, lambda device: "bob" not in device.typing, "that bob no longer types, by itself")
    passed("typing is seen, and gone by itself")


async def change(ada, bob):
    """Editing and deleting one's own."""
    chat = ada[0].chat.channel
    first = (await ada[0].say("tpyo"))["offset"]
    second = (await ada[0].say("a secret"))["offset"]
    await all_see(bob, lambda device: device.entry["unread"] == 2, "two unread messages")
    await call(ada[1].client, "publication.edit", channel=chat, offset=first, data={"text": "typo"})
    await call(ada[1].client, "publication.delete", channel=chat, offset=second)
    for device in ada + bob:
        events = device.chat.events
        edits = await until(
            lambda: [p for p in events.publications if p.tags.get("edits") == str(first)], "the notice of an edit")
        expect(decode(edits[0].data), {"text": "typo"}, f"what {device.user} hears of an edit")
        await until(
            lambda: [p for p in events.publications if p.tags.get("deletes") == str(second)], "a notice of deletion")
        history = {publication.offset: publication for publication in await device.history()}
        expect(decode(history[first].data), {"text": "typo"}, f"the edited message in the history of {device.user}")
        expect("edited" in history[first].tags, True, "the edited message says so")
        expect(decode(history[second].data), None, f"the deleted message in the history of {device.user}")
        expect("deleted" in history[second].tags, True, "the deleted message says so")
    for method, more in (("edit", {"data": {"text": "forged"}}), ("delete", {})):
        code = await refusal(call(bob[0].client, f"publication.{method}", channel=chat, offset=first, **more))
        expect(code, 103, f"answer to a {method} of somebody else's message")
    for wrong, code in (({"text": "x" * 4001}, 106), ({"event": "left", "user": "bob"}, 107)):
        edit = call(ada[0].client, "publication.edit", channel=chat, offset=first, data=wrong)
        expect(await refusal(edit), code, "answer to a change into what could not be said")
    await ada[0].say("after that")
    await all_see(bob, lambda device: device.entry["last"] == "after that", "the last message")
    expect([device.entry["unread"] for device in bob], [2, 2], "unread: a change is no message, and what is gone none")
    passed("the author edits and deletes, all phones see it, and counts stay right")

    last = (await ada[0].say("never mind"))["offset"]
    await call(ada[1].client, "publication.delete", channel=chat, offset=last)
    await bob[0].do("read", conversation=bob[0].conversation, offset=last)
    await all_see(bob, lambda device: device.entry["unread"] == 0, "nothing is unread")
    expect(bob[1].entry["last"], "after that", "the last message after the newest was deleted")
    await all_see(bob, lambda device: any(
        p.tags.get("deletes") == str(last) for p in device.chat.events.publications), "the deletion")
    passed("a deleted message is nobody's last")


async def away(ada, bob):
    """The tablet of bob loses its network, and comes back."""
    tablet, phone = bob[1], bob[0]
    before = len(tablet.texts)
    opened = {name: len(getattr(tablet, name).events.subscribed) for name in ("chat", "list")}
    tablet.proxy.is_shut = True
    tablet.proxy.cut()
    for number in range(1, 6):
        await ada[0].say(f"while away {number}")
    await phone.do("read", conversation=phone.conversation, offset=(await phone.history())[-1].offset)
    await until(lambda: phone.entry["unread"] == 0 and phone.entry["last"] == "while away 5", "the phone has read all")
    expect(len(tablet.texts), before, "messages on a tablet that is away")
    tablet.proxy.is_shut = False
    for name in ("chat", "list"):
        events = getattr(tablet, name).events
        await until(lambda: len(events.subscribed) > opened[name], f"the tablet's {name} comes back")
        back = events.subscribed[-1]
        expect((back.was_recovering, back.recovered), (True, True), f"recovery of the tablet's {name}")
    await until(lambda: len(tablet.texts) >= before + 5, "what was sent meanwhile")
    expect(tablet.texts[before:], [f"while away {number}" for number in range(1, 6)], "in order, and once")
    await until(lambda: tablet.entry == phone.entry, "the tablet's list is the phone's")
    await ada[1].say("welcome back")
    await until(lambda: tablet.texts[-1] == "welcome back", "a live message after coming back")
    offsets = [publication.offset for publication in tablet.chat.events.publications]
    expect(offsets, list(range(offsets[0], offsets[0] + len(offsets))), "offsets without a gap or a repetition")
    passed("a phone that was away recovers messages and list")


async def crossings(ada, bob, carol):
    expect(await ada[0].do("enter", place="park"), {"visible": True}, "entering a place")
    await bob[0].do("enter", place="park")
    await all_see(ada, lambda device: device.crossings.get("bob").get("together"), "ada crosses bob")
    await all_see(bob, lambda device: device.crossings.get("ada").get("together"), "bob crosses ada")
    expect(bob[1].crossings.get("ada")["latest"][0]["place"], "park", "where they crossed")
    expect(carol.crossings.entries, {}, "crossings of somebody who is elsewhere")
    await carol.do("enter", place="station")
    await ada[1].do("leave", place="park")
    await all_see(ada + bob, lambda device: not device.crossings.get(
        "bob" if device.user == "ada" else "ada")["together"], "they have parted")
    entry = ada[0].crossings.get("bob")
    expect((entry["user"], entry["total"] >= 0, len(entry["latest"])), ("bob", True, 1), "a crossing that has ended")
    await carol.do("enter", place="park")
    await all_see(bob + [carol], lambda device: device.crossings.get(
        "carol" if device.user == "bob" else "bob").get("together"), "bob and carol cross")
    order = [person["user"] for person in (await bob[0].do("crossings", order="recent"))["people"]]
    expect(order, ["carol", "ada"], "bob's crossings, seen last first")
    expect(await bob[1].crossings.ordered(), ["carol", "ada"], "the order of the channel")
    await all_see(ada + bob, lambda device: device.entry.get("crossing", {}).get("place") == "park",
                  "the conversation's last crossing")
    passed("who enters the same place crosses, on all phones; who leaves parts")

    expect(await bob[0].do("invisible", on=True), {"visible": False}, "switching invisible")
    await all_see(ada, lambda device: "bob" not in device.crossings, "the invisible disappears")
    await all_see(bob, lambda device: not device.crossings.entries, "the invisible sees nobody")
    expect(await bob[0].do("enter", place="park"), {"visible": False}, "the invisible enters")
    await ada[0].do("enter", place="park")
    await all_see(ada, lambda device: device.crossings.get("carol").get("together"), "ada crosses carol")
    expect("bob" in ada[0].crossings, False, "the invisible is crossed")
    await bob[1].do("invisible", on=False)
    await all_see(ada, lambda device: "bob" in device.crossings, "visible again")
    await all_see(bob, lambda device: "ada" in device.crossings, "seeing again")
    await bob[0].do("enter", place="park")
    await all_see(ada, lambda device: device.crossings.get("bob").get("together"), "they cross again")
    passed("the invisible neither appear nor see")


async def found(device, **query):
    messages = (await device.do("search", **query))["messages"]
    return [(message["user"], message["data"]["text"]) for message in messages]


async def search(ada, bob):
    await bob[0].say("meet at the caf\u00e9 by the river")
    await ada[0].say("the river is lovely")
    for device in ada + bob:
        both = [("ada", "the river is lovely"), ("bob", "meet at the caf\u00e9 by the river")]
        expect(await found(device, text="river"), both, "messages with a word, newest first")
        expect(await found(device, text="CAFE riv"), both[1:], "messages with two words")
        expect(await found(device, text="river", person="ada"), both[:1], "messages of one person")
        expect(await found(device, text="secret"), [], "messages that were deleted")
        expect(await found(device, text="typo"), [("ada", "typo")], "messages that were edited")
    await bob[0].do("block", person="ada")
    expect(await found(bob[0], text="river"), [], "what whoever blocks finds of the two")
    expect(await found(ada[0], text="river"), both, "what the blocked one finds of the two")
    await bob[0].do("unblock", person="ada")
    await all_see(bob, lambda device: device.entry["state"] == "active", "the conversation stands again")
    passed("search finds words in one's own conversations, by whom they are, as they stand now")


async def block(ada, bob, carol):
    """Bob blocks ada: for her it looks like silence."""
    conversation = ada[0].conversation
    before = dict(ada[0].entry)
    crossed = dict(ada[0].crossings.get("bob"))["latest"]
    old = (await ada[0].say("said before the block"))["offset"]
    await all_see(bob, lambda device: device.texts[-1:] == ["said before the block"], "a message before the block")
    await bob[0].do("block", person="ada")
    await all_see(bob, lambda device: device.entry["state"] == "blocked", "the entry of whoever blocks")
    await all_see(bob, lambda device: "ada" in device.blocked, "the list of blocked people")
    # To be thrown out of the chat at this moment would tell ada, who sees who is there.
    for device in bob:
        expect(device.chat.events.unsubscribed, [], "the chat of whoever blocks, at that moment")
    expect({info.user for info in (await ada[0].chat.presence()).clients.values()}, {"ada", "bob"}, "who is there")
    for device in bob:
        await device.leave()
    await all_see(bob, lambda device: "ada" not in device.crossings, "no crossing with the blocked")

    heard = [(len(device.list.events.publications), dict(device.entry)) for device in bob]
    sent = await ada[0].say("into the void")
    expect(set(sent), {"conversation", "offset"}, "answer to the blocked")
    await ada[1].do("send", to="bob", text="hello?")
    await ada[0].do("typing", conversation=conversation)
    await ada[0].do("read", conversation=conversation, offset=sent["offset"])
    await call(ada[0].client, "publication.edit", channel=ada[0].chat.channel, offset=old, data={"text": "read me anyway"})
    await all_see(ada, lambda device: "into the void" in device.texts and "hello?" in device.texts, "her own messages")
    await all_see(ada, lambda device: any(p.tags.get("edits") == str(old) for p in device.chat.events.publications),
                  "her own edit")
    await all_see(ada, lambda device: device.entry["last"] == "hello?", "her own last message")
    for device in ada:
        entry = dict(device.entry)
        expect(set(entry), set(before), "fields of the blocked one's entry")
        expect([meeting["time"] for meeting in device.crossings.get("bob")["latest"]],
               [meeting["time"] for meeting in crossed], "the blocked one's crossings with who blocks")
        expect((entry["state"], entry["with"], entry["unread"]), ("active", "bob", 0), "the blocked one's entry")
        for subscription in (device.chat, device.receipts.subscription, device.typing.subscription):
            expect(subscription.events.unsubscribed, [], "subscriptions of the blocked that were ended")
        expect({tag for p in device.chat.events.publications for tag in p.tags} - {"edits", "deletes"}, set(),
               "tags that would tell")
        expect(len(device.blocked.entries), 0, "what the blocked one's own list of blocked people says")
    expect({info.user for info in (await ada[0].chat.presence()).clients.values()}, {"ada"}, "who is there")
    passed("the blocked one's messages, entry, receipts and chat go on as before")

    # What carol says comes after all of that: had something of ada come, it were here.
    first = await carol.do("send", to="bob", text="hello from carol")
    await all_see(bob, lambda device: first["conversation"] in device.list, "carol's request")
    for device, (count, entry) in zip(bob, heard):
        keys = told_since(device.list, count, but=entry)
        expect(keys, {first["conversation"]}, "what bob's list tells under a block")
        expect("hello?" in device.texts or "into the void" in device.texts, False, "messages of the blocked")
        expect(await refused_subscription(device.client, f"clique.chat:{conversation}"), 103, "bob opens the chat")
    expect(await refusal(bob[0].say("x")), 103, "whoever blocks writes")
    expect(await refusal(bob[0].do("send", to="ada", text="x")), 103, "whoever blocks writes to the person")
    await bob[0].do("enter", place="park")
    await ada[0].do("enter", place="park")
    await until(lambda: carol.crossings.get("bob").get("together"), "carol crosses bob")
    expect("ada" in bob[0].crossings, False, "crossings with the blocked under a block")
    expect("bob" in ada[0].crossings, True, "crossings with who blocks, from before the block")
    passed("nothing of the blocked one arrives, and whoever blocks cannot write")

    await bob[1].do("unblock", person="ada")
    await all_see(bob, lambda device: device.entry["state"] == "active", "the conversation stands again")
    await all_see(bob, lambda device: "ada" not in device.blocked, "the list of blocked people is empty")
    expect([device.entry["unread"] for device in bob], [0, 0], "unread after unblocking")
    for device in bob:
        await device.enter(conversation)
        texts = await device.history_texts()
        for text in ("into the void", "hello?", "read me anyway"):
            expect(text in texts, False, f"\"{text}\", which was said under a block, is in bob's history")
        expect("said before the block" in texts, True, "what was said before the block is in bob's history")
    texts = await ada[0].history_texts()
    expect(("into the void" in texts, "hello?" in texts), (True, True), "her own messages in ada's history")
    await ada[0].say("are you back?")
    await all_see(bob, lambda device: device.texts == ["are you back?"], "messages arrive again")
    await all_see(bob, lambda device: device.entry["unread"] == 1, "and are unread")
    await bob[0].say("I am")
    await all_see(ada, lambda device: device.texts[-1] == "I am", "and are answered")
    passed("unblocked, the conversation goes on, without what was said under the block")


async def disconnect(ada, bob):
    await bob[0].do("disconnect", person="ada")
    await all_see(ada, lambda device: device.entry.get("state") == "ended", "the other is told that it ended")
    await all_see(bob, lambda device: device.conversation not in device.list, "who leaves has no entry")
    expect("are you back?" in await ada[0].history_texts(), True, "who stays may read")
    expect(await refusal(bob[0].history()), 103, "who left reads")
    for kind in ("receipts", "typing"):
        channel = f"clique.{kind}:{ada[0].conversation}"
        await all_see(ada, lambda device: getattr(device, kind).events.unsubscribed, f"{kind} end for who stays")
    await ada[0].do("disconnect", conversation=ada[0].conversation)
    await all_see(ada, lambda device: device.conversation not in device.list, "who stayed clears it away")
    sent = await ada[0].do("send", to="bob", text="shall we talk again?")
    expect(sent, {"conversation": ada[0].conversation, "waiting": 1}, "a message after that is a request")
    await all_see(bob, lambda device: device.entry.get("state") == "request_in", "the new request")
    passed("leaving ends it for both, and a new message is a request")


async def decline(eve, dan):
    sent = await eve.do("send", to="dan", text="hi dan")
    conversation = sent["conversation"]
    await all_see(dan, lambda device: conversation in device.list, "the request")
    await dan[0].do("decline", person="eve")
    await all_see(dan, lambda device: conversation not in device.list, "declining clears the request on both")
    expect(await eve.do("send", to="dan", text="hello?"), {"conversation": conversation, "waiting": 2}, "what eve adds")
    await until(lambda: len(eve.list.get(conversation).get("messages", [])) == 2, "eve's request goes on")
    entry = eve.list.get(conversation)
    expect((entry["state"], entry["with"]), ("request_out", "dan"), "the declined one's entry")
    expect(dan[0].blocked.entries, {}, "declining is not blocking")
    heard = [len(device.list.events.publications) for device in dan]
    fay = await Device.open("fay")
    first = await fay.do("send", to="dan", text="I am fay")
    await all_see(dan, lambda device: first["conversation"] in device.list, "a request of somebody else")
    for device, count in zip(dan, heard):
        keys = {publication.tags["key"] for publication in device.list.events.publications[count:]}
        expect(keys, {first["conversation"]}, "what dan's list tells after declining")
    passed("declining clears the request, the sender is not told, and what they add arrives nowhere")

    await dan[1].do("send", to="eve", text="I thought about it")
    for device in dan + [eve]:
        device.conversation = conversation
    await all_see(dan + [eve], lambda device: device.entry.get("state") == "active", "writing back opens it")
    expect(await eve.history_texts(), ["hi dan", "hello?", "I thought about it"], "eve finds all of her own")
    expect(await dan[0].history_texts(), ["hi dan", "I thought about it"], "dan finds what was meant to arrive")
    for device in dan + [eve, fay]:
        await device.client.disconnect()
    passed("whoever declined may write, which opens the conversation")


async def people():
    async with CuttingProxy(OTHER_URL) as proxy:
        ada, bob = await phones("ada"), await phones("bob", proxy)
        carol = await Device.open("carol")
        conversation = await request(ada, bob)
        await accept(ada, bob, conversation)
        await talk(ada, bob)
        await change(ada, bob)
        await away(ada, bob)
        await crossings(ada, bob, carol)
        await block(ada, bob, carol)
        await search(ada, bob)
        await disconnect(ada, bob)
        for device in ada + bob + [carol]:
            expect(device.client.events.disconnected, [], f"connections of {device.user} that were ended for good")
            await device.client.disconnect()


async def main():
    await asyncio.gather(people(), decline(await Device.open("eve"), await phones("dan")))


run(main)
