"""State between two windows: begun, recorded, sealed, revealed, reacted to, and expired."""

import re

from apps import PHONE, find_again, go, lose, run_apps, tab_to
from harness import expect


def choose(page, name):
    page.get_by_role("searchbox", name="Send a State to").fill(name)
    page.get_by_role("button", name=f"Send a State to {name}").click()
    expect(page.locator(".recorder")).to_be_visible()


def begin(page, camera=True):
    page.get_by_role("button", name="Start with the camera" if camera else "Start with sample pictures").click()
    expect(page.get_by_role("button", name="Take the front picture")).to_be_visible()


def shoot(page):
    """Takes both pictures."""
    page.get_by_role("button", name="Take the front picture").click()
    page.get_by_role("button", name="Take the rear picture").click()
    expect(page.locator(".recorder-shot img")).to_have_count(2)


def record(page, name, *, camera=True, caption="", limit=None):
    """From the ready recorder to what was sealed."""
    begin(page, camera)
    shoot(page)
    if caption:
        page.get_by_label("Caption", exact=True).fill(caption)
    if limit is not None:
        page.get_by_label(f"How long {name} has to record the answer").select_option(str(limit))
    page.get_by_role("button", name=re.compile("^(Seal and send|Send and reveal both)$")).click()
    expect(page.locator(".recorder")).to_have_count(0)


def row(page, name):
    return page.locator(".state-row", has=page.get_by_role("heading", name=name, exact=True))


def in_phase(page, name, word):
    expect(row(page, name).locator(".state-badge")).to_contain_text(word)


def take_cameras(page):
    """A device without a camera."""
    page.evaluate("void (navigator.mediaDevices.getUserMedia = "
                  "() => Promise.reject(new DOMException('there is none', 'NotFoundError')))")


def shown(page):
    """All four pictures of a reveal are there, and are pictures."""
    expect(page.locator(".state-frame img[src^='blob:']")).to_have_count(4)
    page.wait_for_function(
        "[...document.querySelectorAll('.state-frame img')].every((each) => each.complete && each.naturalWidth > 0)")


def open_both(windows, first="Ada", second="Ben", **options):
    one, two = windows.open(first, **options), windows.open(second, **options)
    return go(one, "state"), go(two, "state")


def exchange(windows, **options):
    """Ada has sent, Ben has answered and looks at it."""
    ada, ben = open_both(windows, **options)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False)
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    record(ben, "Ada", camera=False)
    shown(ben)
    return ada, ben


def scenario_state_exchange(windows, pictures):
    """The whole life with cameras: sealed, notified, answered, revealed to both, reacted to."""
    ada, ben = go(windows.open("Ada"), "state"), windows.open("Ben")
    expect(ada.locator(".state-empty")).to_contain_text("Nobody goes first")
    pictures(ada, "state-empty")
    choose(ada, "Ben")
    expect(ada.locator(".recorder-ready")).to_contain_text("You have 2 min for both pictures")
    pictures(ada, "state-ready")
    begin(ada)
    expect(ada.locator("video.recorder-view")).to_have_js_property("paused", False)
    expect(ada.locator(".ring-text")).to_have_text(re.compile(r"^(2:00|1:[0-5]\d)$"))
    pictures(ada, "state-camera")
    shoot(ada)
    ada.get_by_label("Caption", exact=True).fill("At the sea")
    ada.get_by_label("How long Ben has to record the answer").select_option("30000")
    pictures(ada, "state-review")
    ada.get_by_role("button", name="Seal and send").click()
    in_phase(ada, "Ben", "Sealed")
    pictures(ada, "state-sealed")
    # Ben is somewhere else, and is told there.
    expect(ben.locator(".toast")).to_contain_text("Ada has sealed something for you")
    expect(ben.locator('#tabs a[data-app="state"] .badge')).to_have_text("1")
    pictures(ben, "state-notified")
    go(ben, "state")
    in_phase(ben, "Ada", "Your turn")
    expect(row(ben, "Ada")).to_contain_text("You will have 30 s.")
    expect(ben.locator(".state-row")).not_to_contain_text("At the sea")
    pictures(ben, "state-your-turn")

    ben.locator(".toast").get_by_role("button", name="Open").click()
    expect(ben.locator(".recorder-ready")).to_contain_text("You have 30 s for both pictures")
    record(ben, "Ada", caption="In the library")
    expect(ben.get_by_role("heading", name="You and Ada")).to_be_focused()
    shown(ben)
    expect(ben.locator(".state-sides")).to_contain_text("At the sea")
    in_phase(ada, "Ben", "Revealed, new")
    expect(ada.locator('#tabs a[data-app="state"] .badge')).to_have_text("1")
    row(ada, "Ben").get_by_role("button", name="Look at what you and Ben have sent").click()
    shown(ada)
    expect(ada.locator(".state-sides")).to_contain_text("In the library")

    ben.get_by_role("button", name="fire").click()
    expect(ben.get_by_role("button", name="fire")).to_have_attribute("aria-pressed", "true")
    expect(ada.locator(".state-side").nth(1).locator(".state-sticker")).to_have_text("🔥")
    ada.get_by_role("button", name="heart").click()
    expect(ben.locator(".state-side").nth(1).locator(".state-sticker")).to_have_text("❤️")
    ben.get_by_role("button", name="fire").click()
    expect(ada.locator(".state-side").nth(1).locator(".state-sticker")).to_have_text("")
    ada.get_by_role("button", name="Ben: exchange the large and the small picture").click()
    expect(ada.locator(".state-frame.is-turned")).to_have_count(1)
    pictures(ada, "state-revealed")
    ada.get_by_role("button", name="All exchanges").click()
    in_phase(ada, "Ben", "Revealed")
    expect(row(ada, "Ben").locator(".state-badge")).not_to_contain_text("new")
    pictures(ada, "state-overview")


