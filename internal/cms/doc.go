// Package cms holds the nouns of Galley (sites, locales, pages, routes, apps)
// and their rules. It knows nothing of SQL, HTTP or JSON; clocks, ids and
// storage are handed in.
package cms
