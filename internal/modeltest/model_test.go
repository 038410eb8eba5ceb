package modeltest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestModel takes random steps on both engines. Pathnames, titles and locales
// are few, so that clashes are frequent.
func TestModel(t *testing.T) {
	t.Parallel()
	takeSteps(t, drawStep(oneOf(ops...)))
}

// TestModelOfRedirects takes mostly those that move pages and redirects.
func TestModelOfRedirects(t *testing.T) {
	t.Parallel()
	takeSteps(t, drawStep(oneOf(redirectOps...)))
}

func takeSteps(t *testing.T, steps *rapid.Generator[step]) {
	t.Helper()
	eachEngine(t, func(t *testing.T, e *engine) {
		rapid.Check(t, func(rt *rapid.T) {
			w := newWorld(rt, e)
			rt.Repeat(map[string]func(*rapid.T){
				"step": func(rt *rapid.T) { w.do(steps.Draw(rt, "step")) },
			})
		})
	})
}

// ops are the operations, each as often as it is to be drawn, the simplest
// first: to them failing runs are reduced.
var ops = slices.Concat(
	slices.Repeat([]string{"createPage", "publish", "updatePage", "publish", "updatePage", "updatePage"}, 12),
	slices.Repeat([]string{"changeDefault", "deleteLocale", "restoreLocale", "batch", "putContent", "putContent"}, 8),
	slices.Repeat([]string{"deletePage", "restorePage", "discardPage", "publishPage", "restorePublish"}, 5),
	slices.Repeat([]string{"discardSite", "schedule", "wait", "delocalizePage", "restoreSite"}, 3),
	slices.Repeat([]string{"createLocale", "createRoute", "updateRoute", "deleteRoute", "review", "cancelPublish"}, 2),
	slices.Repeat([]string{"createRedirect", "createRedirect", "updateRedirect"}, 8),
	slices.Repeat([]string{"deleteRedirect", "restoreRedirect", "discardRedirect"}, 3),
	[]string{"publishAndUndo", "deleteSite", "duplicateSite", "publishInParts"},
)

// redirectOps are operations as ops are: movePage gives a page another pathname, and
// publishAll publishes everything.
var redirectOps = slices.Concat(
	slices.Repeat([]string{"movePage", "publishAll", "movePage", "publishAll", "createRedirect"}, 6),
	slices.Repeat([]string{"updateRedirect", "restorePublish", "publish", "batch"}, 2),
	[]string{"createPage", "deletePage", "restorePage", "deleteRedirect", "restoreRedirect", "discardRedirect", "discardSite"},
	[]string{"createRoute", "updateRoute", "deleteRoute", "deleteLocale", "restoreLocale", "changeDefault", "schedule", "wait", "duplicateSite"},
)

// evenly draws below n. Rapid's own numbers are mostly small, which would
// leave most operations out.
func evenly(n int) *rapid.Generator[int] {
	return rapid.Custom(func(t *rapid.T) int {
		drawn := 0
		for bit := 1; bit < 16*n; bit *= 2 {
			if rapid.Bool().Draw(t, "bit") {
				drawn += bit
			}
		}
		return drawn % n
	})
}

func oneOf[T any](values ...T) *rapid.Generator[T] {
	return rapid.Map(evenly(len(values)), func(i int) T { return values[i] })
}

var (
	drawIndex = evenly(5)
	drawPath  = oneOf(pathnames...)
	drawCode  = oneOf("fr", "de", "en")
	drawTitle = oneOf[any]("one", "two", nil)

	drawContent = oneOf[any](contents[0], contents[1], nil)
)

// chance draws true once in n times.
func chance(t *rapid.T, n int, what string) bool { return evenly(n).Draw(t, what) == n-1 }

func drawStep(op *rapid.Generator[string]) *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		st := step{op: op.Draw(t, "op"), site: evenly(maxSites).Draw(t, "site")}
		drawRest(t, &st)
		return st
	})
}