def scenario_state_samples(windows, pictures):
    """Without a camera, sample pictures take its place, and the page says so."""
    ada, ben = open_both(windows, dark=True)
    take_cameras(ada)
    choose(ada, "Ben")
    begin(ada)
    expect(ada.locator(".recorder-note")).to_contain_text("There is no camera that this page may use")
    expect(ada.locator("canvas.recorder-view")).to_be_visible()
    pictures(ada, "state-sample-dark")
    ada.get_by_role("button", name="Take the front picture").click()
    ada.get_by_role("button", name="Take the rear picture").click()
    ada.locator("figure", has_text="What you see").get_by_role("button", name="Take again").click()
    ada.get_by_role("button", name="Take the rear picture").click()
    pictures(ada, "state-review-dark")
    ada.get_by_role("button", name="Seal and send").click()
    in_phase(ben, "Ada", "Your turn")
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    record(ben, "Ada", camera=False)
    shown(ben)
    pictures(ben, "state-revealed-dark")


def scenario_state_time_runs_out(windows, pictures):
    """Nobody touches the shutter: both pictures are taken by themselves when the time is over."""
    ada, ben = open_both(windows)
    ada.get_by_text("Settings", exact=True).click()
    ada.get_by_label("Your own time to record").select_option("5000")
    expect(ada.locator(".toast")).to_contain_text("Your time to record is set")
    choose(ada, "Ben")
    expect(ada.locator(".recorder-ready")).to_contain_text("You have 5 s")
    begin(ada)
    expect(ada.locator(".ring")).to_have_class(re.compile("ring-short"))
    expect(ada.locator(".recorder-shot img")).to_have_count(2)
    expect(ada.locator(".recorder-note")).to_contain_text("the pictures took themselves")
    expect(ada.get_by_role("button", name="Take again")).to_have_count(0)
    pictures(ada, "state-time-over")
    ada.get_by_label("How long Ben has to record the answer").select_option("10000")
    ada.get_by_role("button", name="Seal and send").click()
    in_phase(ben, "Ada", "Your turn")
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    begin(ben)
    ben.get_by_role("button", name="Take the front picture").click()
    expect(ben.locator(".recorder-shot img")).to_have_count(2)
    ben.get_by_role("button", name="Send and reveal both").click()
    shown(ben)


def scenario_state_given_up(windows, pictures):
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    begin(ada)
    ada.get_by_role("button", name="Take the front picture").click()
    ada.get_by_role("button", name="Give up").click()
    expect(ada.locator(".toast")).to_contain_text("Nothing was sent")
    expect(ada.locator(".state-row")).to_have_count(0)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False)
    in_phase(ben, "Ada", "Your turn")
    # While it is sealed, there is no second one.
    ada.get_by_role("searchbox", name="Send a State to").fill("Ben")
    ada.get_by_role("button", name="Send a State to Ben").click()
    expect(ada.locator(".toast", has_text="Yours is sealed")).to_be_visible()
    expect(ben.locator(".state-row")).to_have_count(1)


