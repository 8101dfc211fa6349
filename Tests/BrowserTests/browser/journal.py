"""Idealic, the private journal: written, read, changed, deleted, and there on all of one's devices."""

import re

from apps import PHONE, find_again, go, lose, run_apps, tab_to
from harness import expect


def write(page, title, text):
    page.get_by_role("button", name=re.compile("^(New entry|Write the first entry)$")).click()
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_label("Text", exact=True).fill(text)


def save(page):
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".journal-form")).to_have_count(0)


def entry(page, title):
    return page.locator(".journal-list .list-row", has_text=title)


def are(page, *titles):
    """The entries of the list, the newest first."""
    expect(page.locator(".journal-list .list-row .strong")).to_have_text(list(titles))


SEA = "The water was cold.\n\nWe stayed anyway, until the light was gone and there was nothing to see but the lamps."


def scenario_journal_life(windows, pictures):
    """Greeted by name; title and text, list, read, change, delete, and back again."""
    ada, ben = go(windows.open("Ada"), "journal"), go(windows.open("Ben"), "journal")
    expect(ada.locator("h1")).to_have_text(re.compile("^Good (night|morning|afternoon|evening), Ada$"))
    expect(ada.locator(".journal-empty")).to_be_visible()
    pictures(ada, "journal-empty")
    write(ada, "", "")
    ada.get_by_role("button", name="Save").click()
    expect(ada.get_by_role("alert")).to_have_text("Write a title or a text first.")
    ada.get_by_label("Title", exact=True).fill("A day at the sea")
    expect(ada.get_by_role("alert")).to_have_text("")
    ada.get_by_label("Text", exact=True).fill(SEA)
    pictures(ada, "journal-write")
    save(ada)
    expect(entry(ada, "A day at the sea")).to_be_focused()
    write(ada, "", "Only a text, and no title.")
    ada.keyboard.press("Control+Enter")
    are(ada, "Without a title", "A day at the sea")
    expect(ada.locator(".journal-head")).to_contain_text("2 entries, for your eyes only")
    pictures(ada, "journal-list")

    entry(ada, "A day at the sea").click()
    expect(ada.locator(".journal-text")).to_have_text(SEA)
    expect(ada.get_by_role("heading", name="A day at the sea")).to_be_focused()
    pictures(ada, "journal-read")
    ada.get_by_role("button", name="Change").click()
    ada.get_by_label("Title", exact=True).fill("Two days at the sea")
    save(ada)
    are(ada, "Without a title", "Two days at the sea")
    entry(ada, "Two days").click()
    expect(ada.locator(".journal-entry")).to_contain_text("changed today")
    ada.get_by_role("button", name="Delete").click()
    are(ada, "Without a title")
    expect(ada.locator(".toast")).to_contain_text("“Two days at the sea” is deleted")
    pictures(ada, "journal-deleted")
    ada.get_by_role("button", name="Undo").click()
    are(ada, "Without a title", "Two days at the sea")
    # Nobody else has any of it.
    expect(ben.locator(".journal-empty")).to_be_visible()
    ben.reload()
    expect(ben.locator(".journal-empty")).to_be_visible()
    ada.reload()
    are(ada, "Without a title", "Two days at the sea")


def scenario_journal_drafts(windows, pictures):
    """What was begun stays in this window until it is saved or thrown away, which can be undone."""
    ada = go(windows.open("Ada"), "journal")
    write(ada, "Begun", "and not ended")
    go(ada, "sites")
    go(ada, "journal")
    ada.get_by_role("button", name="Go on writing").click()
    expect(ada.get_by_label("Text", exact=True)).to_have_value("and not ended")
    ada.reload()
    pictures(ada, "journal-draft")
    ada.get_by_role("button", name="Go on writing").click()
    expect(ada.get_by_label("Title", exact=True)).to_have_value("Begun")
    ada.get_by_role("button", name="Throw away").click()
    expect(ada.get_by_role("button", name="Go on writing")).to_be_hidden()
    ada.get_by_role("button", name="Undo").click()
    expect(ada.get_by_label("Title", exact=True)).to_have_value("Begun")
    ada.get_by_role("button", name="Back").click()
    expect(ada.get_by_role("button", name="Go on writing")).to_be_visible()
    ada.get_by_role("button", name="Go on writing").click()
    save(ada)
    are(ada, "Begun")


