package modeltest

import (
	"testing"
)

// TestRegressions takes the steps of runs that failed once, reduced to what
// made them fail, and of a few that chance seldom meets. Each begins after the prelude: locales en (the default) and
// fr, page 0 at /a without a title, page 1 at /b.
func TestRegressions(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, e *engine) {
		for _, test := range regressions {
			t.Run(test.name, func(t *testing.T) {
				w := newWorld(t, e)
				for _, st := range test.steps {
					w.do(st)
				}
			})
		}
	})
}

var regressions = []struct {
	name  string
	steps []step
}{
	{"a new default locale may close no circle of redirects that are live alone", []step{
		{op: "createRedirect", path: "/c", target: origin + "/c", locale: 1},
		{op: "publish"},
		{op: "deleteRedirect"},
		{op: "changeDefault", code: "fr"},
	}},
	{"a new locale may show no circle that each other locale has a way out of", []step{
		{op: "createRedirect", path: "/c", target: "/a/x", locale: 0},
		{op: "createRedirect", path: "/c", target: "/a/x", locale: 1},
		{op: "createRedirect", path: "/c", target: "/c", every: true},
		{op: "createLocale", code: "de"},
		{op: "changeDefault", code: "de"},
		{op: "deleteLocale", locale: 1},
		{op: "restoreLocale", locale: 1},
	}},
	{"an edit of a batch sees that the one before has given a pathname back to inheritance", []step{
		{op: "updatePage", locale: 1, set: Fields{"pathname": "/c"}},
		{op: "batch", batch: []step{
			{op: "delocalizePage", locale: 1},
			{op: "updatePage", page: 1, locale: 1, set: Fields{"pathname": "/a"}},
		}},
		{op: "publish"},
	}},
	{"an edit of a batch sees that the one before has made room for it in a locale", []step{
		{op: "batch", batch: []step{
			{op: "updatePage", locale: 1, set: Fields{"pathname": "/c"}},
			{op: "updatePage", page: 1, locale: 1, set: Fields{"pathname": "/a"}},
		}},
		{op: "publish"},
	}},
	{"pages swap in a batch, in the default locale and then in another", []step{
		{op: "batch", batch: []step{{op: "swapPages"}}},
		{op: "publish"},
		{op: "batch", batch: []step{{op: "swapPages", locale: 1}, {op: "updatePage", path: "/b", locale: 1, set: Fields{"title": "two"}}}},
		{op: "publish"},
	}},
	{"a batch makes a localized page in the place of one that it deletes", []step{
		{op: "batch", batch: []step{
			{op: "createPage", locale: 1, set: Fields{"pathname": "/a"}, localized: Fields{"pathname": "/b", "title": "two"}},
			{op: "deletePage", path: "/a"},
			{op: "updatePage", page: 1, locale: 1, set: Fields{"pathname": "/a"}},
		}},
		{op: "publish"},
	}},
	{"taking a page away is not the last time that it went live", []step{
		{op: "publish", pages: []int{0}},
		{op: "publish"},
		{op: "restorePublish"},
	}},
	{"a page that is no longer live was never live in a copy", []step{
		{op: "publish"},
		{op: "deletePage"},
		{op: "publish"},
		{op: "restorePage"},
		{op: "duplicateSite"},
	}},
	{"a null that a locale came to own is a change", []step{
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "one"}},
		{op: "changeDefault", code: "fr"},
	}},
	{"a null that a locale came to own is published with that locale", []step{
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "one"}},
		{op: "changeDefault", code: "fr"},
		{op: "publish", locales: []int{1}},
		{op: "publish", locales: []int{0}},
	}},
	{"what was hidden when its page was published is a change afterwards", []step{
		{op: "updatePage", locale: 1, set: Fields{"isOnline": false}},
		{op: "deleteLocale", locale: 1},
		{op: "publish"},
		{op: "restoreLocale"},
	}},
	{"what was hidden when its page was discarded is a change afterwards", []step{
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "deleteLocale", locale: 1},
		{op: "discardPage"},
		{op: "restoreLocale"},
	}},
	{"a schedule for a locale that has become the default one", []step{
		{op: "createLocale", code: "de"},
		{op: "schedule", locales: []int{2}, seconds: 12},
		{op: "changeDefault", code: "de"},
		{op: "wait", seconds: 20},
	}},
	{"a schedule for the default locale that is no longer that", []step{
		{op: "schedule", locales: []int{0}, seconds: 12},
		{op: "changeDefault", code: "fr"},
		{op: "wait", seconds: 20},
	}},
	{"a page that is restored brings back what is hidden", []step{
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "publish"},
		{op: "deletePage"},
		{op: "publish"},
		{op: "deleteLocale", locale: 1},
		{op: "restorePublish"},
		{op: "restoreLocale"},
	}},
	{"a page that leaves and comes back has what was hidden", []step{
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "one"}},
		{op: "deleteLocale", locale: 1},
		{op: "deletePage"},
		{op: "publish"},
		{op: "restorePage"},
		{op: "publish"},
		{op: "restoreLocale"},
	}},
	{"a locale that was shown in between is hidden anew", []step{
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "publish"},
		{op: "deleteLocale", locale: 1},
		{op: "deletePage"},
		{op: "publish"},
		{op: "restoreLocale"},
		{op: "deleteLocale", locale: 1},
		{op: "restorePage"},
		{op: "publish"},
		{op: "restoreLocale"},
	}},
	{"a null that is inherited again is published with what it inherits", []step{
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "one"}},
		{op: "changeDefault", code: "fr"},
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": nil}},
		{op: "publish"},
		{op: "updatePage", locale: 0, inherit: []string{"title"}},
		{op: "publish"},
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "publish"},
	}},
	{"the plan of a selection outlives an edit elsewhere", []step{
		{op: "updatePage", locale: 1, set: Fields{"title": "two"}},
		{op: "publish"},
		{op: "updatePage", set: Fields{"title": "one"}},
		{op: "review", pages: []int{0}},
		{op: "updatePage", page: 1, set: Fields{"title": "two"}},
		{op: "publish", pages: []int{0}, plan: savedPlan},
		{op: "publish", plan: savedPlan},
	}},
	{"the draft of a locale is discarded", []step{
		{op: "publish"},
		{op: "updatePage", set: Fields{"title": "two"}},
		{op: "updatePage", locale: 1, set: Fields{"pathname": "/c"}},
		{op: "discardSite", locales: []int{1}},
		{op: "deletePage"},
		{op: "discardSite", locales: []int{1}},
		{op: "discardSite", locales: []int{0}},
	}},
	{"a plan covers the nulls of a page that is new", []step{
		{op: "updatePage", locale: 1, set: Fields{"isOnline": false, "title": "two"}},
		{op: "changeDefault", code: "fr"},
		{op: "review"},
		{op: "updatePage", inherit: []string{"title"}},
		{op: "publish", plan: savedPlan},
	}},
	{"a locale's pathname meets one that another page inherits in the live version", []step{
		{op: "publish"},
		{op: "updatePage", set: Fields{"pathname": "/c"}},
		{op: "updatePage", page: 1, locale: 1, set: Fields{"pathname": "/a"}},
		{op: "publish", pages: []int{1}},
		{op: "publish", locales: []int{1}},
		{op: "schedule", locales: []int{1}, seconds: 5},
		{op: "wait", seconds: 10},
		{op: "publish"},
	}},
}