def scenario_state_expired(windows, pictures):
    """Nobody answers: it expires for both, is never seen, and can be put away or tried again."""
    windows.server.stop()
    windows.server.settings = (*windows.server.settings, "state.lifetime=4s")
    windows.server.start()
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False)
    for page, other in ((ada, "Ben"), (ben, "Ada")):
        in_phase(page, other, "Expired")
        expect(row(page, other)).to_contain_text("Nobody ever sees what was sealed")
    pictures(ada, "state-expired")
    ben.get_by_role("button", name="Put Ada away").click()
    expect(ben.locator(".state-row")).to_have_count(0)
    ada.get_by_role("button", name="Send Ben another").click()
    expect(ada.get_by_role("heading", name="A State for Ben")).to_be_focused()


def scenario_state_ended(windows, pictures):
    """What was revealed is over after its time, also while one looks at it."""
    windows.server.stop()
    windows.server.settings = (*windows.server.settings, "state.reveal_lifetime=8s")
    windows.server.start()
    ada, ben = exchange(windows)
    expect(ben.locator(".toast", has_text="is over, and deleted")).to_be_visible()
    expect(ben.locator(".state-reveal")).to_have_count(0)
    for page in (ada, ben):
        expect(page.locator(".state-row")).to_have_count(0)
        expect(page.locator(".state-empty")).to_be_visible()


def scenario_state_clock(windows, pictures):
    """A day passes on a test server: what was sealed expires in all windows, and a refusal is said."""
    windows.server.begin_anew("demo.clock=true")
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False)
    in_phase(ben, "Ada", "Your turn")
    section = ada.get_by_role("region", name="Clock of the server")
    section.get_by_role("button", name="+ 23 hours").click()
    expect(section.get_by_role("status")).to_contain_text("The server's clock:")
    expect(row(ada, "Ben")).to_contain_text(re.compile(r"\b(59 min|60 min|1 h)\b"))
    pictures(ada, "state-clock")
    section.get_by_role("button", name="+ 1 hour").click()
    for page, other in ((ada, "Ben"), (ben, "Ada")):
        in_phase(page, other, "Expired")
    refusal = {"message": "the clock was moved a moment ago; try again in a second"}
    ada.route("**/demo/clock", lambda route: route.fulfill(status=429, json=refusal))
    with windows.forgiving():
        section.get_by_role("button", name="+ 1 hour").click()
        expect(section.get_by_role("status")).to_have_text("The clock was moved a moment ago; try again in a second")


def scenario_state_devices(windows, pictures):
    """A third window is another device: it is told the same, and what one has looked at is old on both."""
    ada, ben = open_both(windows)
    phone = go(windows.open("Ada", dark=True, touch=True, **PHONE), "state")
    pictures(phone, "state-phone-empty")
    choose(ada, "Ben")
    record(ada, "Ben", camera=False, caption="Only for you")
    in_phase(phone, "Ben", "Sealed")
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    record(ben, "Ada", camera=False)
    for page in (ada, phone):
        in_phase(page, "Ben", "Revealed, new")
    pictures(phone, "state-phone-overview")
    row(phone, "Ben").get_by_role("button", name="Look at what you and Ben have sent").click()
    shown(phone)
    expect(row(ada, "Ben").locator(".state-badge")).not_to_contain_text("new")
    pictures(phone, "state-phone-revealed")
    phone.get_by_role("button", name="Send Ben another").click()
    pictures(phone, "state-phone-ready")
    begin(phone, camera=False)
    pictures(phone, "state-phone-camera")
    shoot(phone)
    pictures(phone, "state-phone-review")


def scenario_state_blocked(windows, pictures):
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False)
    ben.get_by_role("button", name="Block Ada").click()
    expect(ben.get_by_role("dialog")).to_contain_text("Ada is not told")
    pictures(ben, "state-block")
    ben.get_by_role("dialog").get_by_role("button", name="Block", exact=True).click()
    in_phase(ben, "Ada", "Blocked")
    # To Ada it looks as if Ben had not answered yet.
    in_phase(ada, "Ben", "Sealed")
    ben.get_by_role("button", name="Unblock Ada").click()
    expect(ben.locator(".state-row")).to_have_count(0)


