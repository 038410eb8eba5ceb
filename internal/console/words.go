package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// All words of the console are in this file, a block for each screen, so that they can
// be translated and read as a whole.

// Of every screen.
const (
	productName    = "Galley"
	skipToContent  = "Skip to content"
	mainNav        = "Main"
	navOfSite      = "This site"
	navOfWorkspace = "Workspace"
	chooseSite     = "All sites"
	signedInAs     = "Signed in as"
	dismiss        = "Dismiss"
	messagesRegion = "Messages"
	loading        = "Loading"
	cancel         = "Cancel"
	save           = "Save"
	retry          = "Try again"
	requestIDLabel = "Request id"
	copyWord       = "Copy"
	copied         = "Copied"
	none           = "None"
	never          = "Never"
	showMore       = "Show more"
	utcNote        = "UTC"
	optional       = "optional"
	goBack         = "Go back"
	goToSites      = "Go to all sites"
	required       = "Please fill in this field"
	searchAndGo    = "Search and commands"
	themeLabel     = "Theme"
	themeSystem    = "As the system"
	themeLight     = "Light"
	themeDark      = "Dark"
	badForm        = "The form could not be read"
	somethingWrong = "Something went wrong here"
	nothingHere    = "There is nothing at this address"
	crossOrigin    = "A page of another site can't do this"
	siteNotFound   = "Site not found"
	needsScopeCode = "needs_scope"
	whoGivesScopes = "Somebody whose key has the scope admin can give it to yours, under Keys."
	errorHelp      = "Nothing was changed. Try again; if it happens again, report it with the request id."
	notFoundHelp   = "It may have been deleted, or your key may not reach it."
	busyHelp       = "There were too many requests. Wait a moment and try again."
	conflictHelp   = "Nothing was changed. Go back and look at it again."
)

// Of the nav.
const (
	navSites        = "All sites"
	navPages        = "Pages"
	navReview       = "Review"
	navPublishes    = "Publishes"
	navScheduled    = "Scheduled"
	navAllScheduled = "All scheduled"
	navLocales      = "Locales"
	navRoutes       = "Routes"
	navRedirects    = "Redirects"
	navPreviews     = "Previews"
	navSettings     = "Settings"
	navKeys         = "Keys"
	navAudit        = "Audit"
	navWebhooks     = "Webhooks"
	navEvents       = "Events"
	navOperator     = "Operator"
	navYou          = "You"
	navDocs         = "API reference"
)

// Sign in.
const (
	signInTitle    = "Sign in"
	signInLead     = "Proofs, locales and publishes of your sites."
	keyLabel       = "App key"
	keyHelp        = "It begins with sk_. 'galley apps create' makes one, and so does whoever has the scope admin."
	signInButton   = "Sign in"
	wrongKey       = "This key does not work. Check that it is whole, and that it was not deleted or has ended."
	useAnAppKey    = "Use an App key. A Site key reads one site, and can't sign in."
	noKeyHint      = "No key at hand? On the server, run"
	consoleCommand = "galley console"
	noKeyHintEnd   = "for a link that signs you in."
)

// Start.
const (
	startTitle    = "Start"
	startLead     = "This link signs you in once, within 30 minutes of being made."
	startLabel    = "Link, or what follows # in it"
	startButton   = "Sign in"
	startUsed     = "This link has been used, or is older than 30 minutes. Run 'galley console' on the server for another one, or sign in with a key."
	startWithAKey = "Sign in with a key"
)

