"""Clique around the messages: profiles, the badge and reports, on two phones each, as docs/CLIQUE.md promises them."""

import asyncio

from clique_phone import Device, all_see, befriend, close, phones, told_since
from clique_pictures import Photo
from pictures import Picture, get, upload
from state_phone import all_hear, phones as state_phones
from support import Map, call, expect, passed, refusal, refused_subscription, run, server_api, until


async def with_people(devices):
    """Opens the profiles that each may see, and one's own, as the app does when it starts."""
    for device in devices:
        device.people = await Map.open(device.client, f"clique.people:{device.user}")
        device.profile = await Map.open(device.client, f"clique.profile:{device.user}")
    return devices


async def names(device, text):
    return [person["name"] for person in (await device.do("people", text=text))["people"]]


async def own_profile(ada):
    """What one phone sets, both show; what cannot be is refused, and changes nothing."""
    large, small = Photo((640, 480)), Photo((96, 72))
    await upload("ada", large, small)
    fields = {"university": "TU Wien"}
    answer = await ada[0].do(
        "profile.set", name="Ada Gro\u00df", fields=fields, picture={"id": large.id, "small": small.id})
    await all_see(ada, lambda device: device.profile.get("profile").get("name") == "Ada Gro\u00df", "ada's own profile")
    for device in ada:
        expect(device.profile.get("profile"), answer, "one's own profile is what was answered")
    shown = {name: answer[name] for name in ("user", "name", "fields", "picture")}
    expect(shown, {"user": "ada", "name": "Ada Gro\u00df", "fields": fields,
                   "picture": {"id": large.id, "small": small.id}}, "what was set")
    expect(await refusal(ada[1].do("profile.set", name="x" * 81)), 106, "a name of 81 characters")
    expect(await refusal(ada[1].do("profile.set", fields={"shoe": "42"})), 107, "a field that there is not")
    expect(await refusal(ada[1].do("profile.set", picture={"id": Picture().id})), 435, "a picture that is not there")
    await ada[1].do("profile.set", fields={"university": ""})
    await all_see(ada, lambda device: "fields" not in device.profile.get("profile"), "a field is removed")
    await ada[0].do("profile.set", fields=fields)
    await all_see(ada, lambda device: device.profile.get("profile").get("fields") == fields, "and set again")
    passed("one's own profile is the same on both phones, whichever set it")
    return large, small


async def profiles():
    ada, bob, carol = [await with_people(await phones(user)) for user in ("ada", "bob", "carol")]
    large, small = await own_profile(ada)
    await bob[0].do("profile.set", name="Bob")
    await carol[0].do("profile.set", name="Carol")
    for device in bob + carol:
        expect("ada" in device.people, False, f"a stranger's profile on a phone of {device.user}")
        expect((await device.do("profiles", people=["ada"]))["people"], [], "a stranger's profile that is asked for")
        expect(await names(device, "ada"), [], "a stranger who is looked for")
    expect([await get("bob", picture) for picture in (large, small)], [404, 404], "a stranger's picture")
    for kind in ("people", "profile"):
        expect(await refused_subscription(bob[0].client, f"clique.{kind}:ada"), 103, f"another's clique.{kind}")
    passed("strangers see nothing of each other")

    # Bob crosses ada, carol talks with her.
    await ada[0].do("enter", place="library")
    await bob[1].do("enter", place="library")
    await befriend(ada, carol)
    await all_see(bob + carol, lambda device: device.people.get("ada").get("name") == "Ada Gro\u00df", "ada's profile")
    entry = {"user": "ada", "name": "Ada Gro\u00df", "fields": {"university": "TU Wien"},
             "picture": {"id": large.id, "small": small.id}}
    for device in bob + carol:
        expect(device.people.get("ada"), entry, f"ada's profile on a phone of {device.user}")
        expect(await names(device, "GROSS"), ["Ada Gro\u00df"], "who is found by a word's beginning")
        for picture in (large, small):
            expect(picture.is_shown_by(await get(device.user, picture, device.url)), True, "a picture of the profile")
    await all_see(ada, lambda device: {"bob", "carol"} <= set(device.people.entries), "profiles on ada's phones")
    expect("bob" in carol[0].people, False, "somebody whom carol has not met")
    passed("after a crossing and in a conversation each sees the other's profile, on both phones")

    await blocked(ada, bob, carol, large)
    await close(*ada, *bob, *carol)


