"""What the scenarios of State, Six to Eight, Favorites, Idealic and the busy channel share."""

import functools

from harness import expect, run

PHONE = {"width": 360, "height": 740}


def go(page, app):
    """Opens an app by its tab."""
    page.locator(f'#tabs a[data-app="{app}"]').click()
    expect(page.locator(f".app-{app} h1").first).to_be_visible()
    return page


def tab_to(page, ready, most=60):
    """Goes on with the tabulator until the focus is where `ready`, an expression of the element `at`, is true."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"(() => {{ const at = document.activeElement; return Boolean({ready}); }})()"):
            return
    raise AssertionError(f"the tabulator does not reach {ready}")


def lose(page):
    """Takes the page's network away, and waits until the page says that it has noticed.

    The browser keeps a socket that is open: the server's silence is noticed by the page's own watch.
    """
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("No connection", timeout=90_000)


def find_again(page):
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_be_hidden(timeout=90_000)


def run_apps(scenarios, settings=()):
    """Runs scenarios `(windows, pictures)`; `pictures(page, name)` keeps a picture that axe has looked at, too."""

    def with_pictures(scenario):
        @functools.wraps(scenario)
        def call(windows):
            scenario(windows, windows.look)

        return call

    run([with_pictures(scenario) for scenario in scenarios], settings)