def scenario_journal_devices(windows, pictures):
    """The phone has what was written at the desk, and the other way round."""
    ada = go(windows.open("Ada"), "journal")
    phone = go(windows.open("Ada", dark=True, touch=True, **PHONE), "journal")
    pictures(phone, "journal-phone-empty")
    write(ada, "A day at the sea", SEA)
    save(ada)
    are(phone, "A day at the sea")
    write(phone, "Bread", "More salt next time.")
    pictures(phone, "journal-phone-write")
    save(phone)
    for page in (ada, phone):
        are(page, "Bread", "A day at the sea")
    pictures(phone, "journal-phone-list")
    entry(phone, "A day at the sea").tap()
    pictures(phone, "journal-phone-read")
    entry(ada, "A day at the sea").click()
    ada.get_by_role("button", name="Change").click()
    ada.get_by_label("Title", exact=True).fill("The sea")
    save(ada)
    expect(phone.get_by_role("heading", name="The sea")).to_be_visible()
    entry(ada, "The sea").click()
    ada.get_by_role("button", name="Delete").click()
    # What is deleted elsewhere is not read on.
    for page in (ada, phone):
        are(page, "Bread")


def scenario_journal_offline(windows, pictures):
    """Written in a tunnel: it is in the list at once, and on the server when the connection is back."""
    ada = go(windows.open("Ada"), "journal")
    phone = go(windows.open("Ada", **PHONE), "journal")
    write(ada, "Before", "the tunnel")
    save(ada)
    are(phone, "Before")
    with windows.forgiving():
        lose(ada)
        expect(ada.locator(".note-warn")).to_contain_text("You can read and write")
        entry(ada, "Before").click()
        expect(ada.locator(".journal-text")).to_have_text("the tunnel")
        ada.get_by_role("button", name="All entries").click()
        write(ada, "In the tunnel", "It is dark.")
        save(ada)
        are(ada, "In the tunnel", "Before")
        expect(entry(ada, "In the tunnel")).to_contain_text("Waits to be sent")
        entry(ada, "In the tunnel").click()
        ada.get_by_role("button", name="Change").click()
        ada.get_by_label("Text", exact=True).fill("It is very dark.")
        save(ada)
        pictures(ada, "journal-offline")
        are(phone, "Before")
        find_again(ada)
        are(phone, "In the tunnel", "Before")
    expect(entry(phone, "In the tunnel")).to_contain_text("It is very dark.")
    expect(entry(ada, "In the tunnel")).not_to_contain_text("Waits to be sent")


def scenario_journal_killed_server(windows, pictures):
    """What was saved is there after the server was killed, and what was written meanwhile, too."""
    ada = go(windows.open("Ada"), "journal")
    write(ada, "Before", "")
    save(ada)
    with windows.forgiving():
        windows.server.kill()
        expect(ada.locator("#connection")).to_contain_text("No connection")
        write(ada, "While it was away", "")
        save(ada)
        windows.server.start()
        expect(ada.locator("#connection")).to_be_hidden(timeout=60_000)
    are(ada, "While it was away", "Before")
    phone = go(windows.open("Ada", **PHONE), "journal")
    are(phone, "While it was away", "Before")


def scenario_journal_reloaded_offline(windows, pictures):
    """What waits outlives a reload of the page."""
    ada = go(windows.open("Ada"), "journal")
    expect(ada.locator(".journal-empty")).to_be_visible()
    with windows.forgiving():
        windows.server.kill()
        expect(ada.locator("#connection")).to_contain_text("No connection")
        write(ada, "Kept in this window", "")
        save(ada)
        windows.server.start()
        # The page would ask whether to leave while something waits.
        ada.on("dialog", lambda dialog: dialog.accept())
        ada.reload()
        are(ada, "Kept in this window")
        expect(ada.locator("#connection")).to_be_hidden(timeout=60_000)
    phone = go(windows.open("Ada", **PHONE), "journal")
    are(phone, "Kept in this window")


def scenario_journal_keyboard(windows, pictures):
    """Without a mouse: written, read and deleted."""
    ada = go(windows.open("Ada"), "journal")
    tab_to(ada, "at.textContent === 'Write the first entry'")
    ada.keyboard.press("Enter")
    expect(ada.get_by_label("Title", exact=True)).to_be_focused()
    ada.keyboard.type("Only keys")
    ada.keyboard.press("Tab")
    ada.keyboard.type("and nothing else")
    ada.keyboard.press("Control+Enter")
    expect(entry(ada, "Only keys")).to_be_focused()
    pictures(ada, "journal-keyboard")
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="Only keys")).to_be_focused()
    ada.get_by_role("button", name="Delete").press("Space")
    are(ada)
    expect(ada.locator("h1").first).to_be_focused()


def scenario_journal_markup(windows, pictures):
    """What is written is text, whatever it looks like."""
    ada = go(windows.open("Ada"), "journal")
    evil = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
    write(ada, evil, evil)
    save(ada)
    entry(ada, "onerror").click()
    expect(ada.locator(".journal-text")).to_have_text(evil)
    expect(ada).to_have_title(re.compile("Idealic"))
    assert ada.locator(".journal b").count() == 0


if __name__ == "__main__":
    run_apps([
        scenario_journal_life, scenario_journal_drafts, scenario_journal_devices, scenario_journal_offline,
        scenario_journal_killed_server, scenario_journal_reloaded_offline, scenario_journal_keyboard,
        scenario_journal_markup,
    ])
