"""Six to Eight: sites that one reads, one person followed there, and what is kept of it on all devices."""

import re

from apps import PHONE, find_again, go, lose, run_apps, tab_to
from harness import expect


def column(page, name):
    return page.locator(".sites-column", has=page.get_by_role("heading", name=name, exact=True))


def save(page, site=None, person=None):
    if site:
        page.get_by_label("Site", exact=True).select_option(site)
    if person is not None:
        page.get_by_label("Follow only (optional)").fill(person)
    page.get_by_role("button", name="Save").click()


def post(page, site, text):
    page.get_by_label(f"Write at {site}").fill(text)
    page.keyboard.press("Enter")


def reads(page, name, *texts):
    """The column has these posts, the newest first, and no others."""
    expect(column(page, name).locator(".sites-post p")).to_have_text(list(texts))


def open_both(windows, first="Ada", second="Ben", **options):
    one, two = windows.open(first, **options), windows.open(second, **options)
    return go(one, "sites"), go(two, "sites")


def scenario_sites_just_save(windows, pictures):
    """Whoever just presses Save reads the first site at once, and everybody there."""
    ada, ben = open_both(windows)
    expect(ada.locator(".sites-empty")).to_be_visible()
    pictures(ada, "sites-empty")
    ada.get_by_role("button", name="Save").click()
    expect(column(ada, "The harbour")).to_contain_text("Nobody has written here yet. Be the first.")
    ben.get_by_role("button", name="Read The harbour").click()
    expect(column(ben, "The harbour")).to_be_visible()
    post(ben, "the harbour", "The tide is in.")
    post(ben, "the harbour", "Two boats are back, one is late.")
    # Ben's client holds a post until its subscription is answered, so what Ada writes meanwhile would stand before it.
    reads(ben, "The harbour", "Two boats are back, one is late.", "The tide is in.")
    post(ada, "the harbour", "Good morning!")
    reads(ada, "The harbour", "Good morning!", "Two boats are back, one is late.", "The tide is in.")
    reads(ben, "The harbour", "Good morning!", "Two boats are back, one is late.", "The tide is in.")
    pictures(ada, "sites-one")


def scenario_sites_follow(windows, pictures):
    """One person by a filter; another site keeps them where they write there too."""
    ada, ben = open_both(windows)
    for site in ("harbour", "library"):
        save(ben, site)
    save(ben, "garden")
    expect(ben.locator(".sites-column")).to_have_count(3)
    post(ben, "the harbour", "Fog until noon")
    post(ben, "the library", "The third floor is quiet today")
    reads(ben, "The library", "The third floor is quiet today")
    save(ada)
    post(ada, "the harbour", "I cannot see the lighthouse")
    reads(ada, "The harbour", "I cannot see the lighthouse", "Fog until noon")

    ada.get_by_role("group", name="Who writes there").get_by_role("button", name="Follow only Ben").click()
    expect(ada.get_by_label("Follow only (optional)")).to_have_value("ben")
    ada.get_by_role("button", name="Save").click()
    reads(ada, "The harbour", "Fog until noon")
    expect(column(ada, "The harbour")).to_contain_text("Only Ben")
    post(ada, "the harbour", "Do you see this?")
    expect(ada.locator(".toast")).to_contain_text("You read only Ben here")
    reads(ben, "The harbour", "Do you see this?", "I cannot see the lighthouse", "Fog until noon")
    post(ben, "the harbour", "The fog lifts")
    reads(ada, "The harbour", "The fog lifts", "Fog until noon")

    # Ben writes in the library, too, and not in the theatre.
    ada.get_by_label("Site", exact=True).select_option("theatre")
    expect(ada.get_by_label("Follow only (optional)")).to_have_value("")
    expect(ada.locator(".sites-form")).to_contain_text("Ben does not: you would read everybody")
    pictures(ada, "sites-does-not-write")
    ada.get_by_label("Site", exact=True).select_option("library")
    expect(ada.get_by_label("Follow only (optional)")).to_have_value("ben")
    expect(ada.get_by_role("button", name="Follow only Ben", pressed=True)).to_be_visible()
    ada.get_by_role("button", name="Save").click()
    reads(ada, "The library", "The third floor is quiet today")
    expect(column(ada, "The library")).to_contain_text("Only Ben")
    save(ada, "market", "")
    expect(ada.locator(".sites-column")).to_have_count(3)
    pictures(ada, "sites-three")
    column(ada, "The harbour").get_by_role("button", name="Read everybody again").click()
    reads(ada, "The harbour", "The fog lifts", "Do you see this?", "I cannot see the lighthouse", "Fog until noon")
    column(ada, "The harbour").get_by_role("button", name="Ben: follow only them").first.click()
    reads(ada, "The harbour", "The fog lifts", "Fog until noon")


