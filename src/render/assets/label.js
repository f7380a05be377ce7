// As much of a name as fits: all, else without parameters, else class and
// method, else the method, else its end.
function fitLabel(name, fits, whole) {
  if (fits < 3) return "";
  const last = (text, count) => {
    let rest = text;
    for (let i = 0; i < count; i++) {
      const at = Math.max(rest.lastIndexOf("."), rest.lastIndexOf(":"), rest.lastIndexOf("/"));
      if (at < 0) return text;
      rest = rest.slice(0, at).replace(/[.:/]+$/, "");
    }
    return text.slice(rest.length).replace(/^[.:/]+/, "");
  };
  let short = name;
  if (!whole) {
    const cut = name.endsWith(")") ? name.indexOf("(") : -1;
    const plain = cut > 0 && !/(operator|\.)$/.test(name.slice(0, cut)) ? name.slice(0, cut) : name;
    short = [name, plain, last(plain, 2)].find((part) => part.length <= fits) ?? last(plain, 1);
  }
  return short.length <= fits ? short : "…" + short.slice(short.length + 1 - fits);
}
