// Addresses of pages: everything that one looks at has one, which can be kept and sent to somebody.

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** `#/channels/chat%3A42?view=tail` → `{ path: ["channels", "chat:42"], query: { view: "tail" } }`. */
export function readAddress(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/u, "").split(/\?(.*)/su);
  return {
    path: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** The address of a page: `addressOf(["channels", name], { view: "tail" })`. What is empty is left out of the query. */
export function addressOf(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
