"use strict";
// Opens transcripts from the data blocks of this page. Every text becomes a text node: nothing that
// a model wrote is ever read as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  if (!byId("meta")) return;
  const read = (id) => JSON.parse(byId(id).textContent);
  const meta = read("meta");
  const opened = new Map();
  const load = (key) => {
    if (!opened.has(key)) opened.set(key, read(`trial-${key}`));
    return opened.get(key);
  };
  let shelf = null;
  const given = (number) => (shelf ??= read("texts"))[number] ?? "";
  const [left, right, panes, status] = ["left", "right", "panes", "status"].map(byId);
  const LONG = 6000;
  let code = null;
  let place = -1;

  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  };
  const own = (object, key, other) => (Object.hasOwn(object, key) ? object[key] : other);
  const meaningOf = (name) => own(meta.meanings, name, "");
  const count = (n) => n.toLocaleString("en");
  const plural = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
  const titleOf = (key) => meta.trials.find((trial) => trial.key === key)?.title ?? key;
  const has = (step) => !code || step.found.some((finding) => finding.code === code);

  const filled = (target, pieces, found) => {
    for (const piece of pieces) {
      if (typeof piece === "string") {
        target.append(piece);
      } else {
        const names = [...new Set(piece[1].map((index) => found[index].code))];
        const title = names.map((name) => `${name}: ${meaningOf(name)}`).join("; ");
        target.append(el("mark", { title, tabindex: "-1", "data-codes": names.join(" ") }, piece[0]));
      }
    }
  };
  const clipped = (pieces) => {
    let room = LONG;
    const kept = [];
    for (const piece of pieces) {
      if (room <= 0) break;
      const text = typeof piece === "string" ? piece : piece[0];
      const start = text.slice(0, room);
      kept.push(typeof piece === "string" ? start : [start, piece[1]]);
      room -= text.length;
    }
    return kept;
  };
  const block = (pieces, found) => {
    const size = pieces.reduce((sum, p) => sum + (typeof p === "string" ? p : p[0]).length, 0);
    const pre = el("pre", { dir: "auto", class: size > LONG ? "long" : null, tabindex: "0" });
    if (size <= LONG + 500 || pieces.some((piece) => typeof piece !== "string")) {
      filled(pre, pieces, found);
      return [pre];
    }
    filled(pre, clipped(pieces), found);
    const more = el("button", { type: "button", class: "more" }, `Show all ${count(size)} characters`);
    more.addEventListener("click", () => {
      pre.replaceChildren();
      filled(pre, pieces, found);
      more.remove();
      pre.focus();
    });
    return [pre, more];
  };
  const folded = (title, number) => {
    const details = el("details", { class: "text" }, el("summary", {}, title));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(...block([given(number)], []));
    });
    return details;
  };
  const partOf = (part, found) => {
    const names = { reasoning: "Reasoning", content: "Content", arguments: "Argument", file: "Text of the file" };
    const where = part.path ? ` ${part.path}` : "";
    const loops = part.channel === "reasoning" || part.channel === "content"
      ? found.filter((finding) => finding.channel === part.channel && finding.code.endsWith("loop")).length : 0;
    const title = `${names[part.channel] ?? part.channel}${where}, ${plural(part.chars, "character")}`;
    return [el("h4", {}, `${title} `, loops ? el("span", { class: "chip fault" }, plural(loops, "loop")) : ""),
      ...block(part.pieces, found)];
  };
  const callOf = (call, found) => {
    const state = call.state.split(" ")[0];
    const head = el("h4", {}, el("bdi", {}, call.name), " ", el("span", { class: `chip ${state}` }, call.state));
    const node = el("div", { class: "call" }, head, call.brief ? el("p", { class: "muted" }, call.brief) : null);
    if (call.raw_name) node.append(el("p", {}, `Named as: ${call.raw_name}`));
    if (call.error) node.append(el("p", {}, `The tool refused: ${call.error}`));
    for (const part of call.parts) node.append(...partOf(part, found));
    if (call.answer !== undefined) {
      node.append(folded(`Answer of the tool, ${plural(given(call.answer).length, "character")}`, call.answer));
    }
    return node;
  };
  const findingOf = (finding) => el("li", {}, el("span", { class: "chip fault" }, finding.code), " ",
    meaningOf(finding.code), ` (${finding.side}${finding.channel ? `, ${finding.channel}` : ""}`,
    finding.context ? `, at ${count(finding.context)} tokens)` : ")",
    finding.excerpt ? el("div", {}, el("bdi", {}, finding.excerpt)) : null,
    finding.detail ? el("div", { class: "muted" }, finding.detail) : null);
  const factsOf = (step) => {
    const counted = step.counted === "server" ? "" : " (tokenizer)";
    const known = [
      step.context === null ? "active context not known" : `active context ${count(step.context)} tokens${counted}`,
      step.prompt === null ? null : `prompt ${count(step.prompt)}`,
      step.cached === null ? null : `of it cached ${count(step.cached)}`,
      step.out === null ? null : `answer ${count(step.out)}`,
      step.thought === null ? null : `of it reasoning ${count(step.thought)}`,
      step.ttft === null ? null : `first token after ${step.ttft} s`,
      `step took ${step.seconds} s`, `began at ${step.at} s`,
      step.finish === null ? "no finish reason" : `finish reason ${step.finish}`];
    return el("p", { class: "facts" }, ...known.filter(Boolean).map((text) => el("span", {}, text)));
  };
  const body = (step) => {
    const node = el("div", {}, factsOf(step));
    if (step.found.length) node.append(el("ul", {}, ...step.found.map(findingOf)));
    for (const attempt of step.tries) {
      const said = attempt.error || "answer not accepted";
      const waited = attempt.waited ? `, waited ${attempt.waited} s` : "";
      node.append(el("p", {}, `Attempt ${attempt.number}: ${attempt.status === null ? "" : `HTTP ${attempt.status}, `}${said} (${attempt.action}${waited})`));
      for (const part of attempt.parts) node.append(...partOf(part, step.found));
    }
    for (const part of step.parts) node.append(...partOf(part, step.found));
    for (const call of step.calls) node.append(callOf(call, step.found));
    for (const message of step.after) node.append(folded(`Told by ${message.role}`, message.text));
    return node;
  };
  const fill = (details) => {
    if (details.childElementCount > 1) return;
    details.append(body(load(details.dataset.key).steps[Number(details.dataset.at)]));
    dim(details);
  };
  const calledIn = (step) => {
    const times = new Map();
    for (const call of step.calls) times.set(call.name, (times.get(call.name) ?? 0) + 1);
    const told = [...times].slice(0, 4).map(([name, n]) => (n > 1 ? `${n} × ${name}` : name));
    return told.join(", ") || "no call";
  };
  const stepOf = (key, at, step) => {
    const codes = [...new Set(step.found.map((finding) => finding.code))];
    const unfinished = step.calls.filter((call) => call.state === "unfinished").length;
    const details = el("details", { class: "step", "data-key": key, "data-at": at, "data-n": step.n },
      el("summary", {}, el("b", {}, `Step ${step.n}`),
        el("span", { class: "muted" }, calledIn(step)),
        el("span", { class: "muted" }, step.context === null ? "" : plural(step.context, "token")),
        el("span", { class: "muted" }, `${step.seconds} s`),
        unfinished ? el("span", { class: "chip unfinished" }, plural(unfinished, "unfinished call")) : null,
        ...codes.map((name) => el("span", { class: "chip fault" }, name))));
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      fill(details);
    });
    details.firstElementChild.addEventListener("click", () => {
      const twin = [...panes.querySelectorAll(`.step[data-n="${details.dataset.n}"]`)].find((other) => other !== details);
      if (twin) twin.open = !details.open;
    });
    return details;
  };
  const headOf = (key) => {
    const data = load(key);
    const node = el("div", { class: "head" }, el("h3", {}, titleOf(key)),
      data.end ? el("p", { class: "muted" }, data.end) : null,
      data.damage ? el("p", {}, `The record is damaged: ${data.damage}`) : null);
    for (const message of data.start) {
      node.append(folded(`${message.role}, ${plural(given(message.text).length, "character")}`, message.text));
    }
    if (data.found.length) node.append(el("ul", {}, ...data.found.map(findingOf)));
    return node;
  };
  const show = () => {
    const keys = [left.value, right.value].filter(Boolean);
    panes.replaceChildren();
    place = -1;
    if (!keys.length) return;
    panes.classList.toggle("two", keys.length === 2);
    panes.append(...keys.map(headOf));
    const sides = keys.map((key) => new Map(load(key).steps.map((step, at) => [step.n, [at, step]])));
    const numbers = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort((a, b) => a - b);
    let hidden = 0;
    for (const n of numbers) {
      if (!sides.some((side) => side.has(n) && has(side.get(n)[1]))) {
        hidden += 1;
        continue;
      }
      sides.forEach((side, which) => {
        const known = side.get(n);
        panes.append(known ? stepOf(keys[which], ...known)
          : el("div", { class: "gap muted" }, `No step ${n} in ${titleOf(keys[which])}`));
      });
    }
    const shown = `${plural(numbers.length - hidden, "step")} of ${count(numbers.length)} shown`;
    status.textContent = `${keys.map(titleOf).join(" beside ")}: ${shown}${code ? `, those with ${code}` : ""}.`
      + (code && hidden === numbers.length ? " Findings of a whole trial stand above its steps." : "");
    history.replaceState(null, "", `#trial-${keys.join(",")}`);
  };
  const dim = (root) => {
    for (const mark of root.querySelectorAll("mark")) {
      mark.hidden = false;
      mark.classList.toggle("other", Boolean(code) && !mark.dataset.codes.split(" ").includes(code));
    }
  };
  const walk = (direction) => {
    const steps = [...panes.querySelectorAll(".step")].filter((details) => {
      const step = load(details.dataset.key).steps[Number(details.dataset.at)];
      return step.found.length && has(step);
    });
    const targets = steps.flatMap((details) => {
      fill(details);
      const marks = [...details.querySelectorAll("mark:not(.other)")];
      return (marks.length ? marks : [details.firstElementChild]).map((target) => [details, target]);
    });
    if (!targets.length) {
      status.textContent = "No step shown here has a finding.";
      return;
    }
    place = place < 0 && direction < 0 ? targets.length - 1 : (place + direction + targets.length) % targets.length;
    const [details, target] = targets[place];
    details.open = true;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
    status.textContent = `Finding ${place + 1} of ${targets.length}: ${titleOf(details.dataset.key)}, step ${details.dataset.n}.`;
  };
  const filter = (wanted) => {
    code = wanted === code ? null : wanted;
    for (const button of document.querySelectorAll("[data-code]")) {
      button.setAttribute("aria-pressed", String(button.dataset.code === code));
    }
    for (const tile of document.querySelectorAll("[data-open]")) {
      const trial = meta.trials.find((one) => one.key === tile.dataset.open);
      tile.toggleAttribute("data-dim", Boolean(code) && !(trial && own(trial.codes, code, 0)));
    }
    const having = meta.trials.filter((trial) => code && own(trial.codes, code, 0));
    if (having.length && !having.some((trial) => trial.key === left.value)) left.value = having[0].key;
    show();
    if (!left.value && code) status.textContent = "No trial has it.";
  };
  const begin = () => {
    left.append(el("option", { value: "" }, "choose"));
    right.append(el("option", { value: "" }, "nothing"));
    for (const trial of meta.trials) {
      left.append(el("option", { value: trial.key }, trial.title));
      right.append(el("option", { value: trial.key }, trial.title));
    }
    byId("controls").hidden = false;
    left.addEventListener("change", show);
    right.addEventListener("change", show);
    byId("next").addEventListener("click", () => walk(1));
    byId("previous").addEventListener("click", () => walk(-1));
    byId("unfold").addEventListener("click", () => {
      const steps = [...panes.querySelectorAll(".step")];
      const open = steps.some((details) => !details.open);
      for (const details of steps) details.open = open;
    });
    for (const button of document.querySelectorAll("[data-code]")) {
      button.addEventListener("click", () => filter(button.dataset.code));
    }
    for (const tile of document.querySelectorAll("[data-open]")) {
      tile.addEventListener("click", () => {
        left.value = tile.dataset.open;
        show();
        byId("transcripts").scrollIntoView();
        left.focus({ preventScroll: true });
      });
    }
    const [, named] = location.hash.match(/^#trial-([\d.,]+)$/) ?? [];
    if (named) {
      const known = named.split(",").filter((key) => meta.trials.some((trial) => trial.key === key));
      [left.value, right.value] = [known[0] ?? "", known[1] ?? ""];
      show();
      byId("transcripts").scrollIntoView();
    }
  };
  begin();
})();
