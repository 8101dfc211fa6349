"""Two people of Clique in two windows: from the first click to the end of a conversation, and what is in between."""

import base64
import re

from apps import go
from harness import expect, run

# A picture that is one: 2 × 2 pixels.
PIXELS = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==")


def messages(page):
    page.locator(".clique-tabs a", has_text="Messages").click()


def write(page, text):
    page.locator(".composer textarea").fill(text)
    page.keyboard.press("Enter")


def meet(windows, first, second, place="Café", **options):
    """Two people in the same place, the second of whom writes; gives their windows."""
    one, two = windows.open(first, **options), windows.open(second, **options)
    for page in (one, two):
        page.get_by_role("button", name=place).click()
    row = two.locator(".person-row", has_text=first)
    expect(row).to_contain_text("Here now")
    row.get_by_role("link", name="Write").click()
    return one, two


def talk(windows, first="Ada", second="Ben", **options):
    one, two = meet(windows, first, second, **options)
    write(two, "Hello, is that you with the big book?")
    messages(one)
    one.get_by_role("button", name=f"Accept the request of {second}").click()
    expect(one.locator(".composer textarea")).to_be_visible()
    expect(one.locator(".bubble")).to_contain_text("big book")
    return one, two


def menu(page, index=-1):
    message = page.locator(".message:not(.is-event)").nth(index)
    message.hover()
    message.get_by_role("button", name=re.compile("^What to do with the message")).click()


def scenario_first_message(windows):
    """A stranger has a conversation with themselves: one name and at most five clicks."""
    clicks = 0
    ada, ben = windows.open("Ada"), windows.open("Ben")
    windows.look(ada, "clique-empty")
    for page in (ada, ben):
        page.get_by_role("button", name="Café").click()
        clicks += 1
    ben.locator(".person-row", has_text="Ada").get_by_role("link", name="Write").click()
    clicks += 1
    write(ben, "Hello Ada, is that you with the big book?")
    expect(ada.locator('#tabs a[data-app="clique"] .badge')).to_have_text("1")
    windows.look(ada, "clique-people")
    messages(ada)
    clicks += 1
    expect(ada.locator(".message-row")).to_contain_text("big book")
    windows.look(ada, "clique-request")
    assert clicks <= 5, f"{clicks} clicks"


def scenario_conversation(windows):
    ada, ben = talk(windows)
    write(ada, "It is! Coffee?")
    expect(ben.locator(".bubble", has_text="Coffee?")).to_be_visible()
    expect(ada.locator(".tick.is-read")).to_have_count(1)
    ben.locator(".composer textarea").press_sequentially("Yes")
    expect(ada.locator(".typing")).to_have_text("Ben is typing…")
    windows.picture(ada, "clique-typing")
    ben.keyboard.press("Enter")
    expect(ada.locator(".typing")).to_have_text("")

    menu(ben, 1)
    windows.look(ben, "clique-message-menu")
    ben.get_by_role("button", name="React with ❤️").click()
    expect(ada.locator(".reaction")).to_have_text("❤️ 1")
    menu(ben, 1)
    ben.get_by_role("button", name="Reply").click()
    write(ben, "Three o'clock at the café, then?")
    expect(ada.locator("button.quote")).to_contain_text("Coffee?")
    ben.locator('input[type="file"]').set_input_files(
        {"name": "beach.png", "mimeType": "image/png", "buffer": PIXELS})
    expect(ben.locator(".composer-note img")).to_be_visible()
    write(ben, "The beach")
    expect(ada.locator("img.message-picture")).to_have_js_property("complete", True)
    expect(ada.locator("img.message-picture")).to_have_attribute("src", re.compile("^blob:"))

    menu(ben, 2)
    ben.get_by_role("button", name="Change").click()
    expect(ben.locator(".composer-note")).to_contain_text("You change: Yes")
    ben.locator(".composer textarea").fill("Yes, gladly")
    ben.keyboard.press("Enter")
    expect(ada.locator(".bubble", has_text="Yes, gladly")).to_contain_text("edited")
    menu(ben, -1)
    ben.get_by_role("button", name="Delete for everybody").click()
    ben.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(ada.locator("img.message-picture")).to_have_count(0)

    ada.get_by_label("Search messages").fill("three")
    hit = ada.locator('[aria-label="Messages found"] a')
    expect(hit).to_have_count(1)
    windows.look(ada, "clique-search")
    hit.click()
    expect(ada.locator(".message.is-target")).to_contain_text("Three o'clock")
    ada.get_by_label("Search messages").fill("")
    windows.look(ada, "clique-chat")


