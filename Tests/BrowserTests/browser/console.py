"""The console of a server on which people use the demo: from signing in to the busiest channel and back."""

import re
import time

from harness import expect, run

# What stands at the top of each page.
PAGES = {
    "overview": "Busy channels", "channels": "Channels", "users": "Users and clients", "limits": "Limits hit",
    "webhooks": "Webhooks", "links": "Links and broker", "apps": "Clique and State", "why": "Why?",
    "settings": "Configuration",
}


def sign_in(page, password):
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def is_live(page):
    """The first numbers have come, and the rates that two of them make."""
    expect(page.locator(".tile-value").nth(1)).to_have_text(re.compile(r"^[\d,.]+/s$"))


def scenario_sign_in(windows):
    """A wrong password is refused with a sentence, a right one opens the page that was asked for, and signing out ends it."""
    page = windows.console(path="#/settings", signs_in=False)
    windows.look(page, "console-sign-in")
    with windows.forgiving():  # The browser says each answer that is no success.
        sign_in(page, "not this one")
        expect(page.locator(".field-error")).to_contain_text(re.compile("password", re.IGNORECASE))
    sign_in(page, windows.server.password)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Configuration")
    page.get_by_label("Find").fill("demo.en")
    row = page.get_by_role("row", name=re.compile("^demo.enabled"))
    expect(row).to_contain_text("--set")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()


def scenario_busy_channel(windows):
    """Somebody listens to the busy channel: the operator finds it, watches it, and filters it."""
    windows.open("Ada", path="#/busy")
    page = windows.console()
    link = page.get_by_role("link", name="busy:all").first
    expect(link).to_be_visible()
    is_live(page)
    windows.look(page, "console-overview")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("busy:all")
    tail = page.get_by_role("log", name="Publications as they come")
    expect(tail.locator("summary").nth(20)).to_contain_text("from")
    # A thousand come in a second, and twenty of them are shown.
    expect(tail.locator(".tail-skip").first).to_be_visible()
    windows.look(page, "console-tail")
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".busiest")).to_contain_text("busy:all is the busiest")
    expect(page.locator("tr", has_text="busy:all")).to_contain_text(re.compile(r"\d+/s"))
    windows.look(page, "console-busy")


def scenario_each_page(windows):
    """Every page says something, in the light and in the dark, on a desk and on a phone."""
    windows.open("Ada")
    for dark, width in ((False, 1280), (True, 1280), (False, 360)):
        page = windows.console(dark=dark, width=width, height=800)
        for name, title in PAGES.items():
            page.evaluate(f"location.hash = '#/{name}'")
            expect(page.locator("main").get_by_role("heading", name=title, exact=True).first).to_be_visible()
            if name == "overview":
                is_live(page)
            windows.look(page, f"console-{name}-{'dark' if dark else 'light'}-{width}", whole=name == "overview")


def scenario_markup(windows):
    """What people publish, and what they call their channels, is text."""
    channel = "sites:<img src=x onerror=\"document.title='owned'\">"
    page = windows.console()
    answer = page.evaluate(
        """(channel) => fetch("api/publish", {
          method: "POST", headers: { "Content-Type": "application/json", "x-fanfare-console": "1" },
          body: JSON.stringify({ channel, data: { text: "<script>document.title='owned'</script>" } }),
        }).then((answer) => answer.json())""", channel)
    assert "offset" in answer.get("result", {}), answer
    page.evaluate("(channel) => { location.hash = `#/channels/${encodeURIComponent(channel)}?view=history` }", channel)
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    expect(page.locator("main")).to_contain_text("<script>")
    assert page.title() != "owned" and page.locator("main img, main script").count() == 0, page.title()
    windows.picture(page, "console-markup")


