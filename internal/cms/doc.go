// Package cms has the types of Galley (sites, locales, pages, routes, apps) and
// their rules. It has no SQL, HTTP or JSON; clocks, ids and storage are passed in.
package cms
