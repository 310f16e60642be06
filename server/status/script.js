// Brings the page up to date while it is looked at. Without this the page is whole all the same, and reloads itself.
"use strict";

const period = 5000;

// Whether somebody is about to copy something that would go.
function isSelecting() {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed;
}

function bringOver(old, fresh) {
  for (const details of old.querySelectorAll("details[id]")) {
    const same = fresh.querySelector("#" + CSS.escape(details.id));
    if (same === null) continue;
    same.open = details.open;
    const text = details.querySelector("pre"), sameText = same.querySelector("pre");
    // What is looked at stays the same element, with its place in a long text.
    if (text !== null && sameText !== null && text.textContent === sameText.textContent) sameText.replaceWith(text);
  }
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const id = focused === null ? null : focused.closest("[id]").id;
  const href = focused === null ? null : focused.getAttribute("href");
  old.replaceWith(fresh);
  const links = [...fresh.querySelectorAll("a")];
  const target = href === null ? document.querySelector("#" + CSS.escape(id || "live") + " > summary")
                               : links.find((link) => link.getAttribute("href") === href);
  if (focused !== null && target) target.focus({preventScroll: true});
}

async function refresh() {
  if (document.hidden || isSelecting()) return;
  const lost = document.querySelector(".lost");
  try {
    const answer = await fetch(location.pathname, {cache: "no-store"});
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    bringOver(document.querySelector("main"), document.adoptNode(page.querySelector("main")));
    lost.hidden = true;
  } catch {
    lost.hidden = false;
  }
}

setInterval(refresh, period);
document.addEventListener("visibilitychange", refresh);