def scenario_sites_devices(windows, pictures):
    """What one reads is one's own, and on all of one's devices; leaving can be undone."""
    ada, ben = open_both(windows)
    phone = go(windows.open("Ada", dark=True, touch=True, **PHONE), "sites")
    pictures(phone, "sites-phone-empty")
    save(ada, "harbour")
    save(ada, "observatory", "ben")
    for page in (ada, phone):
        expect(page.locator(".sites-column h2")).to_have_text(["The harbour", "The observatory"])
        expect(column(page, "The observatory")).to_contain_text("Only Ben")
    expect(ben.locator(".sites-column")).to_have_count(0)
    save(ben, "observatory")
    post(ben, "the observatory", "Saturn at ten, if it stays clear")
    for page in (ada, phone):
        reads(page, "The observatory", "Saturn at ten, if it stays clear")
    pictures(phone, "sites-phone")
    phone.get_by_role("button", name="Change what you read at the observatory").click()
    expect(phone.get_by_label("Follow only (optional)")).to_have_value("ben")
    save(phone, person="")
    expect(column(ada, "The observatory")).not_to_contain_text("Only Ben")
    phone.get_by_role("button", name="Leave the observatory").click()
    for page in (ada, phone):
        expect(page.locator(".sites-column h2")).to_have_text(["The harbour"])
    phone.get_by_role("button", name="Undo").click()
    for page in (ada, phone):
        expect(page.locator(".sites-column h2")).to_have_text(["The harbour", "The observatory"])
    reads(ada, "The observatory", "Saturn at ten, if it stays clear")


def scenario_sites_typed_while_loading(windows, pictures):
    """Who writes at a site comes while one types whom to follow there: what one has typed stays."""
    held, is_holding = [], False

    def through(route):
        server = route.connect_to_server()

        def answer(message):
            if is_holding:
                held.append(lambda: route.send(message))
            else:
                route.send(message)

        server.on_message(answer)

    ada = go(windows.open("Ada", sockets=through), "sites")
    is_holding = True
    ada.get_by_label("Site", exact=True).select_option("observatory")
    ada.get_by_label("Follow only (optional)").fill("Ben")
    is_holding = False
    for send in held:
        send()
    expect(ada.locator(".sites-form")).to_contain_text("Nobody else writes at the observatory yet.")
    expect(ada.get_by_label("Follow only (optional)")).to_have_value("Ben")
    ada.get_by_role("button", name="Save").click()
    expect(column(ada, "The observatory")).to_contain_text("Only Ben")


def scenario_sites_usable_while_loading(windows, pictures):
    """Nothing is modal and nothing waits: the form saves before the lists have come, also without a connection."""
    ada, ben = open_both(windows)
    save(ben, "library")
    post(ben, "the library", "Shh")
    with windows.forgiving():
        windows.server.kill()
        expect(ada.locator("#connection")).to_contain_text("No connection")
        expect(ada.locator(".note-warn")).to_contain_text("waits in this window")
        ada.get_by_label("Follow only (optional)").fill("Ben")
        ada.get_by_label("Site", exact=True).select_option("library")
        # Nobody can know whether Ben writes there, so he stays.
        expect(ada.get_by_label("Follow only (optional)")).to_have_value("ben")
        ada.get_by_role("button", name="Save").click()
        expect(ada.locator(".toast")).to_contain_text("saved as soon as you are back")
        expect(ada.get_by_role("button", name="Save")).to_be_enabled()
        assert ada.locator("dialog").count() == 0
        pictures(ada, "sites-offline-empty")
        windows.server.start()
        expect(ada.locator("#connection")).to_be_hidden(timeout=60_000)
    reads(ada, "The library", "Shh")
    expect(column(ada, "The library")).to_contain_text("Only Ben")


