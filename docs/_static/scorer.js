// The order of search results: pages for users come before those for contributors.
const LAST = /^(changelog|contributing|security)$/;
// A page that is a list of names, and classes that repeat others.
const LATER = /^(names|api\/skgoss\.dask\..*)$/;

// Name the heading that an entry of the index leads to, as results of headings do.
const nameHeading = (result) => {
  const [docname, title, anchor] = result;
  const { alltitles, docnames } = Search._index;
  const heading = Object.keys(alltitles).find((words) =>
    alltitles[words].some(
      ([file, id]) => docnames[file] === docname && "#" + id === anchor,
    ),
  );
  if (heading !== undefined) result[1] = `${title} > ${heading}`;
};

var Scorer = {
  score: (result) => {
    const [docname, , , , score, , kind] = result;
    if (kind === "index") nameHeading(result);
    return score - (LAST.test(docname) ? 2000 : LATER.test(docname) ? 1000 : 0);
  },
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
