// Finds names of INDEX by name or by shape. The costs, and what fits, are those of `ravel doc --search`.
const axis = (text) => {
  const many = (least, exactly, count, name) => ({ many: true, least, exactly, count, name: name === "_" ? "" : name });
  if (text === "*" || text === "+") return many(text === "+" ? 1 : 0, null, "", "");
  if (/^-?\d+$/.test(text)) return { extent: Number(text) };
  const [, count, more, name] = /^(\w+)\s*(?:>\s*(\d+)\s*)?:\s*(\w+)$/.exec(text) || [];
  if (name) return /^\d/.test(count) ? many(Number(count), Number(count), "", name) : many(more ? Number(more) + 1 : 0, null, count === "_" ? "" : count, name);
  if (!/^([A-Za-z_]\w*|\.)$/.test(text)) throw new Error("no axis: " + text);
  return { name: /^[._]$/.test(text) ? "" : text };
};
const pattern = (text) => {
  const [, base, axes] = /^\s*((?:struct )?[A-Za-z_][\w:]*)\s*(?:\[(.*)\])?\s*$/.exec(text) || [];
  if (!base) throw new Error("no type: " + text);
  const all = axes && axes.trim() ? axes.split(",").map((one) => axis(one.trim())) : [];
  if (all.length > 8) throw new Error("too many axes");
  return { base, axes: all };
};
const split = (text) => text.trim().replace(/^\(|\)$/g, "").split(/[,;](?![^[]*\])/).map((part) => part.trim()).filter((part) => part && part !== "void").map(pattern);
const several = (atom) => "least" in atom, same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const best = (tries) => tries.filter((one) => one).reduce((a, b) => (a && a.cost <= b.cost ? a : b), null);
const upto = (n) => [...Array(n + 1).keys()];
function atoms(type, names) { // the extents of an argument
  return type.axes.flatMap((a) => {
    const label = a.name || "?" + (names["?"] = (names["?"] || 0) + 1);
    const made = "extent" in a ? [{ extent: a.extent }] : !a.many ? [{ given: label }]
      : a.exactly === null ? [{ given: label, least: a.least }] : upto(a.exactly - 1).map((k) => ({ given: label + "." + k }));
    if (a.name) names[a.name] = made;
    return made;
  });
}
function bind(names, name, value) { // the cost of a name that is this value; null if it cannot be
  const known = names[name], extent = (a) => a && "extent" in a;
  if (!name || !known) { if (name) names[name] = value; return 0; }
  if (same(known, value)) return 0;
  const differ = known.some((a, k) => extent(a) && extent(value[k]) && a.extent !== value[k].extent);
  return differ || (known.length !== value.length && !known.some(several) && !value.some(several)) ? null : 4;
}
function fits(wanted, given, names) { // a parameter and the extents of an argument
  if (!wanted.length) return given.every((a) => several(a) && a.least === 0) ? { cost: given.length ? 5 : 0, names } : null;
  const [first, ...rest] = wanted, then = (cost, n, bound) => { const more = fits(rest, given.slice(n), bound); return more && { cost: cost + more.cost, names: more.names }; };
  if (!first.many) {
    if (!given.length) return null;
    if (several(given[0])) return { cost: 5, names };
    const bound = { ...names };
    const cost = !("extent" in first) ? bind(bound, first.name, [given[0]]) : !("extent" in given[0]) ? 4 : first.extent === given[0].extent ? 0 : null;
    return cost === null ? null : then(cost, 1, bound);
  }
  return best(upto(given.length).map((n) => {
    const some = given.slice(0, n), open = some.filter(several), known = n - open.length, bound = { ...names };
    const sure = known + open.reduce((sum, a) => sum + a.least, 0), few = first.exactly !== null ? known !== first.exactly : sure < first.least;
    if (few && !open.length) return null;
    const cost = first.exactly !== null ? (open.length ? 5 : 0) : sure < first.least ? 4 : open.length ? 0 : 1;
    const count = bind(bound, first.count, [{ extent: known }, ...open]), name = bind(bound, first.name, some);
    return count === null || name === null ? null : then(cost + count + name, n, bound);
  }));
}
const basic = /^(bool|char|u?(byte|short|int|long|longlong)|float|double)$/;
function base(asked, wanted, families, bases) { // element types
  if (!families[wanted]) return asked === wanted ? 0 : null;
  const variable = !basic.test(asked) && !asked.startsWith("struct ");
  if (bases[wanted]) return bases[wanted] === asked ? 0 : null;
  if (!variable && !families[wanted].includes(asked)) return null;
  bases[wanted] = asked;
  return variable ? 0 : 1;
}
const known = (axes, names) => axes.flatMap((a) => { // the extents of a result
  if ("extent" in a) return [{ extent: a.extent }];
  const length = a.many && (a.exactly ?? (names[a.count] && names[a.count].length === 1 ? names[a.count][0].extent : undefined));
  return names[a.name] || (!a.many ? [{}] : length === undefined ? [{ least: 0 }] : Array(length).fill({}));
});
function compare(wanted, found, given, fresh) { // what is wanted and what a function gives; the cost, or null
  if (!wanted.length) return !found.length ? 0 : found.every(several) ? 3 : null;
  const [first, ...rest] = wanted, mine = given[first.name], blank = (a) => !("given" in a) && !("extent" in a);
  if (first.many && mine) {
    const n = upto(found.length).find((k) => same(found.slice(0, k), mine));
    return n !== undefined ? compare(rest, found.slice(n), given, fresh) : found.some(blank) ? 3 : null;
  }
  if (first.many) {
    const may = (n) => { const open = found.slice(0, n).some(several); return first.exactly !== null ? !open && n === first.exactly : open || n >= first.least; };
    return best(upto(found.length).filter(may).map((n) => compare(rest, found.slice(n), given, { ...fresh })).filter((cost) => cost !== null).map((cost) => ({ cost })))?.cost ?? null;
  }
  if (!found.length) return null;
  if (several(found[0])) return 3;
  let cost = 0;
  if ("extent" in first && "extent" in found[0]) cost = first.extent === found[0].extent ? 0 : null;
  else if (first.name === "") cost = 0;
  else if (blank(found[0])) cost = 2;
  else if ("extent" in first) cost = null;
  else if (mine || fresh[first.name]) cost = same(mine || fresh[first.name], [found[0]]) ? 0 : null;
  else fresh[first.name] = [found[0]];
  const more = cost === null ? null : compare(rest, found.slice(1), given, fresh);
  return more === null ? null : cost + more;
}
function costOf(query, types, families) { // of a function; null if it does not fit
  const [params, results] = types.split("->").map(split), asked = query.params.length;
  if (params.length < asked || params.length > asked + 1 || params.length > 6 || results.length !== query.results.length) return null;
  const go = (order, cost, bases, names) => {
    if (order.length === asked) {
      let all = cost + (params.length > asked ? 6 : 0) + (order.every((at, k) => !k || order[k - 1] < at) ? 0 : 3);
      const own = { ...bases }, fresh = {};
      for (const [k, result] of query.results.entries()) {
        const type = base(result.base, results[k].base, families, own), axes = compare(result.axes, known(results[k].axes, names), query.names, fresh);
        if (type === null || axes === null) return null;
        all += type + axes;
      }
      return { cost: all };
    }
    return best(params.map((wanted, at) => {
      const own = { ...bases }, k = order.length, type = order.includes(at) ? null : base(query.params[k].base, wanted.base, families, own);
      const axes = type === null ? null : fits(wanted.axes, query.given[k], names);
      return axes && go([...order, at], cost + type + axes.cost, own, axes.names);
    }));
  };
  return go([], 0, {}, {})?.cost ?? null;
}
function byName(text, item) {
  const name = item.name.toLowerCase(), likes = item.like.toLowerCase();
  if (!text) return null;
  if (name === text) return 0;
  if (likes.split(", ").some((like) => like === text || like.split(".").pop() === text)) return 1;
  return name.startsWith(text) ? 2 : name.includes(text) ? 4 : likes.includes(text) ? 5 : item.about.toLowerCase().includes(text) ? 8 : null;
}
function search(index, text) {
  let query = null;
  if (/->|→/.test(text)) {
    const [params, results] = text.replace("→", "->").split("->").map(split), names = {};
    query = { params, results, given: params.map((type) => atoms(type, names)), names };
  }
  const of = (item) => (query ? best(item.types.map((types, at) => ({ cost: costOf(query, types, index.families[item.module] || {}), at })).filter((one) => one.cost !== null)) : { cost: byName(text.trim().toLowerCase(), item), at: 0 });
  const hits = index.names.map((item) => ({ item, ...of(item) })).filter((hit) => typeof hit.cost === "number");
  return hits.sort((a, b) => a.cost - b.cost || [...a.item.name].length - [...b.item.name].length);
}
if (typeof document === "undefined") module.exports = { search };
else {
  const text = new URLSearchParams(location.search).get("q") || "", list = document.getElementById("found");
  const add = (parent, tag, content) => { const made = parent.appendChild(document.createElement(tag)); made.textContent = content; return made; };
  document.querySelector("input").value = text;
  try {
    const hits = search(INDEX, text);
    if (text && !hits.length) add(list, "p", "Nothing fits " + text);
    for (const { item, at } of hits.slice(0, 60)) {
      const line = list.appendChild(document.createElement("li"));
      add(line, "a", item.name).href = item.module + ".html#" + item.place;
      add(line, "small", " " + item.module + (item.native ? ", native" : ""));
      add(add(line, "div", ""), "code", item.drawn[at] || "");
      add(line, "div", item.about);
    }
  } catch (error) { add(list, "p", "Not understood: " + error.message); }
}