// Sites.
const (
	sitesTitle     = "Sites"
	findSite       = "Find a site by name"
	newSiteButton  = "New site"
	newSiteTitle   = "New site"
	sitesEmpty     = "A site is where pages live."
	sitesEmptyHelp = "Make one here, or from a program:"
	sitesNoMatch   = "Nothing matches"
	clearFilter    = "Clear the filter"
	columnSite     = "Site"
	columnOrigin   = "Origin"
	columnLocales  = "Locales"
	columnPages    = "Pages"
	columnChanged  = "Changed"
	columnLast     = "Last publish"
	columnNext     = "Next scheduled"
	siteName       = "Name"
	siteOrigin     = "Origin"
	siteOriginHelp = "Where visitors find it, such as https://www.example.com. It can be set later."
	siteLocale     = "Default locale"
	siteLocaleHelp = "The language that other locales inherit from, such as en-US."
	createSite     = "Create site"
	restrictedSite = "A key that is restricted to sites can't make one"
	chipAll        = "All"
	chipDeleted    = "Deleted"
	restoreWord    = "Restore"
	trashEmpty     = "Nothing has been deleted."
)

// Pages.
const (
	pagesEmpty       = "No pages yet."
	pagesEmptyHelp   = "A page has a pathname, a title and the other things that a front end and search engines need."
	newPageButton    = "New page"
	newPageTitle     = "New page"
	tableOfPages     = "Table of pages"
	findPage         = "Find by path or title"
	versionLabel     = "Version"
	versionDraft     = "Draft"
	versionLive      = "Live"
	versionAsOf      = "As of…"
	nothingPublished = "Nothing has been published."
	localeLabel      = "Locale:"
	localeNotFound   = "Locale not found"
	pageNotFound     = "Page not found"
	stateLabel       = "State"
	viewLabel        = "View"
	viewTree         = "Tree"
	viewList         = "List"
	folderLabel      = "Folder"
	columnPath       = "Path"
	columnTitle      = "Title"
	columnUpdated    = "Updated"
	columnField      = "Field"
	selectAll        = "Select all pages shown"
	stateLive        = "Live"
	stateChanged     = "Changed"
	stateNew         = "New"
	stateOffline     = "Offline"
	stateDeleted     = "Deleted"
	keyMove          = "move"
	keyOpen          = "open"
	keySelect        = "select"
	keyLocale        = "locale"
	bulkOnline       = "Put online"
	bulkOffline      = "Take offline"
	bulkPublish      = "Publish…"
	bulkDelete       = "Delete…"
	nothingSelected  = "Nothing is selected."
	deletePagesText  = "They leave the draft. What is live stays until you publish, and Deleted brings them back."
	routeThere       = "Served by another system"
	noPageThere      = "No page here"
)

// A page.
const (
	fieldName        = "Name"
	fieldPathname    = "Pathname"
	fieldTitle       = "Title"
	fieldDescription = "Description"
	fieldSocialImage = "Social image"
	fieldCanonical   = "Canonical URL"
	fieldPriority    = "Sitemap priority"
	fieldFrequency   = "Sitemap frequency"
	fieldOnline      = "Online"
	fieldRobots      = "Search engines"
	fieldContent     = "Content"
	valueOnline      = "Online"
	valueOffline     = "Offline"
	valueIndexed     = "May list it"
	valueExcluded    = "Must not list it"
	openAlone        = "Open on its own"
	closePanel       = "Close panel"
	besideTheList    = "Beside the list"
	liveSince        = "Live since"
	compareLink      = "Compare"
	contentLink      = "Content"
	localeOfPage     = "Locale of the page"
	fieldsOverridden = " fields overridden"
	differsFromLive  = "Differs from live"
	resetWord        = "Reset"
	overrideWord     = "Override"
	fromSource       = "Inherited"
	sourceSays       = "The default locale says "
	theirsLabel      = "Saved by somebody else:"
	conflictTitle    = "Somebody else has saved this page."
	conflictText     = "Nothing of yours is lost: both values are shown where they differ."
	unsavedAsk       = "There are unsaved changes. Press Escape again to drop them."
	keepMine         = "Keep mine"
	takeTheirs       = "Take theirs"
	discardDraft     = "Discard draft"
	publishPage      = "Publish page…"
	deletePageButton = "Delete page"
	pageSaved        = "Saved in the draft."
	pageDiscarded    = "The draft is what is live again."
	pathnameHelp     = "Where the page is, such as /about or /shop/jackets."
	nameHelp         = "What editors call it. Without one, its title."
	createPage       = "Create page"
	createAnother    = "Create, then another"
)