def scenario_publish_and_why(windows):
    """What the operator publishes arrives at who subscribes; `why` says so, and where somebody else did not get it."""
    ada = windows.open("Ada", path="#/sites")
    ada.get_by_role("button", name="Save").click()
    expect(ada.locator(".sites-column")).to_contain_text("Nobody has written here yet")
    page = windows.console(path="#/channels/sites:harbour?view=publish")
    expect(page.get_by_role("button", name="Publish to 1 subscriber")).to_be_visible()
    page.get_by_label("Data").fill('{ "text": ')
    page.get_by_role("button", name="Publish to 1 subscriber").click()
    expect(page.locator(".field-error", has_text="The data is not JSON")).to_be_visible()
    page.get_by_label("Data").fill('{ "text": "The harbour is closed at noon." }')
    page.get_by_text("Tags", exact=True).click()
    page.get_by_role("button", name="Add a tag").click()
    page.get_by_label("Tag", exact=True).fill("kind")
    page.get_by_label("Value", exact=True).fill("notice")
    windows.look(page, "console-publish")
    page.get_by_role("button", name="Publish to 1 subscriber").click()
    expect(page.locator(".note-good")).to_contain_text("Published as 1.")
    expect(ada.locator(".sites-post p")).to_have_text("The harbour is closed at noon.")
    page.get_by_role("link", name="See the history").click()
    expect(page.locator("main")).to_contain_text("The harbour is closed at noon.")
    expect(page.locator(".row .chip", has_text="nothing here yet")).to_have_count(0)

    page.get_by_role("link", name="Why?").click()
    windows.look(page, "console-why-empty")
    ask_why(page, "ada", "sites:harbour", "1")
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("Yes: publication 1 of sites:harbour reached user ada")
    expect(page.get_by_role("heading", name="Their subscriptions")).to_be_visible()
    windows.look(page, "console-why")
    # The answer has an address of its own, for whoever it is sent to.
    page.reload()
    expect(verdict).to_contain_text("Yes: publication 1 of sites:harbour reached user ada")
    ask_why(page, "ben", "sites:harbour", "1")
    expect(verdict).to_have_class(re.compile("note-bad"))
    ask_why(page, "ada", "sites:harbour", "4711")
    expect(verdict).not_to_have_class(re.compile("note-good"))
    page.get_by_role("link", name="May they do it?").click()
    # The fields of the page before have the same labels.
    expect(page.get_by_role("button", name="May they?")).to_be_visible()
    page.get_by_label("User").fill("ben")
    page.get_by_label("Channel").fill("sites:harbour")
    page.get_by_role("button", name="May they?").click()
    expect(page.locator("main .card").first).to_contain_text("yes")
    windows.look(page, "console-may")


def ask_why(page, user, channel, offset):
    for label, text in (("User", user), ("Channel", channel), ("Offset", offset)):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Why?").click()


def scenario_filter_trial(windows):
    """A filter is tried out on what comes now: what it lets through, and what is wrong with one that cannot be."""
    windows.open("Ada", path="#/busy")
    page = windows.console(path="#/channels/busy:all")
    tail = page.get_by_role("log", name="Publications as they come")
    rows = tail.locator("summary")
    expect(rows.nth(10)).to_be_visible()
    who = rows.first.locator("span").nth(2).text_content()
    page.get_by_text("Try a filter").click()
    page.get_by_label("Tag", exact=True).fill("user")
    page.get_by_label("Value", exact=True).fill(who)
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text(re.compile(r"Passes the filter: [\d,.]+/s of [\d,.]+/s"))).to_be_visible()
    expect(rows.nth(5)).to_be_visible()
    assert set(rows.locator("span:nth-child(3)").all_text_contents()) == {who}
    windows.look(page, "console-filter")
    page.reload()
    expect(page.get_by_label("Value", exact=True)).to_have_value(who)
    page.get_by_role("button", name="As JSON").click()
    json = page.get_by_label("Filter as JSON")
    expect(json).to_have_value(re.compile('"cmp": "eq"'))
    json.fill("{ user")
    page.get_by_role("button", name="Try it").click()
    problem = page.locator(".field-error")
    expect(problem).to_contain_text("The filter is not JSON")
    with windows.forgiving():  # The browser says each answer that is no success.
        json.fill('{ "key": "user", "cmp": "resembles", "val": "ada" }')
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_text("The tail is not open: the filter was refused.").first).to_be_visible()
        expect(problem).not_to_be_empty()
    page.get_by_role("button", name="Without a filter").click()
    expect(page.get_by_text(re.compile("^Comes now: "))).to_be_visible()


def act(page, action, *, done, choose=None):
    """Presses a button of the page that asks first, and says what was done."""
    page.get_by_role("button", name=f"{action}…", exact=True).click()
    dialog = page.get_by_role("dialog")
    if choose:
        dialog.get_by_label(choose[0]).select_option(label=choose[1])
    dialog.get_by_role("button", name=action.split(" tokens")[0], exact=True).click()
    expect(page.locator(".toast", has_text=done)).to_be_visible()
    expect(dialog).to_have_count(0)
    # Notices stay for some seconds, in which the same may be said of what is done next.
    page.evaluate("document.querySelectorAll('.toast').forEach((notice) => notice.remove())")


