// Places the arcs that the page's markup holds: only the browser knows where the words stand.
// An arc has a leg on each of its two boxes and a run along a line, or two runs joined by a lane in the margin.
"use strict";
(() => {
  const FIRST = 13, LEVEL = 15, LAST = 8; // heights: from a line's boxes to the first run, between runs, over the last
  const APART = 8, LEGS = 12, LANES = 6; // widths: between runs side by side, legs of one box, lanes of one margin
  const CORNER = 6, TIP = 5, CLEAR = 5; // sizes: of a corner, of an arrow head, of the space around a label
  const SAME_LINE = 6; // boxes of one line are centred this close, those of two lines never are

  const middle = ({ stem }) => (stem.left + stem.right) / 2;
  const centre = (rect) => (rect.top + rect.bottom) / 2;
  const round = (number) => Math.round(number * 10) / 10;

  function grouped(items, key) {
    const groups = new Map();
    for (const item of items) groups.get(key(item))?.push(item) ?? groups.set(key(item), [item]);
    return groups;
  }

  // The boxes of all entities, several for one that wraps or crosses another, each with the number of its line.
  function measured({ svg, text }) {
    const origin = svg.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(text);
    const centres = [...range.getClientRects()].map(centre).sort((a, b) => a - b);
    const lines = centres.filter((at, i) => !i || at - centres[i - 1] > SAME_LINE);
    return [...text.querySelectorAll("mark")].flatMap((mark) =>
      [...mark.getClientRects()].map((rect) => ({
        mark,
        line: lines.findLastIndex((at) => at <= centre(rect) + SAME_LINE),
        left: rect.left - origin.left,
        right: rect.right - origin.left,
        top: rect.top - origin.top,
        bottom: rect.bottom - origin.top,
      })),
    );
  }

  // Where legs stand on a box: its widest stretch without inner boxes, which have legs of their own.
  function stemOf(box, inner) {
    const stretches = [];
    let left = box.left;
    for (const next of [...inner.sort((a, b) => a.left - b.left), { left: box.right }]) {
      stretches.push({ left, right: next.left });
      left = next.right;
    }
    const widest = stretches.reduce((a, b) => (b.right - b.left > a.right - a.left ? b : a));
    return widest.right - widest.left > LEGS ? widest : box;
  }

  function findStems(boxes) {
    const pieces = grouped(boxes, (box) => box.mark);
    for (const box of boxes) {
      const inner = [...box.mark.children].flatMap((mark) => pieces.get(mark));
      box.stem = stemOf(box, inner.filter((other) => other.line === box.line));
    }
  }

  // Of the head's boxes and the tail's the two that are nearest: in lines first, then across, but not too near.
  function nearest(heads, tails) {
    const across = (dx) => (dx < 4 * LEGS ? 1e5 : dx);
    const far = ([head, tail]) =>
      1e6 * Math.abs(head.line - tail.line) + across(Math.abs(middle(head) - middle(tail)));
    return heads.flatMap((head) => tails.map((tail) => [head, tail])).sort((a, b) => far(a) - far(b))[0];
  }

  // Legs go up from their boxes, except down to the very next line. Over more lines the arc turns to a margin.
  function joined(path, label, [head, tail], { left, right }) {
    const lines = Math.abs(head.line - tail.line);
    const margin = lines < 2 ? 0 : middle(head) + middle(tail) < left + right ? -1 : 1;
    const leg = (box, other, loop) => ({
      box,
      below: lines === 1 && box.line < other.line,
      toward: margin || box === other ? (margin || loop) * Infinity : middle(other),
    });
    return { path, label, margin, legs: [leg(head, tail, -1), leg(tail, head, 1)] };
  }

  // Legs on one side of a box stand apart, in the order in which their arcs cross least.
  function spread(legs) {
    const [{ box, below }] = legs;
    const turn = (leg) => (leg.toward < middle(box) ? 0 : 1);
    const order = (a, b) => (a.toward === b.toward ? 0 : a.toward < b.toward === below ? -1 : 1);
    legs.sort((a, b) => turn(a) - turn(b) || order(a, b));
    const step = Math.min(LEGS, (box.stem.right - box.stem.left) / (legs.length + 1));
    legs.forEach((leg, place) => (leg.x = middle(box) + (place - (legs.length - 1) / 2) * step));
  }

  // Legs on one line that stand nearly on one spot, as those of nested boxes can, are drawn apart.
  function part([head, tail]) {
    if (head.box.line !== tail.box.line || Math.abs(head.x - tail.x) >= 2 * CORNER) return;
    const between = (head.x + tail.x) / 2;
    [head.x, tail.x] = [between - CORNER, between + CORNER];
  }

  function runsOf({ margin, legs: [head, tail] }, { left, right }) {
    const run = (line, x, y) => ({ line, from: Math.min(x, y), to: Math.max(x, y) });
    const edge = margin < 0 ? left : right;
    if (margin) return [run(head.box.line, head.x, edge), run(tail.box.line, tail.x, edge)];
    return [run(Math.max(head.box.line, tail.box.line), head.x, tail.x)];
  }

  // Places for a label's middle on a run: the run's middle, and beside each leg that may be in the way.
  function placesOn(run, half, legs, [from, to]) {
    const wanted = Math.max(from, Math.min(to, (run.from + run.to) / 2));
    const beside = legs.flatMap((x) => [x - half - CLEAR, x + half + CLEAR]).filter((x) => from <= x && x <= to);
    const crossed = (at) => legs.filter((x) => Math.abs(x - at) < half + CLEAR).length;
    const off = (x) => Math.abs(x - wanted) - (run.to - run.from);
    return [wanted, ...beside].map((x) => ({ run, x, crossed: crossed(x), off: off(x) }));
  }

  // The label stands where the fewest legs of other arcs can cross it, best on the longer run, which is made as wide.
  function labeled(arc, arcs, { left, right }) {
    const half = (arc.half = arc.label.getComputedTextLength() / 2);
    const places = arc.runs.flatMap((run) => {
      const over = Math.min(half, (run.to - run.from) / 2, 2 * CORNER); // a label may stick out, but not come off
      const within = [Math.max(left + half, run.from + over - half), Math.min(right - half, run.to - over + half)];
      return placesOn(run, half, legsOn(run.line, arcs, arc), within);
    });
    takePlace(arc, places);
    arc.carrier.from = Math.min(arc.carrier.from, arc.x - half);
    arc.carrier.to = Math.max(arc.carrier.to, arc.x + half);
  }

  // With all levels known fewer legs are in the way: a label goes back toward the middle of its run.
  function placeLabels(line, arcs) {
    for (const arc of arcs.filter((arc) => arc.carrier.line === line)) {
      const { carrier: run, half } = arc;
      const crosses = (leg) => (leg.below ? leg.run.level < run.level : leg.run.level > run.level);
      takePlace(arc, placesOn(run, half, legsOn(line, arcs, arc, crosses), [run.from + half, run.to - half]));
    }
    return arcs.reduce((sum, arc) => sum + (arc.carrier.line === line && arc.crossed), 0);
  }

  // A label that is still crossed may be free above all runs of its line; its arc stays there if that helps.
  function raise(line, arcs, runs) {
    let crossed = placeLabels(line, arcs);
    for (const { carrier } of arcs.filter((arc) => arc.carrier.line === line && arc.crossed)) {
      const before = carrier.level;
      carrier.level = 1 + Math.max(...runs.map((run) => run.level));
      const after = placeLabels(line, arcs);
      if (after < crossed) crossed = after;
      else carrier.level = before;
    }
    const used = [...new Set(runs.map((run) => run.level))].sort((a, b) => a - b);
    for (const run of runs) run.level = used.indexOf(run.level);
    placeLabels(line, arcs);
    return used.length;
  }

  function takePlace(arc, places) {
    const better = (a, b) => (b.crossed - a.crossed || b.off - a.off) < 0;
    ({ run: arc.carrier, x: arc.x, crossed: arc.crossed } = places.reduce((a, b) => (better(a, b) ? b : a)));
  }

  const arcsOn = (line, arcs) => arcs.filter((arc) => arc.runs.some((run) => run.line === line));

  // Where the legs of other arcs stand over this line.
  function legsOn(line, arcs, arc, counts = () => true) {
    const others = arcs.filter((other) => other !== arc).flatMap((other) => other.legs);
    return others.filter((leg) => leg.run.line === line && counts(leg)).map((leg) => leg.x);
  }

  // Ranges that overlap get different levels, and one that covers another a higher one. Tells how many levels.
  function stacked(ranges, apart) {
    const done = [];
    for (const range of ranges.sort((a, b) => a.to - a.from - (b.to - b.from))) {
      const met = done.filter((other) => other.from < range.to + apart && range.from < other.to + apart);
      const covered = met.filter((other) => range.from <= other.from && other.to <= range.to);
      const taken = new Set(met.map((other) => other.level));
      range.level = Math.max(0, ...covered.map((other) => other.level + 1));
      while (taken.has(range.level)) range.level++;
      done.push(range);
    }
    return Math.max(0, ...done.map((range) => range.level + 1));
  }

  // Lanes for the arcs that turn to this margin; where they are many they stand closer.
  function takeLanes(arcs, margin, { left, right, width }) {
    const ranges = arcs
      .filter((arc) => arc.margin === margin)
      .map((arc) => ({ arc, lines: arc.runs.map((run) => run.line) }))
      .map(({ arc, lines }) => ({ arc, from: Math.min(...lines), to: Math.max(...lines) }));
    const many = stacked(ranges, 0.5);
    const [edge, room] = margin < 0 ? [left, left] : [right, width - right];
    const step = Math.min(LANES, (room - 2) / (many + 1));
    for (const { arc, level } of ranges) arc.lane = edge + margin * step * (level + 1);
  }

  // The arcs of all relations that the legends do not hide.
  function shown({ paths, labels }, boxes, area) {
    const entities = grouped(boxes, (box) => box.mark.dataset.entity);
    return paths.flatMap((path, i) => {
      if (getComputedStyle(path).display === "none") return [];
      const ends = nearest(entities.get(path.dataset.head), entities.get(path.dataset.tail));
      return [joined(path, labels[i], ends, area)];
    });
  }

  // All that the lines' heights do not change: the arcs, their columns and their levels.
  function planned(view) {
    const outer = view.svg.getBoundingClientRect(), inner = view.text.getBoundingClientRect();
    const area = { left: inner.left - outer.left, right: inner.right - outer.left, width: outer.width };
    const boxes = measured(view);
    findStems(boxes);
    const arcs = shown(view, boxes, area);
    for (const legs of grouped(arcs.flatMap((arc) => arc.legs), (leg) => leg.box).values())
      for (const side of grouped(legs, (leg) => leg.below).values()) spread(side);
    for (const arc of arcs) {
      part(arc.legs);
      arc.runs = runsOf(arc, area);
      arc.legs.forEach((leg, end) => (leg.run = arc.runs.at(-end)));
    }
    for (const arc of arcs) labeled(arc, arcs, area);
    const runs = grouped(arcs.flatMap((arc) => arc.runs), (run) => run.line);
    for (const over of runs.values()) stacked(over, APART);
    const levels = new Map([...runs].map(([line, over]) => [line, raise(line, arcsOn(line, arcs), over)]));
    for (const margin of [-1, 1]) takeLanes(arcs, margin, area);
    return { boxes, arcs, levels };
  }

  // A line is made higher through one of its boxes, best one that does not wrap.
  function makeRoom({ boxes, levels }) {
    const pieces = grouped(boxes, (box) => box.mark);
    for (const mark of pieces.keys()) mark.style.removeProperty("--room");
    const wraps = ({ mark }) => pieces.get(mark).length;
    for (const [line, within] of grouped(boxes, (box) => box.line)) {
      if (!levels.has(line)) continue;
      const { mark } = within.reduce((a, b) => (wraps(b) < wraps(a) ? b : a));
      mark.style.setProperty("--room", `${FIRST + (levels.get(line) - 1) * LEVEL + LAST}px`);
    }
  }

  // Straight from point to point, along the axes, with round corners.
  function drawn(points) {
    const corner = ([x, y], i) => {
      const [before, after] = [points[i], points[i + 2]];
      const size = ([toX, toY]) => Math.abs(toX - x) + Math.abs(toY - y);
      const bend = Math.min(CORNER, size(before) / 2, size(after) / 2);
      const near = ([toX, toY]) => `${round(x + Math.sign(toX - x) * bend)} ${round(y + Math.sign(toY - y) * bend)}`;
      return `L${near(before)}Q${round(x)} ${round(y)} ${near(after)}`;
    };
    const [start, end] = [points[0], points.at(-1)].map((point) => point.map(round).join(" "));
    return `M${start}${points.slice(1, -1).map(corner).join("")}L${end}`;
  }

  // An arrow head, drawn on from the end of the path.
  function tipOf({ path, legs }) {
    if ("symmetric" in path.dataset) return "";
    const [wide, back] = [0.7 * TIP, legs[1].below ? TIP : -TIP];
    return `m${-wide} ${back}l${wide} ${-back}l${wide} ${back}`;
  }

  function place({ arcs, boxes }, placed) {
    const now = new Map(boxes.map((box, i) => [box, placed[i]]));
    const tops = new Map();
    for (const { line, top } of placed) tops.set(line, Math.min(top, tops.get(line) ?? top));
    const height = (run) => tops.get(run.line) - FIRST - run.level * LEVEL;
    for (const arc of arcs) {
      const [start, end] = arc.legs.map(({ x, box, below }) => [x, now.get(box)[below ? "bottom" : "top"]]);
      const [first, last] = [height(arc.runs[0]), height(arc.runs.at(-1))];
      const turns = arc.margin ? [[arc.lane, first], [arc.lane, last]] : [];
      arc.path.setAttribute("d", drawn([start, [start[0], first], ...turns, [end[0], last], end]) + tipOf(arc));
      arc.label.setAttribute("x", round(arc.x));
      arc.label.setAttribute("y", round(height(arc.carrier)));
    }
  }

  const sizeOf = ({ text }) => `${text.offsetWidth} ${text.offsetHeight}`;

  // All documents step by step together, so that the browser lays the page out twice and not once for each.
  function draw(views) {
    const plans = views.map(planned);
    plans.forEach(makeRoom);
    const placed = views.map(measured);
    plans.forEach((plan, i) => place(plan, placed[i]));
    for (const view of views) view.size = sizeOf(view);
  }

  // What the pointer is on: an arc, its line in the list, or an entity with all its arcs.
  function emphasise({ article, paths }, target) {
    const relation = target.closest("[data-relation]")?.dataset.relation;
    const entity = target.closest("mark")?.dataset.entity;
    const lit = paths
      .map((path) => path.dataset)
      .filter((arc) => (relation ? arc.relation === relation : arc.head === entity || arc.tail === entity));
    const relations = new Set(lit.map((arc) => arc.relation));
    const entities = new Set(lit.flatMap((arc) => [arc.head, arc.tail]));
    article.classList.toggle("focused", lit.length > 0);
    for (const part of article.querySelectorAll("[data-relation], mark"))
      part.classList.toggle("lit", relations.has(part.dataset.relation) || entities.has(part.dataset.entity));
  }

  function viewOf(svg) {
    const article = svg.closest("article");
    const [text, list] = [article.querySelector(".text"), article.querySelector("details")];
    const [paths, labels] = [[...svg.querySelectorAll("path")], [...svg.querySelectorAll("text")]];
    return { article, svg, text, list, paths, labels };
  }

  let views = [];
  // Those in a closed part of the page wait: when it opens, their size changes.
  const open = () => views.filter(({ text }) => text.checkVisibility());
  const resized = new ResizeObserver(() => draw(open().filter((view) => view.size !== sizeOf(view))));

  function watch(view) {
    view.article.classList.add("drawn");
    view.list.open = false;
    view.article.addEventListener("pointerover", (event) => emphasise(view, event.target));
    view.article.addEventListener("pointerleave", () => emphasise(view, view.article));
    resized.observe(view.text);
  }

  // Articles that are gone are forgotten, new ones are watched, and all are drawn.
  function drawAll() {
    for (const { article, text } of views) if (!article.isConnected) resized.unobserve(text);
    const added = [...document.querySelectorAll("article:not(.drawn) .arcs")].map(viewOf);
    views = [...views.filter(({ article }) => article.isConnected), ...added];
    added.forEach(watch);
    draw(open());
  }

  drawAll();
  document.fonts.ready.then(() => draw(open()));
  document.addEventListener("change", () => draw(open()));
  document.addEventListener("arcs", drawAll); // a page that replaces its articles sends this event
  // On paper the lines break elsewhere: there the lists stand in for the arcs.
  addEventListener("beforeprint", () => views.forEach((view) => (view.list.open = true)));
  addEventListener("afterprint", () => views.forEach((view) => (view.list.open = false)));
})();