def scenario_left(windows):
    """The other is told that somebody has left, and may ask again."""
    ada, ben = talk(windows)
    write(ada, "It is!")
    expect(ben.locator(".bubble", has_text="It is!")).to_be_visible()
    ben.get_by_role("button", name="What to do with this conversation").click()
    windows.look(ben, "clique-conversation-menu")
    ben.get_by_role("button", name="End the conversation…").click()
    ben.get_by_role("button", name="End it").click()
    expect(ada.locator(".chat-notice")).to_contain_text("Ben has left the conversation")
    expect(ben.locator(".chat-place")).to_contain_text("No conversation is open")
    windows.look(ada, "clique-left")
    write(ada, "Come back!")
    expect(ada.locator(".chat-notice")).to_contain_text("Waits for Ben to accept")
    expect(ben.locator(".message-row")).to_contain_text("Come back!")


def scenario_declining_and_blocking(windows):
    """The difference is explained where it is chosen, and a block can be undone."""
    ada, ben = meet(windows, "Ada", "Ben")
    write(ben, "Buy my lamps")
    messages(ada)
    ada.get_by_role("button", name="Decline or block Ben").click()
    expect(ada.get_by_role("dialog")).to_contain_text("Answers this one request.")
    expect(ada.get_by_role("dialog")).to_contain_text("Keeps the person away from you.")
    windows.look(ada, "clique-decline-or-block")
    ada.get_by_role("dialog").get_by_role("button", name="Block", exact=True).click()
    expect(ada.locator(".message-row")).to_have_count(0)
    # To Ben it looks as if Ada were silent.
    expect(ben.locator(".chat-notice")).to_contain_text("Waits for Ada to accept")
    ada.get_by_role("link", name="Privacy").click()
    expect(ada.locator(".person-row")).to_contain_text("Ben")
    windows.look(ada, "clique-privacy")
    ada.get_by_role("button", name="Unblock Ben").click()
    ada.get_by_role("dialog").get_by_role("button", name="Unblock").click()
    expect(ada.locator(".person-row")).to_have_count(0)
    messages(ada)
    ada.get_by_role("button", name="Requests").click()
    ada.get_by_role("button", name="Decline or block Ben").click()
    ada.get_by_role("dialog").get_by_role("button", name="Decline", exact=True).click()
    expect(ada.locator(".message-row")).to_have_count(0)
    expect(ben.locator(".chat-notice")).to_contain_text("Waits for Ada to accept")


def scenario_profile(windows):
    ada, ben = talk(windows)
    ben.get_by_role("link", name="My profile").click()
    ben.get_by_label("Name", exact=True).fill("Benjamin Blue")
    ben.get_by_label("University").fill("TU Berlin")
    ben.locator('input[type="file"]').set_input_files({"name": "me.png", "mimeType": "image/png", "buffer": PIXELS})
    ben.get_by_role("button", name="Save").click()
    expect(ben.locator(".toast")).to_contain_text("Saved")
    windows.look(ben, "clique-own-profile")
    expect(ada.locator(".chat-head")).to_contain_text("Benjamin Blue")
    ada.get_by_role("link", name="Profile of Benjamin Blue").click()
    expect(ada.locator(".profile")).to_contain_text("TU Berlin")
    expect(ada.locator(".profile .avatar-large img")).to_have_attribute("src", re.compile("^blob:"))
    expect(ada.locator(".meeting")).to_have_count(1)
    expect(ada.locator(".meeting")).to_contain_text("Café")
    windows.look(ada, "clique-profile")


