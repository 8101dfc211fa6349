"""A thousand messages a second: all of them, one person's, and a page that stays light."""

import re

from apps import PHONE, find_again, go, lose, run_apps, tab_to
from harness import expect


def comes(page, least, most):
    """So many messages a second come to this page."""
    page.wait_for_function(
        """([least, most]) => {
          const number = Number(document.querySelector(".busy-figure dd")?.textContent.replace(/,/g, ""));
          return number >= least && number <= most;
        }""", arg=[least, most])


def people(page):
    return page.get_by_role("group", name="Follow")


def ink(page):
    """How many pixels of the plot are drawn."""
    return page.evaluate(
        """() => {
          const canvas = document.querySelector(".busy-canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let sum = 0;
          for (let index = 3; index < data.length; index += 4) if (data[index] > 0) sum += 1;
          return sum;
        }""")


def is_drawn(page, least=200):
    page.wait_for_function(
        """least => {
          const canvas = document.querySelector(".busy-canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let sum = 0;
          for (let index = 3; index < data.length; index += 4) if (data[index] > 0) sum += 1;
          return sum >= least;
        }""", arg=least)


def lasts(page, seconds):
    """The time over which something is measured."""
    page.wait_for_function("end => performance.now() > end", polling=100,
                           arg=page.evaluate("performance.now()") + 1000 * seconds)


def load(page, seconds):
    """Percent of the time in which the page's main thread has worked."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def now():
        found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return found["Timestamp"], found["TaskDuration"]

    begun, worked = now()
    lasts(page, seconds)
    ended, whole = now()
    session.detach()
    return 100 * (whole - worked) / (ended - begun)


def scenario_busy_everybody(windows, pictures):
    """All messages, the people who write them, the plot, and what it costs the page."""
    ada = windows.open("Ada")
    ada.emulate_media(reduced_motion="no-preference")
    go(ada, "busy")
    comes(ada, 500, 1500)
    expect(people(ada).get_by_role("button")).to_have_text(
        [re.compile(name) for name in (
            "Everybody", "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "June")])
    is_drawn(ada)
    expect(ada.locator(".busy-canvas")).to_have_attribute("aria-label", re.compile(r"half within [\d.]+ ms"))
    share = load(ada, 6)
    print(f"the busy page: {share:.0f} % of its main thread", flush=True)
    pictures(ada, "busy-everybody")
    ada.set_viewport_size({"width": 700, "height": 700})
    is_drawn(ada)
    pictures(ada, "busy-narrow")


def scenario_busy_follow(windows, pictures):
    """The server lets one person's messages through, a tenth of all."""
    ada = go(windows.open("Ada", dark=True), "busy")
    comes(ada, 500, 1500)
    people(ada).get_by_role("button", name="Cleo").click()
    expect(ada.locator(".busy-card")).to_contain_text("Following Cleo")
    comes(ada, 50, 150)
    expect(ada.locator(".busy-card")).to_contain_text(re.compile("Latest: message [0-9,]+ of Cleo"))
    is_drawn(ada, 50)
    pictures(ada, "busy-follow-dark")
    people(ada).get_by_role("button", name="Everybody").click()
    comes(ada, 500, 1500)
    phone = go(windows.open("Ben", touch=True, **PHONE), "busy")
    comes(phone, 500, 1500)
    pictures(phone, "busy-phone")
    phone.locator(".busy-canvas").scroll_into_view_if_needed()
    is_drawn(phone)
    pictures(phone, "busy-phone-plot")


def scenario_busy_paused(windows, pictures):
    """The plot stands still while one looks at it, and goes on where time is."""
    ada = windows.open("Ada")
    ada.emulate_media(reduced_motion="no-preference")
    go(ada, "busy")
    is_drawn(ada)
    button = ada.get_by_role("button", name="Pause the plot")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    before = ink(ada)
    sum_before = ada.locator(".busy-figure dd").last.text_content()
    expect(ada.locator(".busy-figure dd").last).not_to_have_text(sum_before)
    assert ink(ada) == before
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    ada.wait_for_function("before => document.querySelector('.busy-figure dd:last-of-type').textContent !== before",
                          arg=sum_before)
    assert ink(ada) != before


def scenario_busy_left(windows, pictures):
    """Who leaves the screen is sent no more of it."""
    ada = go(windows.open("Ada"), "busy")
    comes(ada, 500, 1500)
    frames = []
    ada.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    ada.reload()
    comes(ada, 500, 1500)
    go(ada, "journal")
    # What was on its way arrives.
    lasts(ada, 0.5)
    assert len(frames) > 20, f"{len(frames)} messages came before"
    frames.clear()
    lasts(ada, 1)
    assert len(frames) < 5, f"{len(frames)} messages came"


def scenario_busy_offline(windows, pictures):
    """Honest without a connection: this channel keeps nothing. It goes on by itself afterwards."""
    ada = go(windows.open("Ada"), "busy")
    comes(ada, 500, 1500)
    with windows.forgiving():
        lose(ada)
        expect(ada.locator(".busy-card")).to_contain_text("This channel keeps nothing")
        expect(ada.locator(".busy-figure dd").first).to_have_text("0")
        pictures(ada, "busy-offline")
        find_again(ada)
    comes(ada, 500, 1500)
    with windows.forgiving():
        windows.server.kill()
        expect(ada.locator("#connection")).to_contain_text("No connection")
        windows.server.start()
        expect(ada.locator("#connection")).to_be_hidden(timeout=60_000)
    comes(ada, 500, 1500)


def scenario_busy_keyboard(windows, pictures):
    ada = go(windows.open("Ada"), "busy")
    expect(people(ada).get_by_role("button", name="Ben")).to_be_visible()
    tab_to(ada, "at.textContent.endsWith('Ben')")
    ada.keyboard.press("Space")
    expect(people(ada).get_by_role("button", name="Ben", pressed=True)).to_be_focused()
    comes(ada, 50, 150)
    pictures(ada, "busy-keyboard")


if __name__ == "__main__":
    run_apps([
        scenario_busy_everybody, scenario_busy_follow, scenario_busy_paused, scenario_busy_left, scenario_busy_offline,
        scenario_busy_keyboard,
    ])
