// Live pages: when the log has changed, fetch this page again and renew the parts marked data-region.
// Without this script every page is whole; it only stands still.
"use strict";

(() => {
  // Where the row of pages is longer than a phone is wide, the page that is open is seen in it.
  const row = document.querySelector(".top nav ul"), here = row && row.querySelector("[aria-current]");
  if (here) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;

  const said = document.getElementById("live");
  const pause = document.getElementById("pause");
  const regions = () => document.querySelectorAll("[data-region]");
  if (!said || !window.EventSource || !regions().length) return;

  let paused = false, stale = false, busy = false, again = null;

  const show = (text, kind) => {
    if (said.textContent !== text) said.textContent = text;
    said.className = kind;
  };

  // A part that somebody is in keeps still: focus, a selection or an opened detail would be lost.
  const inUse = (region) => {
    const selection = window.getSelection();
    return (region.contains(document.activeElement) && document.activeElement !== region)
      || (selection && !selection.isCollapsed && region.contains(selection.anchorNode));
  };

  const renew = (page) => {
    for (const region of regions()) {
      const fresh = page.getElementById(region.id);
      if (!fresh || inUse(region) || fresh.innerHTML === region.innerHTML) continue;
      const open = [...region.querySelectorAll("details")].map((each) => each.open);
      const left = [...region.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      region.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
      region.querySelectorAll("details").forEach((each, at) => { each.open = open[at] || false; });
      region.querySelectorAll(".scroll").forEach((each, at) => { each.scrollLeft = left[at] || 0; });
    }
  };

  const refresh = async () => {
    if (paused || document.hidden) { stale = true; return; }
    if (busy) { stale = true; return; }
    busy = true;
    stale = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* the event stream says that the server is gone */ }
    busy = false;
    if (stale) { clearTimeout(again); again = setTimeout(refresh, 1000); }
  };

  let source = null;
  let known = document.body.dataset.version; // what this page was made from
  const heard = (event) => {
    if (event.data !== known) refresh();
    known = event.data;
    show(paused ? "paused" : "live", paused ? "" : "on");
  };
  const listen = () => {
    source = new EventSource("/live");
    source.addEventListener("hello", heard);
    source.addEventListener("changed", heard);
    source.addEventListener("error", () => {
      show("not connected", "off");
      // A refusal, such as that too many listen already, ends an event source for good.
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 10000);
    });
  };
  listen();

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    show(paused ? "paused" : "live", paused ? "" : "on");
    if (!paused && stale) refresh();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) refresh(); });
  window.addEventListener("pagehide", () => source.close());
})();