def scenario_meetings(windows):
    """The three latest of four meetings in a profile, and the home screen in both of its orders."""
    windows.server.begin_anew("demo.clock=true")
    ada, ben = windows.open("Ada"), windows.open("Ben")
    here = ada.locator(".person-row", has_text="Ben").locator(".chip", has_text="Here now")
    for place in ("Library", "Park", "Canteen", "Gym"):
        for page in (ada, ben):
            page.get_by_role("button", name=place).click()
        expect(ada.locator(".person-row")).to_contain_text(place)
        expect(here).to_be_visible()
        if place == "Gym":  # The longest of them.
            go(ada, "state")
            section = ada.get_by_role("region", name="Clock of the server")
            section.get_by_role("button", name="+ 1 hour").click()
            expect(section.get_by_role("status")).to_contain_text("The server's clock:")
            go(ada, "clique")
        ben.get_by_role("button", name="Go away").click()
        expect(here).to_be_hidden()
    ada.locator(".person-row a", has_text="Ben").first.click()
    expect(ada.locator(".meeting .strong")).to_have_text(["Gym", "Canteen", "Park"])
    windows.look(ada, "clique-meetings")
    ada.get_by_role("link", name="People").click()

    # Cleo comes last, and so stands first until one asks with whom one was for longest.
    cleo = windows.open("Cleo")
    cleo.get_by_role("button", name="Gym").click()
    names = ada.locator(".person-row .strong")
    expect(names).to_have_text(["Cleo", "Ben"])
    by_time = ada.get_by_role("button", name="Most time together")
    by_time.click()
    expect(by_time).to_have_attribute("aria-pressed", "true")
    expect(names).to_have_text(["Ben", "Cleo"])
    expect(ada.locator(".person-row", has_text="Ben")).to_contain_text("1 h")
    windows.look(ada, "clique-most-time")
    ada.get_by_role("button", name="Recently").click()
    expect(names).to_have_text(["Cleo", "Ben"])


def scenario_devices(windows):
    """A third window as the same person: what is read, drafted and sent on one device shows on the other."""
    ada, ben = talk(windows)
    phone = windows.open("Ada", width=360, height=740, touch=True)
    expect(phone.locator(".person-row")).to_contain_text("Ben")
    windows.look(phone, "phone-people")
    messages(phone)
    expect(phone.locator(".message-row")).to_contain_text("big book")
    windows.look(phone, "phone-messages")
    phone.locator(".message-row a").click()
    expect(phone.locator(".bubble")).to_contain_text("big book")
    phone.locator(".composer textarea").fill("From my phone")
    phone.get_by_role("button", name="Send", exact=True).click()
    for page in (ada, ben):
        expect(page.locator(".bubble", has_text="From my phone")).to_be_visible()
    windows.look(phone, "phone-chat")
    ada.locator(".composer textarea").fill("a draft of Ada's")
    ada.get_by_role("link", name="People").click()
    phone.get_by_role("button", name="Back to the messages").click()
    expect(phone.locator(".message-row")).to_contain_text("Draft: a draft of Ada's")


def scenario_group(windows):
    ada, ben = talk(windows)
    cleo = windows.open("Cleo", dark=True)
    cleo.get_by_role("button", name="Café").click()
    cleo.locator(".person-row", has_text="Ada").get_by_role("link", name="Write").click()
    write(cleo, "And I am Cleo")
    messages(ada)
    ada.get_by_role("button", name="Requests").click()
    ada.get_by_role("button", name="Accept the request of Cleo").click()
    expect(ada.locator(".bubble")).to_contain_text("I am Cleo")
    ada.get_by_role("button", name="New group").click()
    ada.get_by_label("Name of the group").fill("Book club")
    for name in ("Ben", "Cleo"):
        ada.get_by_role("checkbox", name=name).check()
    windows.look(ada, "clique-new-group")
    ada.get_by_role("button", name="Create the group").click()
    expect(ada.locator(".chat-head")).to_contain_text("Book club")
    write(ada, "Welcome! @Cleo brings the tea")
    cleo.locator(".message-row", has_text="Book club").locator("a").click()
    expect(cleo.locator(".bubble", has_text="brings the tea")).to_be_visible()
    write(cleo, "With milk?")
    expect(ada.locator(".bubble", has_text="With milk?")).to_be_visible()
    expect(cleo.locator(".typing")).to_have_text("")
    windows.look(cleo, "clique-group-dark")
    ada.get_by_role("button", name="Book club: members and more").click()
    dialog = ada.get_by_role("dialog")
    expect(dialog.locator(".member-row")).to_have_count(3)
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog.get_by_label("Link into the group")).to_have_value(re.compile("#/clique/join/"))
    windows.look(ada, "clique-group-page")
    dialog.get_by_role("button", name="Remove Cleo from the group").click()
    expect(cleo.locator(".message-row", has_text="Book club")).to_have_count(0)