def scenario_people(windows):
    """Somebody is disconnected, sent away for a time, let in again, and has their tokens revoked."""
    windows.server.begin_anew("console.allow=read,write,control,inspect,moderation")
    ada = windows.open("Ada")
    page = windows.console(path="#/users")
    page.get_by_label("User, or id of a connection").fill("ada")
    page.get_by_role("button", name="Look up").click()
    connections = page.get_by_role("table", name="Connections").locator("tbody tr")
    expect(connections).to_have_count(1)
    first = connections.get_by_role("link").get_attribute("href")
    windows.look(page, "console-user")

    page.get_by_role("button", name="Disconnect…", exact=True).first.click()
    windows.look(page, "console-disconnect")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    act(page, "Disconnect", choose=("Afterwards", "the client may come back at once"), done="has disconnected ada")
    # Another connection of the same window, which has noticed nothing but a moment's break.
    expect(connections.get_by_role("link")).not_to_have_attribute("href", first)
    expect(ada.locator("#connection")).to_be_hidden()

    act(page, "Disconnect", choose=("Afterwards", "the client stays away"), done="has disconnected ada")
    expect(ada.locator("#connection")).to_contain_text("Connect again")
    expect(page.get_by_text("This user is not connected.")).to_be_visible()
    ada.get_by_role("button", name="Connect again").click()
    expect(connections).to_have_count(1)

    act(page, "Suspend", done="ada is suspended")
    expect(page.get_by_text("Suspended until")).to_be_visible()
    bar = ada.locator("#connection")
    # Whoever is suspended is not told so: no token of theirs is taken.
    expect(bar).to_contain_text("Invalid token. Connect again")
    bar.get_by_role("button").click()
    expect(bar).to_contain_text("Invalid token. Connect again")
    windows.look(ada, "demo-suspended")
    windows.look(page, "console-suspended")
    page.get_by_role("link", name="Users and clients").first.click()
    expect(page.get_by_role("table", name="Suspended")).to_contain_text("ada")
    page.get_by_role("button", name="Lift the suspension of ada").click()
    page.get_by_role("dialog").get_by_role("button", name="Lift the suspension").click()
    expect(page.get_by_text("Nobody is suspended.")).to_be_visible()
    ada.get_by_role("button", name="Connect again").click()
    expect(bar).to_be_hidden()

    page.get_by_label("User, or id of a connection").fill("ada")
    page.get_by_role("button", name="Look up").click()
    expect(connections).to_have_count(1)
    act(page, "Revoke tokens", done="are revoked")
    expect(page.get_by_text(re.compile("^Tokens that were issued before .* are revoked"))).to_be_visible()
    expect(page.get_by_text("This user is not connected.")).to_be_visible()
    expect(bar).to_contain_text("Invalid token. Connect again")
    # A token that is issued from the next second on is none of those that were revoked.
    ada.wait_for_function("(end) => Date.now() > end", arg=(int(time.time()) + 1) * 1000)
    bar.get_by_role("button").click()
    expect(bar).to_be_hidden()
    expect(connections).to_have_count(1)
    windows.look(page, "console-revoked")


def scenario_killed_server(windows):
    """The console says that the server is away, and asks for the password again once it is back."""
    page = windows.console()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    with windows.forgiving():
        is_live(page)
        windows.server.kill()
        expect(page.locator("#connection")).to_contain_text("The server ")
        # Numbers that have stopped do not say that all is well.
        expect(page.locator(".finding-good")).to_be_hidden()
        windows.picture(page, "console-away")
        windows.server.start()
        expect(page.get_by_label("Password")).to_be_visible(timeout=60_000)
        sign_in(page, windows.server.password)
        expect(page.get_by_label("Password")).to_be_hidden()
        expect(page.locator("#connection")).to_be_hidden(timeout=60_000)


if __name__ == "__main__":
    run([
        scenario_sign_in, scenario_busy_channel, scenario_each_page, scenario_markup, scenario_publish_and_why,
        scenario_filter_trial, scenario_people, scenario_killed_server,
    ])