// Content, and comparing.
const (
	contentTitle     = "Content"
	contentLabel     = "JSON: an object or an array"
	backToPage       = "Back to the page"
	contentSaved     = "Saved in the draft."
	contentRemoved   = "The content is gone from the draft."
	contentDiffTitle = "Different from live"
	compareTitle     = "Compare"
	compareFrom      = "From"
	compareTo        = "To"
	compareButton    = "Compare"
	noDifference     = "No difference"
)

var stateWords = map[string]string{"live": stateLive, "changed": stateChanged, "new": stateNew, "offline": stateOffline, "deleted": stateDeleted}

func stateWord(state string) string { return orElse(stateWords[state], state) }

func pagesIn(code string) string           { return "Pages in " + code }
func inLocale(code string) string          { return "In " + code }
func moreIn(folder string) string          { return "More in " + folder }
func selectRow(path string) string         { return "Select " + path }
func pagesBelow(name string, n int) string { return name + ": " + countOf(n) + " below" }
func nothingSaid(code string) string       { return " Nothing said in " + code }
func resetField(label string) string       { return "Reset " + label }
func overrideField(label string) string    { return "Override " + label }
func fieldReset(field string) string       { return "The default locale's " + field + " is back." }
func pageCreated(path string) string       { return "Created " + path + "." }
func bulkReset(code string) string         { return "Reset " + code }
func deletePagesTitle(n int) string        { return "Delete " + plural(n, "page", "pages") }
func pagesDeleted(n int) string            { return plural(n, "page", "pages") + " deleted from the draft." }
func pagesRestored(n int) string           { return plural(n, "page is", "pages are") + " back." }
func pagesReset(n int, code string) string {
	return plural(n, "page", "pages") + " say nothing in " + code + " any more."
}
func routeHas(path string) string { return "The route " + path + " already has this pathname" }

func pagesSwitched(n int, online bool) string {
	if online {
		return plural(n, "page is", "pages are") + " online in the draft."
	}
	return plural(n, "page is", "pages are") + " offline in the draft."
}

func fieldsSaid(overrides []string, code string) string {
	return fmt.Sprintf("%d of %d fields said in %s: %s", len(overrides), len(stickFields), code, strings.Join(overrides, ", "))
}

// countOf is a number that is counted up to 1,000.
func countOf(n int) string {
	if n >= 1000 {
		return "1,000+"
	}
	return number(n)
}

// shownValue is the value of a field as people read it.
func shownValue(field, value string) string {
	switch field + "=" + value {
	case "isOnline=true":
		return valueOnline
	case "isOnline=false":
		return valueOffline
	case "excludedFromSearchEngines=true":
		return valueExcluded
	case "excludedFromSearchEngines=false":
		return valueIndexed
	}
	if value == "" {
		return none
	}
	return value
}

// publishName is what a publish is called.
func publishName(p publish) string {
	if p.Name != nil && *p.Name != "" {
		return *p.Name
	}
	return plural(p.ChangeCount, "change", "changes") + ", " + shortTime(orElse(deref(p.PublishedAt), p.CreatedAt))
}

func versionWord(version string, versions []publish) string {
	switch version {
	case "draft":
		return versionDraft
	case "live":
		return versionLive
	}
	for _, p := range versions {
		if version == "publish:"+p.ID {
			return publishName(p)
		}
	}
	return version
}

func contentState(w contentView) string {
	switch {
	case !w.has:
		return "This page has no content. What you save here is what front ends render."
	case w.inherited:
		return "Inherited from the default locale. Saving gives this locale a content of its own."
	}
	return "Numbers, strings and the order of keys stay letter for letter; white space between them does not."
}

func removeContent(w contentView) string {
	if len(w.page.Overrides) > 0 {
		return "Inherit again"
	}
	return "Remove content"
}

