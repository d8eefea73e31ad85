// The order of search results: pages for users come before those for contributors.
const LAST =
  /^(changelog|design|glossary|contributing|benchmarks|security|style|measured-.*)$/;
// A page that is a list of names, and classes that repeat others.
const LATER = /^(names|api\/skgoss\.dask\..*)$/;

var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    score - (LAST.test(docname) ? 2000 : LATER.test(docname) ? 1000 : 0),
  // The rest are Sphinx's numbers.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
