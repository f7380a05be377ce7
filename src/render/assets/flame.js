// Flame graphs on a canvas: only boxes that can be seen are drawn, so the
// number of stacks does not matter.
(function () {
  const ROW = 18;
  const LEAST = 0.4; // narrower boxes are not drawn, in pixels
  const FAMILY = ["#e69f00", "#7cc4ee", "#35b592", "#d993b8"];

  function mix(from, to, share) {
    const part = (color, at) => parseInt(color.slice(at, at + 2), 16);
    const one = (at) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * share);
    return "rgb(" + one(1) + "," + one(3) + "," + one(5) + ")";
  }

  // The same name has the same shade everywhere.
  function shade(name) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    return ((hash >>> 0) % 1000) / 1000;
  }

  function start(host) {
    const data = JSON.parse(document.getElementById(host.dataset.source).textContent);
    const unit = host.dataset.unit;
    const count = data.depth.length;
    const canvas = host.querySelector("canvas");
    const view = host.querySelector(".view");
    const details = host.querySelector(".details");
    const query = host.querySelector(".query");
    const found = host.querySelector(".found");
    const side = host.querySelector(".side");
    const base = data.base || null;
    const parent = new Int32Array(count);
    const end = new Int32Array(count); // one past the last box below
    let deepest = 0;
    {
      const open = [];
      for (let i = 0; i < count; i++) {
        while (open.length > data.depth[i]) end[open.pop()] = i;
        parent[i] = open.length ? open[open.length - 1] : -1;
        open.push(i);
        deepest = Math.max(deepest, data.depth[i]);
      }
      while (open.length) end[open.pop()] = count;
    }
    const colors = data.names.map((name, i) => mix(FAMILY[data.family[i]], "#ffffff", shade(name) * 0.3));
    const matches = new Uint8Array(data.names.length);
    let searching = false;
    let zoomed = -1; // -1 is everything
    let focused = -1;
    let values, total, left, hot;

    function measure() {
      const old = side && side.value === "base";
      values = old ? base : data.value;
      total = old ? data.baseTotal : data.total;
      left = new Float64Array(count);
      const used = new Float64Array(count + 1); // by parent, the last for none
      for (let i = 0; i < count; i++) {
        const above = parent[i] < 0 ? count : parent[i];
        left[i] = (parent[i] < 0 ? 0 : left[parent[i]]) + used[above];
        used[above] += values[i];
      }
      hot = hottest();
    }

    function share(i) {
      return data.total ? data.value[i] / data.total : 0;
    }

    function baseShare(i) {
      return data.baseTotal ? base[i] / data.baseTotal : 0;
    }

    const dark = window.matchMedia("(prefers-color-scheme: dark)");

    function color(i) {
      if (searching && matches[data.name[i]]) return "#e040e0";
      if (!base) return colors[data.name[i]];
      const now = share(i), before = baseShare(i);
      const variance = (part, all) => (all ? (part * (1 - part)) / all : 0);
      const noise = 2 * Math.sqrt(variance(now, data.samples) + variance(before, data.baseSamples));
      const points = now - before; // full from 0.1, none within noise
      const change = Math.abs(points) <= noise ? 0 : Math.sign(points) * Math.sqrt(Math.min(Math.abs(points) / 0.1, 1));
      if (change === 0) return dark.matches ? "#8f959c" : "#f4f4f4"; // white boxes glare on a dark page
      return change > 0 ? mix("#f4f4f4", "#f08c2e", change) : mix("#f4f4f4", "#4a9fd8", -change);
    }

    function scope() {
      return zoomed < 0 ? { from: 0, width: total } : { from: left[zoomed], width: values[zoomed] };
    }

    function box(i, width) {
      const { from, width: all } = scope();
      if (!all) return null;
      const isAbove = zoomed >= 0 && i < zoomed && end[i] > zoomed;
      if (isAbove) return { x: 0, w: width };
      return { x: ((left[i] - from) / all) * width, w: (values[i] / all) * width };
    }

    // Calls `visit` for every box wide enough to be seen, callers first.
    function visible(width, visit) {
      const all = scope().width;
      if (!all) return;
      if (zoomed >= 0) {
        const chain = [];
        for (let i = parent[zoomed]; i >= 0; i = parent[i]) chain.push(i);
        for (const i of chain.reverse()) visit(i, { x: 0, w: width });
      }
      const stop = zoomed < 0 ? count : end[zoomed];
      for (let i = zoomed < 0 ? 0 : zoomed; i < stop; ) {
        const at = box(i, width);
        if (at.w < LEAST) {
          i = end[i];
        } else {
          visit(i, at);
          i++;
        }
      }
    }

    // Follows the widest box, as far as it is wider than what its caller ran by itself.
    function hottest() {
      const path = new Set();
      let from = 0, stop = count, all = Infinity;
      for (;;) {
        let sum = 0;
        for (let at = from; at < stop; at = end[at]) sum += values[at];
        const best = widest(from, stop);
        if (best < 0 || (all < Infinity && values[best] < all - sum)) return path;
        path.add(best);
        [from, stop, all] = [best + 1, end[best], values[best]];
      }
    }

    function draw() {
      const width = view.clientWidth;
      const height = view.clientHeight;
      const scale = window.devicePixelRatio || 1;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        canvas.style.height = height + "px";
      }
      // The canvas stays in view; this makes the rest of the rows scrollable.
      canvas.style.marginBottom = Math.max(0, (deepest + 1) * ROW - height) + "px";
      const style = getComputedStyle(document.documentElement);
      const context = canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = "12px ui-monospace, monospace";
      context.textBaseline = "middle";
      const letter = context.measureText("m").width;
      const top = view.scrollTop;
      visible(width, function (i, at) {
        const y = data.depth[i] * ROW - top;
        if (y <= -ROW || y >= height) return;
        const faded = zoomed >= 0 && i < zoomed;
        context.globalAlpha = faded ? 0.55 : 1;
        context.fillStyle = color(i);
        context.fillRect(at.x, y, Math.max(at.w - 0.5, 0.4), ROW - 1);
        if (hot.has(i)) {
          context.strokeStyle = "#111";
          context.lineWidth = 1.2;
          context.strokeRect(at.x + 0.6, y + 0.6, Math.max(at.w - 1.7, 0.4), ROW - 2.2);
        }
        if (at.w > letter * 3) {
          const name = data.names[data.name[i]];
          const fits = Math.floor((at.w - 6) / letter);
          context.fillStyle = "#111";
          context.fillText(fitLabel(name, fits, false), at.x + 3, y + ROW / 2);
        }
        context.globalAlpha = 1;
      });
      if (focused >= 0) {
        const at = box(focused, width);
        if (at && at.w > 0) {
          context.strokeStyle = style.getPropertyValue("--focus");
          context.lineWidth = 2;
          context.strokeRect(at.x + 1, data.depth[focused] * ROW - top + 1, Math.max(at.w - 2, 2), ROW - 3);
        }
      }
    }

    function number(value) {
      return value.toLocaleString("en-US");
    }

    function percent(part, all) {
      return (all ? (part * 100) / all : 0).toFixed(3) + " %";
    }

    function describe(i) {
      let text = data.names[data.name[i]] + ": " + number(data.value[i]) + " " + unit + ", " + percent(data.value[i], data.total);
      if (parent[i] >= 0 && data.value[parent[i]]) text += ", " + percent(data.value[i], data.value[parent[i]]) + " of its caller";
      if (base) {
        const change = (share(i) - baseShare(i)) * 100;
        text += "; baseline " + number(base[i]) + ", " + percent(base[i], data.baseTotal);
        text += "; change " + (change > 0 ? "+" : "") + change.toFixed(3) + " points";
      }
      return text;
    }

    function focus(i) {
      focused = i;
      if (i >= 0) {
        details.textContent = describe(i);
        const y = data.depth[i] * ROW;
        if (y < view.scrollTop) view.scrollTop = y;
        if (y + ROW > view.scrollTop + view.clientHeight) view.scrollTop = y + ROW - view.clientHeight;
      }
      draw();
    }

    function zoom(i) {
      zoomed = i >= 0 && values[i] > 0 ? i : -1;
      draw();
    }

    function siblings(i) {
      const list = [];
      const above = parent[i];
      const stop = above < 0 ? count : end[above];
      for (let at = above < 0 ? 0 : above + 1; at < stop; at = end[at]) if (values[at] > 0) list.push(at);
      return list;
    }

    function widest(from, stop) {
      let best = -1;
      for (let at = from; at < stop; at = end[at]) if (values[at] > 0 && (best < 0 || values[at] > values[best])) best = at;
      return best;
    }

    function search() {
      const wanted = query.value;
      searching = wanted !== "";
      let test = null;
      if (searching) {
        const plain = wanted.toLowerCase();
        test = (name) => name.toLowerCase().includes(plain);
        if (wanted.startsWith("/") && wanted.endsWith("/") && wanted.length > 2) {
          try {
            const pattern = new RegExp(wanted.slice(1, -1), "i");
            test = (name) => pattern.test(name);
          } catch (error) {
            found.textContent = "not a regular expression: " + error.message;
            return;
          }
        }
      }
      data.names.forEach((name, i) => (matches[i] = test && test(name) ? 1 : 0));
      let sum = 0;
      let methods = 0;
      for (const match of matches) methods += match;
      // What is below a match is part of it.
      for (let i = 0; i < count; ) {
        if (matches[data.name[i]]) {
          sum += values[i];
          i = end[i];
        } else i++;
      }
      found.textContent = searching ? methods + (methods === 1 ? " name, " : " names, ") + number(sum) + " " + unit + ", " + percent(sum, total) : "";
      draw();
    }

    function nextMatch() {
      for (let step = 1; step <= count; step++) {
        const i = (focused + step + count) % count;
        if (matches[data.name[i]] && values[i] > 0) {
          zoomed = -1;
          focus(i);
          return;
        }
      }
    }

    function at(event) {
      const area = canvas.getBoundingClientRect();
      const x = event.clientX - area.left;
      const row = Math.floor((event.clientY - area.top + view.scrollTop) / ROW);
      let hit = -1;
      visible(view.clientWidth, function (i, place) {
        if (data.depth[i] === row && x >= place.x && x < place.x + place.w) hit = i;
      });
      return hit;
    }

    canvas.addEventListener("mousemove", function (event) {
      const i = at(event);
      canvas.style.cursor = i >= 0 ? "pointer" : "default";
      if (i >= 0) details.textContent = describe(i);
    });
    canvas.addEventListener("click", function (event) {
      const i = at(event);
      focus(i);
      zoom(i);
    });
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const first = focused < 0 ? (zoomed < 0 ? widest(0, count) : zoomed) : focused;
      const moves = {
        ArrowUp: () => (focused < 0 ? first : Math.max(parent[focused], -1)),
        ArrowDown: () => (focused < 0 ? first : widest(focused + 1, end[focused])),
        ArrowLeft: () => beside(-1),
        ArrowRight: () => beside(1),
      };
      function beside(step) {
        if (focused < 0) return first;
        const list = siblings(focused);
        const next = list[list.indexOf(focused) + step];
        return next === undefined ? -1 : next;
      }
      if (moves[event.key]) {
        const next = moves[event.key]();
        if (next >= 0) focus(next);
      } else if (event.key === "Enter" || event.key === " ") zoom(focused);
      else if (event.key === "Backspace") zoom(zoomed < 0 ? -1 : parent[zoomed]);
      else if (event.key === "Escape") zoom(-1);
      else if (event.key === "/") query.focus();
      else if (event.key === "n" || event.key === "N") nextMatch();
      else return;
      event.preventDefault();
    });
    query.addEventListener("input", search);
    query.addEventListener("keydown", function (event) {
      if (event.key === "Enter") {
        nextMatch();
        canvas.focus();
      }
    });
    host.querySelector(".reset").addEventListener("click", function () {
      query.value = "";
      search();
      zoom(-1);
    });
    if (side)
      side.addEventListener("change", function () {
        zoomed = -1;
        measure();
        search();
      });
    view.addEventListener("scroll", draw);
    window.addEventListener("resize", draw);
    dark.addEventListener("change", draw);
    if ((deepest + 1) * ROW < view.clientHeight) view.style.height = Math.max((deepest + 1) * ROW + 4, 60) + "px";
    view.style.minHeight = "0";
    measure();
    draw();
  }

  for (const host of document.querySelectorAll(".flame")) start(host);
})();