func patchWord(op string) string {
	switch op {
	case "add":
		return "Added"
	case "remove":
		return "Removed"
	case "move":
		return "Moved"
	}
	return "Changed"
}

// Locales, and routes.
const (
	columnLocale     = "Locale"
	columnPlace      = "Address"
	columnLocalized  = "Pages localized"
	actionsLabel     = "Actions"
	defaultTag       = "Default"
	changeWord       = "Change"
	deleteWord       = "Delete"
	makeDefault      = "Make default"
	makeDefaultText  = "The other locales inherit from the default one. What any reader sees stays as it is: values are written out where that would change."
	deleteLocale     = "Delete"
	deleteLocaleText = "Its pages disappear for readers at once, draft and live. It can be restored as it was."
	localeCode       = "Code"
	localeCodeHelp   = "A language, or a language and a region: fr, pt-BR."
	localePrefix     = "Path prefix"
	localePrefixHelp = "Without one, the code."
	localeDomain     = "Domain"
	localeDomainHelp = "If it has a domain of its own: https://www.example.fr"
	routesSub        = "Pathnames that another system serves"
	routesEmpty      = "Pathnames that another system serves, such as /checkout, are kept free of pages here."
	routeSkip        = "It has another system's form, such as /products/[slug]"
	routeDeleted     = "The pathname is free again."
)

func localeFormTitle(edit string) string {
	if edit == "" {
		return "Add locale"
	}
	return "Change " + edit
}

func routeFormTitle(edit string) string {
	if edit == "" {
		return "Add route"
	}
	return "Change route"
}

func changeOf(name string) string       { return "Change " + name }
func deleteName(name string) string     { return "Delete " + name }
func makeDefaultOf(code string) string  { return "Make " + code + " the default" }
func deleteLocaleOf(code string) string { return "Delete " + code }
func localeAdded(code string) string    { return "Added " + code + "." }
func localeSaved(code string) string    { return "Saved " + code + "." }
func defaultIs(code string) string      { return code + " is the default locale." }
func localeDeleted(code string) string  { return code + " is deleted. It can be restored below." }
func localeRestored(code string) string { return code + " is back." }
func routeSaved(path string) string     { return path + " is kept for another system." }

// You.
const (
	youTitle        = "You"
	youKey          = "Your key"
	youName         = "Name"
	youWorkspace    = "Workspace"
	youCan          = "It may"
	youSites        = "Sites"
	youAllSites     = "All sites of the workspace"
	youEnds         = "Ends"
	youSessions     = "Signed in with this key"
	youSessionsHelp = "Deleting or rotating the key ends all of them."
	youThis         = "This browser"
	youBrowser      = "Browser"
	youSince        = "Since"
	youSeen         = "Last seen"
	youEndSession   = "End"
	youSignOut      = "Sign out"
	youSignOutAll   = "Sign out everywhere"
	youSessionEnded = "The session has ended."
	youLook         = "Looks"
	unknownBrowser  = "Unknown browser"
	youThemeSaved   = "Saved."
)

// scopeWords are what each scope lets a key do.
var scopeWords = map[string]string{
	"read": "see sites, pages and publishes", "write": "change drafts, locales, routes and redirects",
	"publish": "publish, schedule and restore", "admin": "manage keys and webhooks, and read the audit trail",
	"operator": "see how the whole installation runs",
}

func needsScope(scope string) string { return "Needs the scope " + scope }

