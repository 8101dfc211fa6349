"""The console of a server on which people use the demo: from signing in to the busiest channel and back."""

import re

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


def scenario_killed_server(windows):
    """The console says that the server is away, and asks for the password again once it is back."""
    page = windows.console()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    with windows.forgiving():
        is_live(page)
        windows.server.kill()
        expect(page.locator("#connection")).to_contain_text("The server ")
        windows.picture(page, "console-away")
        windows.server.start()
        expect(page.get_by_label("Password")).to_be_visible(timeout=60_000)
        sign_in(page, windows.server.password)
        expect(page.get_by_label("Password")).to_be_hidden()
        expect(page.locator("#connection")).to_be_hidden(timeout=60_000)


if __name__ == "__main__":
    run([scenario_sign_in, scenario_busy_channel, scenario_each_page, scenario_markup, scenario_killed_server])
