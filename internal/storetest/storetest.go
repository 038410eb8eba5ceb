// Package storetest holds every engine to the contract of cms.Store. It knows
// no engine: each one's tests call Run with a way to make an empty store.
package storetest

import (
	"testing"

	"galley/internal/cms"
)

// suite is everything that a store must do. There is no way to opt out: the
// engines are equal because all of them pass all of it.
var suite = []struct {
	name string
	run  func(t *testing.T, store cms.Store)
}{
	{"workspace/kept as given", workspaceKept},
	{"workspace/oldest first", workspacesOldestFirst},
	{"workspace/its quota is kept, and shown with its apps", quotaKept},
	{"workspace/what its sites have is counted", usageCounted},
	{"workspace/a locked one is waited for", quotaWaitedFor},
	{"workspace/one installation is told that the store was empty", installOnce},

	{"app/kept as given", appKept},
	{"app/absent", appAbsent},
	{"app/deleted is found", appDeletedFound},
	{"app/a key has one app", appKeyConflict},
	{"app/list", appList},
	{"app/update", appUpdate},
	{"app/a key works until the app ends", appKeyExpiry},
	{"app/rotated key works until its end", appKeyRotation},
	{"app/last use moves forward only", appTouch},

	{"site/kept as given", siteKept},
	{"site/absent", siteAbsent},
	{"site/deleted is found", siteDeletedFound},
	{"site/update", siteUpdate},
	{"site/a key has one site", siteKeyConflict},
	{"site/list", siteList},
	{"site/list of those named", siteListOnly},
	{"site/list by name, label and deletion", siteFilter},
	{"site/workspaces of sites", sitesOf},
	{"site/site of a child", siteOf},
	{"site/rotated key works until its end", siteKeyRotation},
	{"site/shape changes with the site and its locales", siteShape},
	{"site/purge removes the site and nothing else", sitePurge},
	{"site/purge takes the oldest within its limit", sitePurgeLimit},

	{"locale/kept as given", localeKept},
	{"locale/codes are unique", localeConflicts},
	{"locale/what deleted locales and other sites hold is free", localeNoConflicts},
	{"locale/update", localeUpdate},
	{"locale/hidden gives its pathnames up and takes them again", localeHideShow},
	{"locale/shown only if nothing is in the way", localeShowConflicts},

	{"page/kept as given", pageKept},
	{"page/absent", pageAbsent},
	{"page/deleted is found", pageDeletedFound},
	{"page/draft and live stand apart", pageVersions},
	{"page/update", pageUpdate},
	{"page/update of localizations", pageUpdateLocalizations},
	{"page/pathnames in locales", pagePaths},
	{"page/found in one look", pageFound},
	{"page/pages that a locale overrides", pageLocalized},
	{"page/list by status", pageListStatus},

	{"search/finds what a plain search finds", searchPages},
	{"search/copied and purged with the site", searchCopied},
	{"search/among many", searchMany},
	{"search/while pages are written and indexed", searchWhileIndexed},

	{"content/kept as given", contentKept},
	{"content/purged unless a page refers to it", contentPurged},
	{"content/copied with the site", contentCopied},

	{"pagelist/by code point", listByCodePoint},
	{"pagelist/nulls last", listNullsLast},
	{"pagelist/ties by id", listTiesByID},
	{"pagelist/prefix letter for letter", listPrefix},
	{"pagelist/below a pathname by segments", listUnder},
	{"pagelist/offline, deleted and live", listStates},
	{"pagelist/one page more than the limit", listLimit},
	{"pagelist/every order in every locale", listEveryOrder},

	{"route/kept as given", routeKept},
	{"route/absent and deleted", routeAbsent},
	{"route/list", routeList},
	{"route/update", routeUpdate},
	{"route/list of those below a pathname", routeListUnder},

	{"preview/kept as given", previewKept},
	{"preview/absent", previewAbsent},
	{"preview/a token works until its end", previewEnd},
	{"preview/list", previewList},
	{"preview/last use moves forward only", previewTouch},
	{"preview/purge removes those that ended first", previewPurge},

	{"publishurl/kept in order", publishURLsKept},
	{"publishurl/as an event shows them", publishURLsOfEvents},
	{"publishurl/purged with the publish and the site", publishURLsPurged},

	{"redirect/kept as given", redirectKept},
	{"redirect/list by source", redirectList},
	{"redirect/found by source, target and locale", redirectFound},
	{"redirect/found by where they lead", redirectsLeading},
	{"redirect/as they were live", redirectHistory},
	{"redirect/copied and purged with the site", redirectCopied},

	{"claim/one holder for each version and locale", claimTaken},
	{"claim/a refusal leaves the transaction usable", claimRefusalIsHarmless},
	{"claim/one that nobody holds in any locale", claimFree},
	{"claim/released by its owner alone", claimRelease},
	{"claim/found in every locale", claimsFound},
	{"claim/letter for letter", claimLetters},

	{"copy/draft and live with localizations", copyWhole},
	{"copy/hidden locales stay behind", copyHiddenLocales},
	{"copy/deleted items", copyDeleted},
	{"copy/of many pages", copyMany},

	{"publish/kept as given", publishKept},
	{"publish/the last is the one with the highest number", publishLast},
	{"publish/newest first", publishList},
	{"publish/scheduled ones of a workspace", publishScheduled},
	{"publish/due ones in their order", publishDue},
	{"publish/two transactions never take the same one", publishDueTwice},
	{"publish/each due one is taken once", publishDueRace},

	{"summary/a site is counted", siteCounted},
	{"summary/a site is counted while many write", siteCountedByMany},
	{"summary/scheduled publishes", publishesScheduled},

	{"history/pages as they were live", historyPages},
	{"history/what publishes changed", historyOfPublishes},
	{"history/rewritten", historyRewritten},
	{"history/purged", historyPurged},
	{"history/pages that may differ from live", dirtyPages},
	{"history/pages that become what their drafts are", liveAsDrafts},

	{"idempotency/answers are kept and forgotten", keptAnswers},
	{"idempotency/a request is answered by one at a time", lockedRequest},

	{"audit/kept as given", auditKept},
	{"audit/newest first, by every filter", auditList},
	{"audit/names of apps", auditAppNames},
	{"audit/in a time", auditTimes},
	{"audit/purged, the oldest first", auditPurged},

	{"webhook/kept as given", webhookKept},
	{"webhook/list", webhookList},
	{"webhook/one node serves it at a time", webhookLeases},
	{"webhook/replays", webhookReplays},
	{"webhook/events are counted", webhookCount},
	{"delivery/kept as given", deliveryKept},
	{"delivery/list", deliveryList},
	{"delivery/the next attempts", deliveryNext},
	{"delivery/purge removes the oldest", deliveryPurge},

	{"event/kept as given", eventKept},
	{"event/oldest first, by every filter", eventList},
	{"event/numbered in the order of their commits", eventOrder},
	{"event/purged, the oldest first", eventPurged},
	{"event/purged with their site", eventPurgedWithSite},

	{"tx/all or nothing", txRollback},
	{"tx/a panic leaves nothing behind", txPanic},
	{"tx/reads what it wrote", txReadsOwnWrites},
	{"tx/readers neither wait nor see what is not committed", txReaders},
	{"tx/a view is of one moment", txView},
	{"tx/a canceled context", txCanceled},
	{"tx/ping", txPing},
	{"tx/text, numbers and times are kept exactly", txValues},

	{"concurrency/one of two gets a pathname", racePathname},
	{"concurrency/64 writers lose nothing", raceWriters},
	{"concurrency/locked rows are read and written by one at a time", raceCounters},
	{"concurrency/walks while others write", raceWalks},
	{"concurrency/walks whose cursor moves or goes", raceMovingCursor},
}

// Run runs the suite, a fresh and empty store for each case.
func Run(t *testing.T, newStore func(t *testing.T) cms.Store) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newStore(t))
		})
	}
}