def scenario_state_offline(windows, pictures):
    """A device without a connection says what it shows, keeps both pictures, and sends them when it is back."""
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    begin(ada, camera=False)
    shoot(ada)
    with windows.forgiving():
        lose(ada)
        ada.get_by_role("button", name="Seal and send").click()
        expect(ada.locator(".recorder-note")).to_contain_text("Both pictures are kept on this page")
        pictures(ada, "state-offline-sending")
        find_again(ada)
        expect(ada.locator(".recorder")).to_have_count(0, timeout=60_000)
    in_phase(ben, "Ada", "Your turn")
    with windows.forgiving():
        lose(ben)
        expect(ben.locator(".note-warn")).to_contain_text("Nothing that was sealed is lost")
        pictures(ben, "state-offline-overview")
        row(ben, "Ada").get_by_role("button", name="Record your answer").click()
        ben.get_by_role("button", name="Start with sample pictures").click()
        expect(ben.locator(".recorder-note")).to_contain_text("needs a connection")
        find_again(ben)
    record(ben, "Ada", camera=False)
    shown(ben)


def scenario_state_killed_server(windows, pictures):
    """What was sealed outlives the server."""
    ada, ben = open_both(windows)
    choose(ada, "Ben")
    record(ada, "Ben", camera=False, caption="Before the storm")
    in_phase(ben, "Ada", "Your turn")
    with windows.forgiving():
        windows.server.kill()
        for page in (ada, ben):
            expect(page.locator("#connection")).to_contain_text("No connection")
        windows.server.start()
        for page in (ada, ben):
            expect(page.locator("#connection")).to_be_hidden(timeout=60_000)
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    record(ben, "Ada", camera=False)
    shown(ben)
    in_phase(ada, "Ben", "Revealed, new")
    row(ada, "Ben").get_by_role("button", name="Look at what you and Ben have sent").click()
    shown(ada)
    expect(ben.locator(".state-sides")).to_contain_text("Before the storm")


def scenario_state_keyboard(windows, pictures):
    """Without a mouse: from the name to what was sealed, and to the reaction."""
    ada, ben = open_both(windows)
    tab_to(ada, "at.type === 'search'")
    ada.keyboard.type("ben")
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="A State for Ben")).to_be_focused()
    tab_to(ada, "at.textContent === 'Start with sample pictures'")
    ada.keyboard.press("Enter")
    for side in ("front", "rear"):
        expect(ada.get_by_role("button", name=f"Take the {side} picture")).to_be_focused()
        ada.keyboard.press("Space")
    expect(ada.get_by_role("button", name="Seal and send")).to_be_focused()
    ada.keyboard.press("Enter")
    in_phase(ben, "Ada", "Your turn")
    tab_to(ben, "at.textContent === 'Record your answer'")
    pictures(ben, "state-keyboard")
    ben.keyboard.press("Enter")
    tab_to(ben, "at.textContent === 'Start with sample pictures'")
    ben.keyboard.press("Enter")
    for side in ("front", "rear"):
        expect(ben.get_by_role("button", name=f"Take the {side} picture")).to_be_focused()
        ben.keyboard.press("Enter")
    expect(ben.get_by_role("button", name="Send and reveal both")).to_be_focused()
    ben.keyboard.press("Enter")
    expect(ben.get_by_role("heading", name="You and Ada")).to_be_focused()
    tab_to(ben, "at.title === 'applause'")
    ben.keyboard.press("Space")
    expect(ben.get_by_role("button", name="applause")).to_have_attribute("aria-pressed", "true")


def scenario_state_markup(windows, pictures):
    """What people write is text, whatever it looks like."""
    ada, ben = open_both(windows)
    evil = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
    choose(ada, "Ben")
    record(ada, "Ben", camera=False, caption=evil)
    row(ben, "Ada").get_by_role("button", name="Record your answer").click()
    record(ben, "Ada", camera=False)
    shown(ben)
    expect(ben.locator(".state-sides")).to_contain_text(evil)
    assert "owned" not in ben.title() and ben.locator(".state-sides b").count() == 0


if __name__ == "__main__":
    run_apps([
        scenario_state_exchange, scenario_state_samples, scenario_state_time_runs_out, scenario_state_given_up,
        scenario_state_expired, scenario_state_ended, scenario_state_clock, scenario_state_devices,
        scenario_state_blocked, scenario_state_offline, scenario_state_killed_server, scenario_state_keyboard,
        scenario_state_markup,
    ])