async def blocked(ada, bob, carol, large):
    """Ada blocks carol: ada sees nothing of her, and carol goes on seeing what was there."""
    await ada[0].do("block", person="carol")
    await all_see(ada, lambda device: "carol" not in device.people, "the blocked one's profile")
    await all_see(ada, lambda device: device.blocked.get("carol").get("name") == "Carol", "the name as it was")
    expect(await names(ada[1], "carol"), [], "the blocked one is found")
    heard = [(len(device.people.events.publications), dict(device.people.get("ada"))) for device in carol]
    await ada[1].do("profile.set", name="Ada behind a wall", picture=None)
    await carol[0].do("profile.set", name="Carol, still here")
    await all_see(bob, lambda device: device.people.get("ada").get("name") == "Ada behind a wall", "ada's new name")
    # What bob has been told by then, carol would have been too: something of her own comes after it.
    await befriend(bob, carol)
    await all_see(carol, lambda device: "bob" in device.people, "bob's profile")
    for device, (count, entry) in zip(carol, heard):
        expect(device.people.get("ada"), entry, "what the blocked one sees")
        expect(large.is_shown_by(await get("carol", large, device.url)), True, "the picture that the blocked one sees")
        told = told_since(device.people, count, but=entry)
        expect(told, {"bob"}, "whose profiles the blocked one is told of")
        expect((await names(device, "gross"), await names(device, "wall")), (["Ada Gro\u00df"], []), "who is found")
    passed("across a block nothing of a profile passes, and the blocked one notices nothing")

    await ada[1].do("unblock", person="carol")
    await all_see(ada, lambda device: device.people.get("carol").get("name") == "Carol, still here", "carol is back")
    expect(carol[1].people.get("ada")["name"], "Ada Gro\u00df", "the end of a block changes nothing for the blocked")
    await ada[0].do("profile.set", name="Ada")
    await all_see(bob + carol, lambda device: device.people.get("ada") == {
        "user": "ada", "name": "Ada", "fields": {"university": "TU Wien"}}, "the next change")
    expect(await get("bob", large), 404, "a picture that the profile has no more")
    passed("after the block the next change is seen by all")


def badge(device):
    """What docs/SCREENS.md has an app show on its icon."""
    totals = device.totals.get("all")
    received = [entry for entry in device.threads.entries.values() if entry["phase"] == "received"]
    return totals.get("messages", 0) + totals.get("requests", 0) + len(received)


async def totals():
    """Eli has two phones; fay, gus and hal are who is heard of."""
    eli, fay, gus = await phones("eli"), await phones("fay"), await phones("gus")
    hal, threads = await Device.open("hal"), await state_phones("eli")
    for device, state in zip(eli, threads):
        device.totals = await Map.open(device.client, "clique.totals:eli")
        device.threads = state.threads
    expect(await refused_subscription(hal.client, "clique.totals:eli"), 103, "another's totals")
    friends = [await befriend(eli, fay), await befriend(eli, gus)]
    await all_see(eli, lambda device: badge(device) == 0, "nothing is new")
    await fay[0].say("one")
    last = (await fay[1].say("two"))["offset"]
    await gus[0].say("three")
    await hal.do("send", to="eli", text="hello, I am hal")
    await hal.do("send", to="eli", text="are you there?")
    expected = {"conversations": 2, "messages": 3, "requests": 1}
    await all_see(eli, lambda device: device.totals.get("all") == expected, f"the totals {expected}")
    expect([await device.do("totals") for device in eli], [expected] * 2, "what the method answers")
    expect([badge(device) for device in eli], [4, 4], "the badge")
    passed("the badge counts unread messages and requests, on both phones")

    ivy = (await state_phones("ivy"))[0]
    pictures = [Picture(), Picture("image/png")]
    await upload("ivy", *pictures)
    await ivy.do("begin", to="eli")
    await ivy.do("send", to="eli", front=pictures[0].id, rear=pictures[1].id)
    await all_hear(threads, "ivy", "received")
    await all_see(eli, lambda device: badge(device) == 5, "the badge with what is sealed in State")
    await eli[0].do("keep", conversation=friends[1], muted=True)
    await all_see(eli, lambda device: badge(device) == 4, "the badge without a muted conversation")
    await eli[1].do("decline", person="hal")
    await all_see(eli, lambda device: badge(device) == 3, "the badge without a request that was declined")
    await eli[1].do("read", conversation=friends[0], offset=last)
    await all_see(eli, lambda device: badge(device) == 1, "the badge when one phone has read")
    await eli[0].do("keep", conversation=friends[1], muted=False)
    expected = {"conversations": 1, "messages": 1, "requests": 0}
    await all_see(eli, lambda device: device.totals.get("all") == expected, "the totals when it is muted no more")
    expect(await eli[0].do("totals"), expected, "what the method answers then")
    passed("what one phone reads, mutes or declines goes from the badge of both")
    await close(*eli, *fay, *gus, hal, *threads, ivy)


