// The script of the local page. All markup comes from the server, which escapes it; nothing here makes markup from text.
"use strict";

(() => {
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("page", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const byId = (id) => document.getElementById(id);

  // The token comes in the fragment, which no server sees, and stays in this tab. Other ports cannot read it, as they could
  // a cookie.
  const given = /^#token=([a-z2-7]{16,})$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", `${location.pathname}#/`);
  }
  const token = sessionStorage.getItem("token");

  const ask = (path, body) =>
    fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });

  const fill = (element, markup) => {
    element.innerHTML = policy.createHTML(markup);
  };

  const say = (text, state) => {
    const live = byId("live");
    if (live.textContent !== text) live.textContent = text;
    live.className = `live ${state}`;
  };

  const plain = (text) => {
    const main = document.createElement("main");
    main.id = "main";
    const line = document.createElement("p");
    line.className = "empty";
    line.textContent = text;
    main.append(line);
    byId("view").replaceChildren(main);
  };

  // The checkpoint that is shown: of the current session, of a session, or one of its own.
  const route = () => {
    const found = /^#\/([sc])\/(.+)$/.exec(location.hash);
    if (!found) return { selector: "@", follows: true };
    return { selector: decodeURIComponent(found[2]), session: found[1] === "s" ? decodeURIComponent(found[2]) : undefined, follows: found[1] === "s" };
  };

  const markups = new Map();
  const part = async (path, element, keep) => {
    const answer = await ask(path);
    const markup = await answer.text();
    if (markups.get(element) === markup) return answer.ok;
    markups.set(element, markup);
    const folds = new Map();
    let focus;
    if (keep) {
      element.querySelectorAll("details[id]").forEach((one) => folds.set(one.id, one.open));
      focus = element.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : undefined;
    }
    const top = window.scrollY;
    fill(element, markup);
    folds.forEach((open, id) => {
      const one = byId(id);
      if (one) one.open = open;
    });
    if (keep) window.scrollTo(0, top);
    if (focus) (byId(focus)?.querySelector("summary") ?? byId(focus))?.focus({ preventScroll: true });
    return answer.ok;
  };

  let shown = "";
  const mark = () => {
    const { session } = route();
    document.querySelectorAll("#sessions a").forEach((link) => {
      const is = session ? link.hash === location.hash : location.hash.length < 3 && link.getAttribute("aria-current");
      link.classList.toggle("open", Boolean(is));
    });
  };

  const refresh = async (all) => {
    const { selector, follows } = route();
    const same = shown === selector;
    const jobs = [part("/api/status", byId("status"), false), part("/api/sessions", byId("sessions"), false)];
    if (all || follows || !same) {
      shown = selector;
      jobs.push(part(`/api/checkpoint?of=${encodeURIComponent(selector)}`, byId("view"), same));
    }
    await Promise.all(jobs);
    mark();
  };

  // Live changes: server-sent events, read from a request that carries the token, which EventSource cannot.
  const follow = async () => {
    let wait = 250;
    for (;;) {
      try {
        const answer = await ask("/api/events");
        if (answer.status === 401) {
          say("Not allowed", "off");
          return;
        }
        if (!answer.ok) throw new Error(answer.statusText);
        say("Live", "on");
        wait = 250;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          rest += value;
          const events = rest.split("\n\n");
          rest = events.pop();
          if (events.some((event) => event.includes("event: change"))) await refresh(false);
        }
      } catch {
        // The server ended, or the machine slept.
      }
      say("Disconnected", "off");
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(wait * 2, 5000);
    }
  };

  const dialog = byId("dialog");
  let pending;

  const plan = async (request) => {
    pending = request;
    const answer = await ask("/api/plan", request);
    fill(dialog, await answer.text());
    if (!dialog.open) dialog.showModal();
    (dialog.querySelector("input:not([readonly]), textarea:not([readonly])") ?? dialog.querySelector("button"))?.focus();
  };

  const act = async () => {
    const form = dialog.querySelector("form");
    const text = form.querySelector("input, textarea")?.value;
    if (form.dataset.step === "fill") {
      await plan({ ...pending, text });
      return;
    }
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    const answer = await ask("/api/act", { ...pending, text, plan: form.dataset.plan });
    const markup = await answer.text();
    button.disabled = false;
    if (!answer.ok) {
      fill(byId("dialog-error"), markup);
      return;
    }
    // A warning is to be read; all else shows on the page.
    fill(dialog, markup);
    if (dialog.querySelector(".alert")) dialog.querySelector("[data-close]").focus();
    else dialog.close();
    await refresh(true);
    say("Done", "on");
    setTimeout(() => say("Live", "on"), 2000);
  };

  const save = async (format) => {
    const answer = await ask(`/api/export?of=${encodeURIComponent(route().selector)}`);
    if (!answer.ok) {
      fill(dialog, await answer.text());
      dialog.showModal();
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `checkpoint.${format}`;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button, a");
    const menu = byId("menu");
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
    if (!target) return;
    if (target.dataset.action) {
      if (menu) menu.open = false;
      const session = document.querySelector(".report")?.dataset.session;
      plan({ action: target.dataset.action, checkpoint: route().selector, session, item: target.dataset.item });
    } else if (target.dataset.export) {
      if (menu) menu.open = false;
      save(target.dataset.export);
    } else if (target.dataset.close) {
      dialog.close();
    } else if (target.tagName === "A" && target.hash && !target.hash.startsWith("#/")) {
      event.preventDefault();
      const section = byId(target.hash.slice(1));
      const fold = section?.querySelector(":scope > details");
      if (fold) fold.open = true;
      section?.scrollIntoView();
      (fold?.querySelector("summary") ?? section)?.focus({ preventScroll: true });
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = byId("menu");
    if (event.key === "Escape" && menu?.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });
  window.addEventListener("hashchange", () => refresh(false).then(() => window.scrollTo(0, 0)));

  if (!token) {
    say("Not allowed", "off");
    plain("Open the address that 'git checkpoint serve' printed: it has the token of this run.");
    return;
  }
  // Ages go on.
  setInterval(() => {
    if (!document.hidden) Promise.all([part("/api/status", byId("status"), true), part("/api/sessions", byId("sessions"), true)]).then(mark, () => {});
  }, 30000);
  refresh(true).catch(() => say("Disconnected", "off"));
  follow();
})();