func tooManyAttempts(seconds int) string {
	return fmt.Sprintf("Too many attempts. Try again in %s.", plural(seconds, "second", "seconds"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// number writes a number with commas.
func number(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func siteCreated(name string) string  { return "Created " + name + "." }
func siteRestored(name string) string { return name + " is back." }
func endSessionOf(name string) string { return "End the session of " + name }
func restoreName(name string) string  { return "Restore " + name }

// errorTitle names an error.
func errorTitle(p *problem) string {
	switch {
	case p.Code == needsScopeCode, p.Status == http.StatusForbidden:
		return "No permission"
	case p.Status == http.StatusNotFound:
		return "Not found"
	case p.Status == http.StatusTooManyRequests:
		return "Too many requests"
	case p.Status == http.StatusServiceUnavailable:
		return "Busy"
	case p.Status == http.StatusConflict, p.Status == http.StatusPreconditionFailed:
		return "It has changed meanwhile"
	case p.Status < http.StatusInternalServerError:
		return "Not possible"
	}
	return "Something went wrong"
}

// errorAdvice says what to do about an error.
func errorAdvice(p *problem) string {
	switch {
	case p.Code == needsScopeCode, p.Status == http.StatusForbidden:
		return whoGivesScopes
	case p.Status == http.StatusNotFound:
		return notFoundHelp
	case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
		return busyHelp
	case p.Status == http.StatusConflict, p.Status == http.StatusPreconditionFailed:
		return conflictHelp
	}
	return errorHelp
}

// Review.
const (
	reviewSub        = "What readers would see differently if the draft went live"
	viewChanges      = "Changes"
	viewSides        = "Side by side"
	copyApproval     = "Copy link for approval"
	reviewEmpty      = "Live is what the draft says."
	lastPublished    = "Last publish:"
	goToPages        = "Go to pages"
	changesLabel     = "Changes"
	draftMoved       = "The draft has changed."
	draftMovedText   = "Nothing was published. What came since you opened the review is marked below; look at it and publish again."
	reviewAgain      = "Review again"
	planIsGone       = "This plan is gone."
	planIsGoneText   = "The draft is no longer what was sent for approval. What came since is marked."
	planHolds        = "This is what was sent for approval."
	planHoldsText    = "Publishing makes exactly this live."
	elsewhereText    = "Also edited since, with nothing left to publish here:"
	partText         = "This is a part of the draft."
	reviewAll        = "Review everything"
	filterChanges    = "Filter changes"
	facetKind        = "Kind"
	facetLocale      = "Locale"
	facetUnder       = "Under"
	allLocales       = "All locales"
	everywhere       = "Everywhere"
	editedSince      = "Since you looked"
	kindUpdated      = "Edited"
	kindCreated      = "New"
	kindMoved        = "Moved"
	kindDeleted      = "Deleted"
	kindOffline      = "Taken offline"
	kindOnline       = "Put online"
	kindRedirectNew  = "New redirect"
	kindRedirectGone = "Redirect deleted"

	kindRedirectEdited = "Redirect edited"

	contentAdded     = "Content"
	contentGone      = "Content"
	contentDiffers   = "The content is different."
	seeContent       = "See the content"
	publishWord      = "Publish"
	sinceWord        = "Since"
	wentLive         = "went live"
	neverPublished   = "Nothing is live yet."
	publishNameLabel = "Name"
	whenLabel        = "When"
	whenNow          = "Now"
	whenLater        = "At a time…"
	whenAt           = "Goes live at"
	exactPlan        = "Exactly these changes"
	exactPlanText    = "If anybody edits the draft before then, it fails and says so."
	draftThen        = "The draft as it is then"
	draftThenText    = "What is edited before then goes live, too."
	publishSelected  = "Publish the selected pages"
	allAtOnce        = "All at once, and undone with one click."
	beforeYouPublish = "Before you publish"
	nobodyEdited     = "Nobody has edited since you opened this"
	noClashes        = "No pathname would belong to two pages"
	clashesFirst     = "Two pages can't have one pathname. Change one of them first."
	clashRoute       = "and a route"
	guardHelp        = "So many live pages go away. This is asked because it is most of the site."
	downloadCSV      = "Download redirects (CSV)"
	movedRedirected  = "The old ones redirect to the new ones. "
	movedNotFound    = "Readers of the old ones find nothing unless you redirect. "
	nothingToPublish = "There was nothing to publish."
	publishScheduled = "Scheduled."
	seePublish       = "See the publish"
	pagesChanged     = " pages changed"
	scheduledCount   = " scheduled"
	failedCount      = " failed"
)

// shownLocales is how many locales of a page a card shows unfolded.
const shownLocales = 3

func changesPublished(n int) string { return plural(n, "change is live.", "changes are live.") }
func typeTheNumber(n int) string    { return "Type " + number(n) + " to confirm" }
func moreLocales(n int, codes string) string {
	return plural(n, "more locale: ", "more locales: ") + codes
}
func planNote(plan string) string        { return "Plan " + shortPlan(plan) }
func clashText(path, code string) string { return path + " would belong to two pages in " + code }
func addressesChange(n int) string       { return plural(n, "live address changes", "live addresses change") }
func redirectsMade(n int) string         { return plural(n, "redirect is made", "redirects are made") }
func publishPages(n int) string          { return "Publish " + plural(n, "page", "# pages") }

func pagesGoAway(n, of int) string {
	if of == 0 {
		return plural(n, "live page goes away", "live pages go away")
	}
	return number(n) + " of " + plural(of, "live page goes away", "live pages go away")
}

// shortPlan is the beginning of a plan.
func shortPlan(plan string) string { return plan[:min(len(plan), 8)] }

func tallyText(s reviewView) string {
	text := "changes"
	if s.dry.Summary.Total == 1 {
		text = "change"
	}
	if s.pageCount > 0 {
		text += " on " + plural(s.pageCount, "page", "pages")
	}
	return fmt.Sprintf("%s in %s of %s", text, number(len(s.dry.Summary.ByLocale)), plural(len(s.locales), "locale", "locales"))
}

func publishButton(s reviewView) string {
	if s.isPart() && s.pageCount > 0 {
		return "Publish " + plural(s.pageCount, "page", "pages")
	}
	return "Publish " + plural(s.dry.Summary.Total, "change", "changes")
}

func scheduleButton(s reviewView) string {
	return "Schedule" + strings.TrimPrefix(publishButton(s), "Publish")
}

// fieldLabel is what a field of a change is called.
func fieldLabel(name string) string {
	for _, k := range fieldKinds {
		if k.name == name {
			return k.label
		}
	}
	return orElse(map[string]string{
		"name": fieldName, "content": fieldContent, "source": "From", "target": "To", "status": "Status", "isAutomatic": "Automatic", "locale": "Locale",
	}[name], name)
}

// Publishes and what is scheduled.
const (
	publishNotFound      = "Publish not found"
	publishesSub         = "What went live, and when"
	byWhom               = "By"
	liveNow              = "Live now"
	restoredTag          = "Brought back"
	goLiveAgain          = "Go live with this again"
	lookAtIt             = "Look at the site as of it"
	cancelPublishButton  = "Cancel publish"
	reasonLabel          = "Reason"
	beforeIt             = "Before it"
	restoreTitle         = "Go live with this again"
	alreadyLive          = "This is what is live."
	publishCanceled      = "It was canceled."
	nothingScheduled     = "Nothing is scheduled."
	nothingScheduledHelp = "Review the draft, and choose a time beside Publish."
	failedTitle          = "Failed"
	wentLiveTitle        = "Went live on time"
)

var publishStatuses = map[string]string{"published": "Published", "scheduled": "Scheduled", "failed": "Failed", "canceled": "Canceled"}

func publishStatus(status string) string { return orElse(publishStatuses[status], status) }
func publishRestored(name string) string { return "Live is as it was after " + name + "." }
func restoreOf(name string) string       { return goLiveAgain + ": " + name }
func cancelOf(name string) string        { return cancelPublishButton + ": " + name }

// scheduledName is what a publish that is scheduled is called.
func scheduledName(p publish) string { return orElse(deref(p.Name), "Without a name") }

// whoPublished is the person, if the request named one, and the key.
func whoPublished(p publish) string {
	name := orElse(deref(p.CreatedByName), p.CreatedBy)
	if actor := deref(p.Actor); actor != "" {
		return actor + ", " + name
	}
	return name
}

func restoreText(w restoreView) string {
	switch {
	case w.isTooLong:
		return "Live becomes what it was after this publish. There are too many publishes since to list what changes. The draft stays as it is."
	case len(w.cards) == 0:
		return alreadyLive
	}
	return "This is what changes for readers, compared with what is live now. The draft stays as it is, and you can go back the same way."
}

func scheduledTitle(v *visit) string {
	if v.site == nil {
		return navAllScheduled
	}
	return navScheduled
}

// Keys.
const (
	keysSub           = "Who and what may use this workspace"
	newKeyButton      = "New key"
	newKeyTitle       = "New key"
	createKey         = "Create key"
	keyEndsIn         = "Key"
	keyUsed           = "Last used"
	keyMadeAt         = "Made"
	yourKey           = "Your key"
	forAPerson        = "For a person:"
	presetEditor      = "Editor"
	presetRelease     = "Release manager"
	presetOperator    = "Administrator"
	keyNameHelp       = "Who or what uses it. The audit trail has this name."
	keyEndsHelp       = "At the beginning of this day, in UTC. Without one, the key never ends."
	onlySomeSites     = "Only some sites"
	onlySomeSitesHelp = "With none chosen, all sites of the workspace."
	keyMade           = "The key was made"
	keyRotated        = "The key was changed"
	keyOnce           = "Keep it now: it is shown this once, and never again."
	keySaved          = "Saved."
	secretKept        = "I have kept it"
	rotateKey         = "Rotate key"
	rotateHelp        = "Makes a new key. The old one goes on for a while, so that programs can be changed one by one."
	rotateOwn         = "This is the key that you are signed in with, and it ends at once: you have to sign in again with the new one."
	graceLabel        = "The old one works"
	deleteKey         = "Delete key"
	deleteKeyText     = "The key stops working at once, and whoever is signed in with it is signed out."
	deleteOwnKey      = "This is the key that you are signed in with. It stops working at once, and you are signed out."
	keyDeleted        = "The key is deleted."
)

var graces = []struct {
	seconds int
	name    string
}{{0, "no longer"}, {3600, "for an hour more"}, {86400, "for a day more"}, {7 * 86400, "for a week more"}}

// scopesInWords are what scopes let a key do.
func scopesInWords(scopes []string) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = shortScopes[s]
	}
	return strings.Join(words, ", ")
}

var shortScopes = map[string]string{"read": "see", "write": "change drafts", "publish": "publish", "admin": "manage keys", "operator": "run the installation"}

func siteCount(ids []string) string {
	if ids == nil {
		return "All sites"
	}
	return plural(len(ids), "site", "sites")
}

// Audit and events.
const (
	auditSub       = "Who changed what, and when"
	auditSince     = "Since"
	auditUntil     = "Until"
	auditOperation = "Operation"
	filterButton   = "Filter"
	downloadJSON   = "Download as JSON"
	auditEmpty     = "Nothing in this time"

	exampleOperation = "updatePage"
	exampleType      = "page.updated"

	theService  = "The service itself"
	allOfIt     = "All of this"
	eventsSub   = "What happened, oldest first; the last day unless you say since when"
	eventsEmpty = "Nothing happened in this time"
	eventType   = "Event"
	eventThing  = "What"
	eventFields = "Fields"
)

// Webhooks.
const (
	webhooksSub       = "Where events are sent"
	webhookTitle      = "Webhook"
	newWebhookButton  = "New webhook"
	newWebhookTitle   = "New webhook"
	createWebhook     = "Create webhook"
	webhooksEmpty     = "No webhooks yet."
	webhooksEmptyHelp = "A webhook is an address that gets every event as it happens, such as a build that follows a publish."
	webhookURL        = "URL"
	webhookTypes      = "Types"
	webhookTypesHelp  = "With commas, such as publish.published, page.updated. Without any, all."
	webhookEnabled    = "Send events"
	webhookMade       = "The webhook was made"
	secretLabel       = "Secret"
	secretOnce        = "This secret signs what is sent. Keep it now: it is shown this once, and never again."
	secretRotated     = "The secret was changed"
	webhookSaved      = "Saved."
	sendTest          = "Send a test"
	webhookTested     = "A test was sent."
	deliveriesTitle   = "Deliveries"
	noDeliveries      = "Nothing was sent yet."
	redeliverWord     = "Send again"
	redelivering      = "It is being sent again."
	nextAttempt       = "Next attempt:"
	settingsTitle     = "Settings"
	replayTitle       = "Send events again"
	replayHelp        = "Sends all events since a time, as new deliveries, also those from before the webhook was made."
	replayButton      = "Send events again"
	rotateSecret      = "Rotate secret"
	rotateSecretHelp  = "Makes a new secret. While the old one works, too, what is sent has two signatures."
	deleteWebhook     = "Delete webhook"
	deleteWebhookText = "Nothing is sent any more, and what is waiting is dropped."
	webhookDeleted    = "The webhook is deleted."
)

var deliveryStatuses = []string{"pending", "delivered", "failed"}

var deliveryWords = map[string]string{"pending": "Waiting", "delivered": "Delivered", "failed": "Failed"}

func deliveryWord(status string) string { return orElse(deliveryWords[status], status) }
func redeliverOf(name string) string    { return redeliverWord + ": " + name }
func replayed(n int) string             { return plural(n, "event is", "events are") + " being sent again." }
func testResult(a attempt) string       { return "A test was sent: " + attemptResult(a) }

// attemptResult is how an attempt to send an event ended.
func attemptResult(a attempt) string {
	if a.Status != nil {
		return fmt.Sprintf("%d in %s ms", *a.Status, number(a.DurationMs))
	}
	return orElse(deref(a.Error), "no answer")
}

func enabledWord(w webhook) string {
	if w.IsEnabled {
		return "Enabled"
	}
	return "Disabled"
}

// Palette and keyboard.
const (
	paletteTitle  = "Search and commands"
	paletteHint   = "Go to a screen, a page or a site"
	keyboardTitle = "Keyboard"
	lettersHelp   = "Single letters only lead somewhere: they never change, publish or delete anything."
	lettersOn     = "Turn single letters on"
	lettersOff    = "Turn single letters off"
)

func nothingCalled(text string) string { return "Nothing called “" + text + "”" }

var shortcuts = []struct {
	name string
	keys []shortcut
}{
	{"Everywhere", []shortcut{
		{[]string{"Ctrl", "K"}, "search and commands"}, {[]string{"/"}, "find in this list"}, {[]string{"?"}, "these keys"},
	}},
	{"Go to", []shortcut{
		{[]string{"G", "S"}, "sites"}, {[]string{"G", "P"}, "pages"}, {[]string{"G", "R"}, "review"}, {[]string{"G", "H"}, "publishes"},
		{[]string{"G", "T"}, "scheduled"}, {[]string{"G", "L"}, "locales"}, {[]string{"G", "K"}, "keys"}, {[]string{"G", "A"}, "audit"},
		{[]string{"G", "W"}, "webhooks"}, {[]string{"G", "E"}, "events"},
	}},
	{"In lists", []shortcut{
		{[]string{"J", "K"}, "move"}, {[]string{"O"}, "open"}, {[]string{"X"}, "select"}, {[]string{"Shift", "X"}, "select up to here"},
		{[]string{"["}, "close the folder"}, {[]string{"]"}, "open the folder"}, {[]string{"C"}, "new"}, {[]string{"L"}, "choose the locale"}, {[]string{"V"}, "draft or live"},
	}},
	{"In a page", []shortcut{
		{[]string{"E"}, "edit"}, {[]string{"Ctrl", "S"}, "save"}, {[]string{"Esc"}, "close"}, {[]string{"Alt", "←"}, "previous locale"}, {[]string{"Alt", "→"}, "next locale"},
	}},
}

func yesNo(yes bool) string {
	if yes {
		return "Yes"
	}
	return "No"
}