// drawRest draws what a step of an operation needs.
func drawRest(t *rapid.T, st *step) {
	switch st.op {
	case "movePage":
		st.op, st.page, st.locale = "updatePage", drawIndex.Draw(t, "page"), drawIndex.Draw(t, "locale")
		st.set = Fields{"pathname": drawPath.Draw(t, "pathname")}
	case "publishAll":
		st.op, st.confirm = "publish", true
	case "createPage":
		st.set = drawFields(t, true)
		st.set["pathname"] = drawPath.Draw(t, "pathname")
	case "updatePage", "delocalizePage", "deletePage":
		drawEdit(t, st)
	case "putContent":
		st.page, st.locale = drawIndex.Draw(t, "page"), drawIndex.Draw(t, "locale")
		st.set = Fields{"content": drawContent.Draw(t, "content")}
	case "batch":
		for range 2 + evenly(2).Draw(t, "more") {
			edit := step{op: oneOf("updatePage", "updatePage", "updatePage", "delocalizePage", "deletePage", "createPage", "swapPages").Draw(t, "edit")}
			drawEdit(t, &edit)
			drawBatched(t, &edit)
			st.batch = append(st.batch, edit)
		}
	case "restorePage", "discardPage", "publishPage":
		st.page = drawIndex.Draw(t, "page")
	case "createLocale", "changeDefault":
		st.code = drawCode.Draw(t, "code")
	case "deleteLocale", "restoreLocale":
		st.locale = drawIndex.Draw(t, "locale")
	case "createRoute":
		st.path = drawPath.Draw(t, "path")
	case "updateRoute":
		st.route, st.path = drawIndex.Draw(t, "route"), drawPath.Draw(t, "path")
	case "deleteRoute":
		st.route = drawIndex.Draw(t, "route")
	case "createRedirect", "updateRedirect":
		st.path, st.target = oneOf(sources...).Draw(t, "source"), oneOf(targets...).Draw(t, "target")
		st.redirect, st.locale, st.every = drawIndex.Draw(t, "redirect"), drawIndex.Draw(t, "locale"), rapid.Bool().Draw(t, "every")
	case "deleteRedirect", "restoreRedirect", "discardRedirect":
		st.redirect = drawIndex.Draw(t, "redirect")
	case "restorePublish", "cancelPublish":
		st.publish = evenly(10).Draw(t, "publish")
	case "wait":
		st.seconds = evenly(30).Draw(t, "seconds")
		if chance(t, 3, "long") {
			st.seconds += 4000 // contents are purged after an hour
		}
	case "publish", "schedule", "review", "discardSite":
		drawPublish(t, st)
	}
}

// drawBatched draws what only an edit of a batch has.
func drawBatched(t *rapid.T, st *step) {
	if st.op == "updatePage" && chance(t, 3, "has content") {
		st.set["content"] = drawContent.Draw(t, "content")
	}
	switch st.op {
	case "updatePage", "deletePage":
		if chance(t, 3, "by pathname") {
			st.path, st.rename = drawPath.Draw(t, "path"), false // the new name is of the page by number
		}
	case "createPage":
		st.set["pathname"] = drawPath.Draw(t, "pathname")
		st.inherit, st.rename = nil, false
		if chance(t, 2, "localized") {
			st.localized = drawFields(t, false)
			st.localized["content"] = drawContent.Draw(t, "content")
		}
	}
}

func drawEdit(t *rapid.T, st *step) {
	st.page = drawIndex.Draw(t, "page")
	if st.op == "deletePage" {
		return
	}
	st.locale = drawIndex.Draw(t, "locale")
	if st.op == "delocalizePage" || st.op == "swapPages" {
		return
	}
	st.set = drawFields(t, false)
	if chance(t, 4, "gives up") {
		st.inherit = []string{oneOf("pathname", "title", "isOnline").Draw(t, "inherit")}
	}
	st.rename = chance(t, 5, "rename")
}

func drawPublish(t *rapid.T, st *step) {
	st.confirm = rapid.Bool().Draw(t, "confirm")
	if chance(t, 2, "some pages") {
		st.pages = rapid.SliceOfN(drawIndex, 1, 3).Draw(t, "pages")
	}
	if chance(t, 4, "some redirects") {
		st.redirects = rapid.SliceOfN(drawIndex, 1, 2).Draw(t, "redirects")
	}
	if chance(t, 3, "some locales") {
		st.locales = rapid.SliceOfN(drawIndex, 1, 2).Draw(t, "locales")
	}
	if chance(t, 4, "with a plan") {
		st.plan = oneOf(freshPlan, ownPlan, savedPlan).Draw(t, "plan")
	}
	if st.op == "schedule" {
		st.seconds = 1 + evenly(20).Draw(t, "seconds")
	}
}

// drawFields draws an edit.
func drawFields(t *rapid.T, isNew bool) Fields {
	set := Fields{}
	if !chance(t, 3, "has no title") {
		set["title"] = drawTitle.Draw(t, "title")
	}
	if chance(t, 3, "goes on or off") {
		set["isOnline"] = rapid.Bool().Draw(t, "isOnline")
	}
	if !isNew && chance(t, 2, "has a pathname") {
		set["pathname"] = drawPath.Draw(t, "pathname")
	}
	return set
}
