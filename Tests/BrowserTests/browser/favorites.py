"""Favorites: a grid that grows, arranged with the mouse, a finger and keys, and kept on all devices."""

import re

from apps import PHONE, find_again, go, lose, run_apps, tab_to
from harness import expect


def add(page, *names):
    for name in names:
        page.get_by_role("searchbox", name="Add somebody").fill(name)
        page.keyboard.press("Enter")
        expect(tile(page, name)).to_be_visible()


def tile(page, name):
    return page.locator(f'.favorites-tile[data-user="{name.lower()}"]')


def main(page, name):
    return tile(page, name).locator(".favorites-main")


def are(page, *names):
    """The people of the grid, in their order."""
    expect(page.locator(".favorites-tile .favorites-name")).to_have_text(list(names))


def grid(page, columns):
    expect(page.locator(".favorites-grid")).to_have_attribute("data-columns", str(columns))


def middle(page, name):
    box = tile(page, name).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, name, to, drop=True):
    """Takes a tile with the mouse to where another is."""
    start, end = middle(page, name), middle(page, to)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 12, start[1] + 6)
    page.mouse.move(*end, steps=12)
    if drop:
        page.mouse.up()


def opened(page, address):
    page.wait_for_function("address => location.hash === address", arg=address)


def scenario_favorites_grow(windows, pictures):
    """From the help of the first screen to four by four, and no further."""
    ada = go(windows.open("Ada"), "favorites")
    expect(ada.locator(".favorites-empty")).to_contain_text("Your favorite people, one touch away")
    expect(ada.locator(".favorites-gap")).to_have_count(4)
    grid(ada, 2)
    pictures(ada, "favorites-empty")
    ada.locator(".favorites-gap").first.click()
    expect(ada.get_by_role("searchbox", name="Add somebody")).to_be_focused()
    add(ada, "Ben", "Cleo", "Dan", "Eve")
    grid(ada, 2)
    expect(ada.locator(".favorites-empty")).to_be_hidden()
    pictures(ada, "favorites-four")
    add(ada, "Finn")
    grid(ada, 3)
    add(ada, "Gus", "Hana", "Ivo", "June")
    grid(ada, 3)
    expect(ada.locator(".favorites-gap")).to_have_count(0)
    add(ada, "Kim")
    grid(ada, 4)
    add(ada, "Lou", "Mia", "Ned", "Ola", "Pia", "Quin")
    expect(ada.locator(".favorites-tile")).to_have_count(16)
    expect(ada.get_by_role("searchbox", name="Add somebody")).to_be_hidden()
    pictures(ada, "favorites-sixteen")
    phone = go(windows.open("Ada", dark=True, touch=True, **PHONE), "favorites")
    expect(phone.locator(".favorites-tile")).to_have_count(16)
    pictures(phone, "favorites-phone-sixteen")
    phone.get_by_role("button", name="Edit").click()
    pictures(phone, "favorites-phone-edit")


def scenario_favorites_drag(windows, pictures):
    """With the mouse: the others make room, Escape leaves all as it was, and a drag is no click."""
    ada = go(windows.open("Ada"), "favorites")
    phone = go(windows.open("Ada", **PHONE), "favorites")
    add(ada, "Ben", "Cleo", "Dan", "Eve", "Finn")
    drag(ada, "Ben", "Eve", drop=False)
    expect(tile(ada, "Ben")).to_have_class(re.compile("is-dragged"))
    pictures(ada, "favorites-dragged")
    ada.mouse.up()
    for page in (ada, phone):
        are(page, "Cleo", "Dan", "Eve", "Ben", "Finn")
    drag(ada, "Finn", "Cleo")
    for page in (ada, phone):
        are(page, "Finn", "Cleo", "Dan", "Eve", "Ben")
    drag(ada, "Ben", "Finn", drop=False)
    ada.keyboard.press("Escape")
    ada.mouse.up()
    are(ada, "Finn", "Cleo", "Dan", "Eve", "Ben")
    assert ada.evaluate("location.hash") == "#/favorites"
    ada.reload()
    are(ada, "Finn", "Cleo", "Dan", "Eve", "Ben")