async def reports():
    """Joe reports kim, and moderators settle it over the server API."""
    joe, kim = await phones("joe"), await phones("kim")
    conversation = await befriend(joe, kim)
    for device in joe + kim:
        device.reports = await Map.open(device.client, f"clique.reports:{device.user}")
    offset = (await kim[0].say("I know where you live"))["offset"]
    await joe[1].say("please leave me alone")
    await all_see(kim, lambda device: device.entry["last"] == "please leave me alone", "both messages")
    before = [dict(device.entry) for device in kim]
    message = {"person": "kim", "offset": offset, "reason": "threat", "text": "again and again"}
    report = (await joe[0].do("report", **message))["report"]
    await all_see(joe, lambda device: device.reports.get(report).get("state") == "open", "the open report")
    fields = set(joe[0].reports.get(report))
    for device in joe:
        entry = dict(device.reports.get(report))
        expect(entry.pop("time") > 0, True, "when it was reported")
        expect(entry, {"report": report, "user": "kim", "conversation": conversation, "offset": offset,
                       "reason": "threat", "text": "again and again", "state": "open"}, "one's own report")
    expect((await joe[1].do("report", **message))["report"], report, "the same report from the other phone")
    for wrong, code in (({"reason": "dull"}, 107), ({"text": "x" * 1001}, 106), ({"offset": 99}, 107)):
        expect(await refusal(joe[0].do("report", **{**message, **wrong})), code, f"a report with {[*wrong]}")
    expect(await refused_subscription(kim[0].client, "clique.reports:joe"), 103, "who is reported asks for reports")
    passed("a report is open in the list of both phones of who made it, once")

    await call(kim[1].client, "publication.edit", channel=kim[1].chat.channel, offset=offset, data={"text": "be safe"})
    await kim[1].remove(offset)
    listed = await server_api("clique_reports", user="kim")
    found = [(one["by"], one["offset"], one["state"]) for one in listed["reports"]]
    expect(found, [("joe", offset, "open")], "what moderators see of reports")
    number = listed["reports"][0]["report"]
    shown = await server_api("clique_report", report=number)
    expect([one["text"] for one in shown["messages"]], ["I know where you live"], "what was said, as it was")
    expect((shown["text"], shown["reason"]), ("again and again", "threat"), "what was said of it")
    expect([device.reports.get(report)["state"] for device in joe], ["open"] * 2, "looking settles nothing")
    await server_api("clique_report_settle", report=number, outcome="warned", note="for other moderators")
    await all_see(joe, lambda device: device.reports.get(report).get("state") == "settled", "the settled report")
    for device in joe:
        expect(set(device.reports.get(report)), fields, "fields of a settled report: what was found is not said")
    settled = await server_api("clique_reports", user="kim", state="settled")
    expect([(one["report"], one["outcome"]) for one in settled["reports"]], [(number, "warned")], "settled reports")
    passed("moderators see what was said as it was, and what they settle is settled on both phones")

    again = (await joe[1].do("report", person="kim", reason="spam"))["report"]
    await all_see(joe, lambda device: set(device.reports.entries) == {report, again}, "another report")
    expect(await joe[0].reports.ordered(), [again, report], "the newest report first")
    listed = await server_api("clique_reports", user="kim")
    expect([(one["by"], one["reason"]) for one in listed["reports"]], [("joe", "spam")], "what is open then")
    await server_api("clique_report_settle", report=listed["reports"][0]["report"], outcome="dismissed")
    await all_see(joe, lambda device: device.reports.get(again)["state"] == "settled", "that one is settled, too")
    expect((await joe[0].do("report", person="kim", reason="spam"))["report"], again, "the same, when it is settled")
    await all_see(joe, lambda device: device.reports.get(again)["state"] == "open", "that it is open again")
    # What joe says comes after all of that: had kim been told of a report, it were here.
    await joe[0].say("that is all")
    await all_see(kim, lambda device: device.entry["last"] == "that is all", "that the conversation goes on")
    for device, entry in zip(kim, before):
        expect(device.reports.entries, {}, "what the reported one's own list says")
        expect(set(device.entry), set(entry), "fields of the reported one's entry")
        expect((device.entry["state"], device.blocked.entries), ("active", {}), "what a report changes")
    passed("who is reported is told nothing, and nothing changes between the two")
    await close(*joe, *kim)


async def main():
    await asyncio.gather(profiles(), totals(), reports())


run(main)
