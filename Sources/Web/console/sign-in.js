// Asks for the password: on the whole page to begin with, and in a dialog over the page where a session has ended.

import { announce, field, fill, h, openDialog, sentence } from "./ui.js";
import { signIn } from "./server.js";

/** A form that calls `done` when the password was taken. */
function form(title, text, done) {
  const password = field("Password", {
    type: "password", name: "password", autocomplete: "current-password", required: true, maxlength: 1024,
  }, "The first start of the server has printed it on its terminal. “fanfare console password” makes a new one.");
  const problem = h("p", { class: "field-error", role: "alert" });
  const submit = h("button", { type: "submit", class: "button button-primary" }, "Sign in");
  const onSubmit = async (event) => {
    event.preventDefault();
    if (!password.input.value) {
      problem.textContent = "Type the password.";
      return password.input.focus();
    }
    submit.disabled = true;
    problem.textContent = "";
    try {
      await signIn(password.input.value);
      done();
    } catch (error) {
      problem.textContent = sentence(error);
      password.input.setAttribute("aria-invalid", "true");
      password.input.select();
    } finally {
      submit.disabled = false;
    }
  };
  // Managers of passwords keep one by a name; there is one operator here.
  const name = h("input", {
    class: "visually-hidden", name: "username", autocomplete: "username", value: "operator", readOnly: true,
    tabindex: "-1", "aria-hidden": true,
  });
  const element = h("form", { class: "stack", novalidate: true, on: { submit: onSubmit } },
    title, text, name, password.element, problem, submit);
  return { element, input: password.input };
}

/** The whole page asks. Settles when the password was taken. */
export function showSignIn(main) {
  return new Promise((resolve) => {
    const { element, input } = form(
      h("h1", {}, "Sign in"),
      h("p", { class: "soft" }, "This is the console of a Fanfare server, for those who run it."), resolve);
    element.classList.add("card");
    fill(main, h("div", { class: "welcome" }, element));
    input.focus();
  });
}

/** A dialog over the page asks, until the password was taken: nothing of what was typed below it is lost. */
export async function askAgain() {
  announce("Your session has ended. Sign in again.", { urgent: true });
  for (let isIn = false; !isIn;) {
    isIn = await openDialog("Your session has ended", (close) => {
      const { element, input } = form(
        null, h("p", {}, "Sign in again: the page, and what you have typed, stay as they are."), () => close(true));
      queueMicrotask(() => input.focus());
      return element;
    });
  }
}