def scenario_favorites_clicks(windows, pictures):
    """A click does what was chosen, a double click shows everything; how long that may take can be set."""
    ada = go(windows.open("Ada"), "favorites")
    add(ada, "Ben", "Cleo")
    main(ada, "Ben").click()
    opened(ada, "#/clique/person/ben")
    go(ada, "favorites")
    main(ada, "Ben").dblclick()
    dialog = ada.get_by_role("dialog", name="Ben")
    expect(dialog).to_be_visible()
    pictures(ada, "favorites-menu")
    dialog.get_by_label("A click does this").select_option("state")
    expect(main(ada, "Ben")).to_contain_text("Send a State")
    dialog.get_by_role("button", name="Close").click()
    main(ada, "Ben").click()
    opened(ada, "#/state/ben")
    go(ada, "favorites")
    main(ada, "Cleo").dblclick()
    ada.get_by_role("dialog").get_by_role("button", name="See the profile").click()
    opened(ada, "#/clique/person/cleo")
    go(ada, "favorites")

    # Two clicks that are half a second apart are two with the usual interval, and one double click with a slow one.
    ada.get_by_text("Settings", exact=True).click()
    ada.get_by_label("Double click").select_option("900")
    # By the page itself, so that no pause of this process comes in between.
    main(ada, "Ben").evaluate("""async (button) => {
        const click = () => button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
        button.focus();
        click();
        await new Promise((done) => setTimeout(done, 450));
        click();
    }""")
    expect(ada.get_by_role("dialog", name="Ben")).to_be_visible()
    ada.keyboard.press("Escape")
    expect(main(ada, "Ben")).to_be_focused()
    ada.reload()
    ada.get_by_text("Settings", exact=True).click()
    expect(ada.get_by_label("Double click")).to_have_value("900")


def scenario_favorites_edit(windows, pictures):
    """Targets that are larger than they look; who is taken out can come back, also on another device."""
    ada = go(windows.open("Ada"), "favorites")
    phone = go(windows.open("Ada", dark=True, touch=True, **PHONE), "favorites")
    add(ada, "Ben", "Cleo", "Dan", "Eve")
    ada.get_by_role("button", name="Edit").click()
    pictures(ada, "favorites-edit")
    out = ada.get_by_role("button", name="Take Cleo out")
    box = out.bounding_box()
    assert box["width"] < 32 and box["height"] < 32, box
    # Just outside of what is seen of it, still on the target.
    ada.mouse.click(box["x"] - 6, box["y"] + box["height"] + 5)
    for page in (ada, phone):
        are(page, "Ben", "Dan", "Eve")
    expect(ada.locator(".toast")).to_contain_text("Cleo is taken out")
    pictures(ada, "favorites-taken-out")
    ada.get_by_role("button", name="Undo").click()
    for page in (ada, phone):
        are(page, "Ben", "Cleo", "Dan", "Eve")
    phone.get_by_role("button", name="Everything for Dan").tap()
    phone.get_by_role("dialog", name="Dan").get_by_role("button", name="Take out").tap()
    for page in (ada, phone):
        are(page, "Ben", "Cleo", "Eve")
    pictures(phone, "favorites-phone")
    ada.get_by_role("button", name="Done").click()
    for name in ("Ben", "Cleo", "Eve"):
        ada.get_by_role("button", name=f"Everything for {name}").click()
        ada.get_by_role("dialog").get_by_role("button", name="Take out").click()
        expect(tile(ada, name)).to_have_count(0)
    expect(phone.locator(".favorites-empty")).to_be_visible()


def scenario_favorites_touch(windows, pictures):
    """A finger scrolls, and moves tiles only while one edits."""
    phone = go(windows.open("Ada", touch=True, **PHONE), "favorites")
    add(phone, "Ben", "Cleo", "Dan", "Eve")

    def draw(start, end, steps=8):
        """A finger goes over the glass, one step in a frame."""
        (x, y), (right, bottom) = start, end
        session = phone.context.new_cdp_session(phone)
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for step in range(1, steps + 1):
            point = {"x": x + (right - x) * step / steps, "y": y + (bottom - y) * step / steps}
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
            phone.evaluate("new Promise(requestAnimationFrame)")
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()

    def swipe(name, to):
        draw(middle(phone, name), middle(phone, to))

    # Chromium takes a long swipe to the right for "back", to the app before this one.
    level = middle(phone, "Ben")[1]
    draw((20, level), (PHONE["width"] - 20, level), steps=30)
    swipe("Ben", "Cleo")
    expect(phone).to_have_url(re.compile("#/favorites$"))
    are(phone, "Ben", "Cleo", "Dan", "Eve")
    phone.get_by_role("button", name="Edit").tap()
    swipe("Ben", "Cleo")
    are(phone, "Cleo", "Ben", "Dan", "Eve")
    swipe("Eve", "Cleo")
    are(phone, "Eve", "Cleo", "Ben", "Dan")
    assert phone.locator("dialog").count() == 0