def scenario_sites_offline(windows, pictures):
    """What is posted without a connection waits, is sent once, and what was missed comes."""
    ada, ben = open_both(windows)
    for page in (ada, ben):
        save(page)
    post(ada, "the harbour", "Before")
    reads(ben, "The harbour", "Before")
    with windows.forgiving():
        lose(ada)
        expect(column(ada, "The harbour")).to_contain_text("comes when you are back")
        post(ada, "the harbour", "From the tunnel")
        expect(ada.locator(".is-pending")).to_contain_text("waits to be sent")
        pictures(ada, "sites-offline")
        post(ben, "the harbour", "Meanwhile")
        reads(ben, "The harbour", "Meanwhile", "Before")
        find_again(ada)
        reads(ada, "The harbour", "From the tunnel", "Meanwhile", "Before")
    expect(ada.locator(".is-pending")).to_have_count(0)
    reads(ben, "The harbour", "From the tunnel", "Meanwhile", "Before")


def scenario_sites_killed_server(windows, pictures):
    """Posts and choices outlive the server."""
    ada, ben = open_both(windows)
    for page in (ada, ben):
        save(page)
    post(ada, "the harbour", "Before")
    reads(ben, "The harbour", "Before")
    with windows.forgiving():
        windows.server.kill()
        for page in (ada, ben):
            expect(page.locator("#connection")).to_contain_text("No connection")
        post(ben, "the harbour", "While it was away")
        windows.server.start()
        for page in (ada, ben):
            expect(page.locator("#connection")).to_be_hidden(timeout=60_000)
    for page in (ada, ben):
        reads(page, "The harbour", "While it was away", "Before")


def scenario_sites_keyboard(windows, pictures):
    """Without a mouse: saved, followed, written and left."""
    ada, ben = open_both(windows)
    save(ben)
    post(ben, "the harbour", "Only keys")
    tab_to(ada, "at.tagName === 'SELECT'")
    ada.keyboard.press("Tab")
    expect(ada.get_by_label("Follow only (optional)")).to_be_focused()
    ada.keyboard.press("Enter")
    reads(ada, "The harbour", "Only keys")
    tab_to(ada, "at.ariaLabel === 'Write at the harbour'")
    ada.keyboard.type("And more keys")
    ada.keyboard.press("Enter")
    reads(ben, "The harbour", "And more keys", "Only keys")
    tab_to(ada, "at.className === 'sites-link'")
    pictures(ada, "sites-keyboard")
    ada.keyboard.press("Enter")
    reads(ada, "The harbour", "Only keys")
    ada.get_by_role("button", name="Leave the harbour").press("Enter")
    expect(ada.locator(".sites-column")).to_have_count(0)
    expect(ada.get_by_label("Site", exact=True)).to_be_focused()


def scenario_sites_markup(windows, pictures):
    """What people write is text, whatever it looks like."""
    ada, ben = open_both(windows)
    for page in (ada, ben):
        save(page)
    evil = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
    post(ben, "the harbour", evil)
    reads(ada, "The harbour", evil)
    expect(ada).to_have_title(re.compile("Six to Eight"))
    assert ada.locator(".sites-post b").count() == 0


if __name__ == "__main__":
    run_apps([
        scenario_sites_just_save, scenario_sites_follow, scenario_sites_devices, scenario_sites_typed_while_loading,
        scenario_sites_usable_while_loading, scenario_sites_offline, scenario_sites_killed_server,
        scenario_sites_keyboard, scenario_sites_markup,
    ])