def scenario_offline(windows):
    """A device that is offline says what waits; nothing is lost and nothing comes twice."""
    ada, ben = talk(windows)
    with windows.forgiving():
        ada.context.set_offline(True)
        # The browser keeps a socket that is open: the server's silence is noticed by the page's own watch.
        expect(ada.locator("#connection")).to_contain_text("No connection", timeout=60_000)
        write(ada, "Written in the tunnel")
        expect(ada.locator("#connection")).to_contain_text("1 message of yours waits in this window and goes out")
        expect(ada.locator(".message.is-mine")).to_contain_text("waits to be sent")
        windows.look(ada, "clique-offline")
        write(ben, "Are you there?")
        expect(ben.locator(".bubble", has_text="Are you there?")).to_be_visible()
        ada.context.set_offline(False)
        expect(ben.locator(".bubble", has_text="Written in the tunnel")).to_have_count(1, timeout=60_000)
        expect(ada.locator(".bubble", has_text="Are you there?")).to_have_count(1)
        expect(ada.locator(".bubble", has_text="Written in the tunnel")).to_have_count(1)
    expect(ada.locator(".message.is-mine")).not_to_contain_text("waits to be sent")


def scenario_killed_server(windows):
    """The server is killed while somebody writes: what was sent stays, what was written goes out."""
    ada, ben = talk(windows)
    write(ada, "Before")
    expect(ben.locator(".bubble", has_text="Before")).to_be_visible()
    with windows.forgiving():
        windows.server.kill()
        expect(ada.locator("#connection")).to_contain_text("No connection")
        write(ada, "While it was away")
        expect(ada.locator(".message.is-mine", has_text="While it was away")).to_contain_text("waits to be sent")
        windows.server.start()
        for page in (ada, ben):
            expect(page.locator(".bubble", has_text="While it was away")).to_have_count(1, timeout=60_000)
            expect(page.locator(".bubble", has_text="Before")).to_have_count(1)
        expect(ada.locator("#connection")).to_be_hidden()
    write(ben, "After")
    expect(ada.locator(".bubble", has_text="After")).to_have_count(1)


def scenario_keyboard(windows):
    """Without a mouse: from signing in to an answer."""
    ben = windows.open("Ben")
    ben.get_by_role("button", name="Park").press("Enter")
    ada = windows.open()
    expect(ada.get_by_label("Your name", exact=True)).to_be_focused()
    ada.keyboard.type("Ada")
    ada.keyboard.press("Enter")
    expect(ada.locator(".campus")).to_be_visible()
    for _ in range(40):
        ada.keyboard.press("Tab")
        if ada.evaluate("document.activeElement.textContent").endswith("Park"):
            break
    ada.keyboard.press("Space")
    expect(ada.locator(".person-row")).to_contain_text("Ben")
    for _ in range(40):
        ada.keyboard.press("Tab")
        if ada.evaluate("document.activeElement.textContent") == "Write":
            break
    windows.picture(ada, "clique-keyboard")
    ada.keyboard.press("Enter")
    expect(ada.locator(".composer textarea")).to_be_focused()
    ada.keyboard.type("Only keys")
    ada.keyboard.press("Enter")
    messages(ben)
    expect(ben.locator(".message-row")).to_contain_text("Only keys")
    # A dialog takes the focus, and gives it back.
    ada.get_by_role("button", name="What to do with this conversation").press("Enter")
    expect(ada.get_by_role("dialog")).to_be_visible()
    ada.keyboard.press("Escape")
    expect(ada.get_by_role("button", name="What to do with this conversation")).to_be_focused()