def scenario_favorites_offline(windows, pictures):
    """What is changed without a connection is shown at once, and saved when it is back."""
    ada = go(windows.open("Ada"), "favorites")
    phone = go(windows.open("Ada", **PHONE), "favorites")
    add(ada, "Ben", "Cleo", "Dan")
    are(phone, "Ben", "Cleo", "Dan")
    with windows.forgiving():
        lose(ada)
        expect(ada.locator(".note-warn")).to_contain_text("goes out as soon as you are back")
        drag(ada, "Ben", "Dan")
        are(ada, "Cleo", "Dan", "Ben")
        main(ada, "Cleo").press("Alt+ArrowRight")
        are(ada, "Dan", "Cleo", "Ben")
        pictures(ada, "favorites-offline")
        are(phone, "Ben", "Cleo", "Dan")
        find_again(ada)
        for page in (ada, phone):
            are(page, "Dan", "Cleo", "Ben")


def scenario_favorites_killed_server(windows, pictures):
    """The grid outlives the server, and what is changed meanwhile is not lost."""
    ada = go(windows.open("Ada"), "favorites")
    phone = go(windows.open("Ada", **PHONE), "favorites")
    add(ada, "Ben", "Cleo", "Dan")
    are(phone, "Ben", "Cleo", "Dan")
    with windows.forgiving():
        windows.server.kill()
        for page in (ada, phone):
            expect(page.locator("#connection")).to_contain_text("No connection")
        ada.get_by_role("button", name="Everything for Ben").click()
        ada.get_by_role("dialog").get_by_role("button", name="Take out").click()
        are(ada, "Cleo", "Dan")
        windows.server.start()
        for page in (ada, phone):
            expect(page.locator("#connection")).to_be_hidden(timeout=60_000)
    for page in (ada, phone):
        are(page, "Cleo", "Dan")


def scenario_favorites_keyboard(windows, pictures):
    """Without a mouse: added, moved, opened, taken out, brought back."""
    ada = go(windows.open("Ada"), "favorites")
    tab_to(ada, "at.type === 'search'")
    for name in ("ben", "cleo", "dan"):
        ada.keyboard.type(name)
        ada.keyboard.press("Enter")
        expect(tile(ada, name)).to_be_visible()
        expect(ada.get_by_role("searchbox", name="Add somebody")).to_be_focused()
    tab_to(ada, "at.className === 'favorites-main'")
    expect(main(ada, "Ben")).to_be_focused()
    ada.keyboard.press("Alt+ArrowRight")
    are(ada, "Cleo", "Ben", "Dan")
    expect(main(ada, "Ben")).to_be_focused()
    ada.keyboard.press("Alt+ArrowDown")
    are(ada, "Cleo", "Dan", "Ben")
    expect(main(ada, "Ben")).to_be_focused()
    pictures(ada, "favorites-keyboard")
    ada.get_by_role("button", name="Edit").press("Enter")
    main(ada, "Ben").press("ArrowLeft")
    are(ada, "Cleo", "Ben", "Dan")
    ada.keyboard.press("Delete")
    are(ada, "Cleo", "Dan")
    expect(main(ada, "Dan")).to_be_focused()
    ada.get_by_role("button", name="Undo").press("Enter")
    are(ada, "Cleo", "Ben", "Dan")
    main(ada, "Ben").press("Enter")
    expect(ada.get_by_role("dialog", name="Ben")).to_be_visible()
    ada.keyboard.press("Escape")
    expect(main(ada, "Ben")).to_be_focused()
    ada.get_by_role("button", name="Done").press("Enter")
    main(ada, "Ben").press("Enter")
    opened(ada, "#/clique/person/ben")


if __name__ == "__main__":
    run_apps([
        scenario_favorites_grow, scenario_favorites_drag, scenario_favorites_clicks, scenario_favorites_edit,
        scenario_favorites_touch, scenario_favorites_offline, scenario_favorites_killed_server,
        scenario_favorites_keyboard,
    ])
