// The part of a name that fits, as in label.rs: all, otherwise without parameters, otherwise class and method,
// otherwise the method, otherwise its end.
function fitLabel(name, fits, whole) {
  if (fits < 3) return "";
  // The positions of the letters outside of brackets, opening brackets included.
  const outside = (text) => {
    const found = [];
    let depth = 0;
    for (let at = 0; at < text.length; at++) {
      const letter = text[at];
      if (depth === 0) found.push(at);
      if ("<>".includes(letter) && /operator[<>=-]*$/.test(text.slice(0, at))) continue;
      if (letter === ">" && text[at - 1] === "-") continue;
      if ("(<[{".includes(letter)) depth++;
      else if (")>]}".includes(letter)) depth = Math.max(0, depth - 1);
    }
    return found;
  };
  const last = (text, count) => {
    const at = outside(text).filter((at) => ".:/".includes(text[at]));
    const ends = at.map((at) => at + 1).filter((end) => !at.includes(end));
    return ends.length < count ? text : text.slice(ends[ends.length - count]);
  };
  let short = name;
  if (!whole) {
    const suffix = outside(name).find((at) => name[at] === "@" || name.startsWith(".llvm.", at)) ?? 0;
    const base = suffix > 0 ? name.slice(0, suffix) : name;
    const cut = base.endsWith(")") ? outside(base).findLast((at) => base[at] === "(") ?? 0 : 0;
    const plain = cut > 0 && !/(operator|\.)$/.test(base.slice(0, cut)) ? base.slice(0, cut) : base;
    short = [name, plain, last(plain, 2)].find((part) => part.length <= fits) ?? last(plain, 1);
  }
  return short.length <= fits ? short : "…" + short.slice(short.length + 1 - fits);
}