def scenario_dialog_gives_way(windows):
    """Whoever goes on writing at once when a dialog closes is not taken away from it."""
    _, ada = talk(windows, "Ben", "Ada")
    menu(ada)
    ada.evaluate("""() => {
      document.querySelector('dialog button[aria-label^="React with"]').click();
      document.querySelector('.composer textarea').focus();
    }""")
    expect(ada.get_by_role("dialog")).to_have_count(0)
    expect(ada.locator(".composer textarea")).to_be_focused()


def scenario_picture(windows):
    """The picture in the README, light and dark: it is as old as the pages are (`make pictures` takes it over)."""
    size = {"width": 1120, "height": 680}
    ben, ada = talk(windows, "Ben", "Ada", **size)
    write(ben, "It is! They have the second volume, too. ☕?")
    expect(ada.locator(".bubble", has_text="second volume")).to_be_visible()
    menu(ada)
    ada.get_by_role("button", name="React with ❤️").click()
    write(ada, "Three o'clock, under the big tree?")
    expect(ben.locator(".bubble", has_text="big tree")).to_be_visible()
    menu(ben)
    ben.get_by_role("button", name="Reply").click()
    write(ben, "I'll bring Cleo")
    expect(ada.locator("button.quote")).to_be_visible()
    cleo = windows.open("Cleo", **size)
    cleo.get_by_role("button", name="Café").click()
    cleo.locator(".person-row", has_text="Ada").get_by_role("link", name="Write").click()
    write(cleo, "Hi, I'm the friend with the cake")
    expect(ada.locator(".filters .badge").first).to_have_text("1")
    ben.locator(".composer textarea").press_sequentially("And")
    expect(ada.locator(".toast")).to_have_count(0)
    expect(ada.locator(".typing")).to_have_text("Ben is typing…")
    ada.locator(".composer textarea").blur()
    ada.mouse.move(2, 600)
    windows.picture(ada, "demo")
    ada.emulate_media(color_scheme="dark", reduced_motion="reduce")
    windows.picture(ada, "demo-dark")
    for name in ("demo", "demo-dark"):
        windows.resembles(name)


def scenario_markup(windows):
    """What people write is text, whatever it looks like."""
    ada, ben = talk(windows)
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    write(ben, evil)
    expect(ada.locator(".bubble", has_text="onerror")).to_contain_text(evil)
    ben.get_by_role("link", name="My profile").click()
    ben.get_by_label("Name", exact=True).fill("<b onmouseover=x>Ben</b>")
    ben.get_by_role("button", name="Save").click()
    expect(ada.locator(".chat-head")).to_contain_text("<b onmouseover=x>Ben</b>")
    assert "owned" not in ada.title() and ada.locator("main b, main script").count() == 0


def scenario_colours(windows):
    """Initials can be read on the colour of any name."""
    ada = windows.open("Ada")
    expect(ada.get_by_role("heading", name="Where are you?")).to_be_visible()
    ada.evaluate("""async () => {
        const { avatar } = await import("/demo/ui.js");
        const all = document.createElement("div");
        all.append(...Array.from({ length: 360 }, (_, hue) => {
            const element = avatar("Ada Byron");
            element.style.setProperty("--hue", hue);
            return element;
        }));
        document.querySelector("main").replaceChildren(all);
    }""")
    expect(ada.locator("main .avatar")).to_have_count(360)
    windows.look(ada, "colours")


if __name__ == "__main__":
    run([
        scenario_first_message, scenario_conversation, scenario_left, scenario_declining_and_blocking,
        scenario_profile, scenario_meetings, scenario_devices, scenario_group, scenario_offline, scenario_killed_server,
        scenario_keyboard, scenario_dialog_gives_way, scenario_picture, scenario_markup, scenario_colours,
    ])
