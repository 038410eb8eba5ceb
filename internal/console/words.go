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

// Review.
const (
	reviewSub        = "What readers would see differently if the draft went live"
	reviewEmpty      = "Live is what the draft says."
	lastPublished    = "Last published:"
	copyApproval     = "Copy link for approval"
	changesRegion    = "Changes"
	filterChanges    = "Filter changes"
	facetKind        = "Kind"
	everyLocale      = "all"
	contentDiffers   = "The content differs"
	draftChanged     = "The draft has changed."
	draftChangedNote = "The draft has changed since you opened this."
	reviewAgain      = "Review again"
	cameSince        = "Came since"
	publishWord      = "Publish"
	sinceLast        = "Since"
	beforeYouPublish = "Before you publish"
	nobodyEdited     = "Nobody has edited since you opened this"
	noClash          = "No pathname would belong to two pages"
	publishNameLabel = "Name"
	whenLabel        = "When"
	whenNow          = "Now"
	whenLater        = "At a time"
	whenTime         = "Time"
	meaningPlan      = "Exactly this. If the draft changes until then, nothing is published"
	meaningDraft     = "The draft as it is then"
	confirmHelp      = "Most of what is live would go away."
	publishBlocked   = "It would be refused: see above."
	publishSelected  = "Publish selected pages"
	publishOnePage   = "Publish 1 page"
	publishManyPages = "Publish # pages"
	undoneEasily     = "All at once, and undone with one click."
	nothingToPublish = "There was nothing to publish."
	scheduledDone    = "Scheduled."
	lookAtIt         = "Look at it"
)

var kindWords = map[string]string{
	"updated": "Edited", "created": "New", "pathChanged": "Moved", "deleted": "Deleted", "takenOffline": "Taken offline", "takenOnline": "Put online",
	"redirectCreated": "Redirect added", "redirectUpdated": "Redirect changed", "redirectDeleted": "Redirect deleted",
}

func kindWord(kind string) string { return orElse(kindWords[kind], kind) }

func fieldWord(field string) string {
	for _, k := range fieldKinds {
		if k.name == field {
			return k.label
		}
	}
	return map[string]string{"content": fieldContent, "source": "From", "target": "To", "status": "Status", "locale": "Locale", "name": fieldName, "isAutomatic": "Automatic"}[field]
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

func tallyText(w reviewView) string {
	text := "changes"
	if w.countChanges() == 1 {
		text = "change"
	}
	switch {
	case w.pages != nil:
		return text + " on " + plural(len(w.pages), "selected page", "selected pages")
	case w.locale != "":
		return text + " in " + w.locale
	}
	return text + " in " + plural(len(w.all.Summary.ByLocale), "locale", "locales")
}

func movedText(w reviewView) string {
	if w.bound != "" {
		return "This plan is gone: nothing is published by it."
	}
	return "Nothing was published. What came since is marked."
}

func publishButton(w reviewView) string {
	if w.pages != nil {
		return "Publish " + plural(len(w.pages), "page", "pages")
	}
	return "Publish " + plural(w.countChanges(), "change", "changes")
}

func planIs(plan string) string    { return "Plan " + plan[:min(8, len(plan))] }
func publishedCount(n int) string  { return "Published " + plural(n, "change", "changes") + "." }
func addressesChange(n int) string { return plural(n, "live address changes", "live addresses change") }
func pagesGoAway(n int) string     { return plural(n, "live page goes away", "live pages go away") }
func confirmLabel(n int) string    { return "Type " + number(n) + " to confirm" }
func clashOf(path, locale string, n int) string {
	return path + " would belong to " + plural(n, "page and a route", "pages") + " in " + locale
}

func redirectsMade(n int) string {
	if n == 0 {
		return "Readers of the old ones find nothing: there is no redirect from them."
	}
	return plural(n, "redirect leads", "redirects lead") + " from the old ones."
}

// Publishes, and scheduled ones.
const (
	nothingScheduled = "Nothing is scheduled."
	scheduleCanceled = "It is canceled."
	cancelSchedule   = "Cancel"
	goLiveAgain      = "Go live with this again"
	lookAtSite       = "Look at the site as of it"
	restoredTag      = "Restored"
	alreadyLive      = "Live is this already."
	restoredDone     = "It is live again. The draft is as it was."
	restoreAsk       = "This is what readers would see differently."
	restoreText      = "The draft stays as it is."
	restoreCut       = "There is more than is shown here."
)

var publishWords = map[string]string{"published": "Published", "scheduled": "Scheduled", "canceled": "Canceled", "failed": "Failed"}

func publishStatus(status string) string { return orElse(publishWords[status], status) }
func failedCount(n int) string {
	return plural(n, "scheduled publish failed", "scheduled publishes failed")
}

func countedChanges(p publish) string {
	if p.Status != "published" {
		return ""
	}
	return plural(p.ChangeCount, "change", "changes")
}

func publishHeading(w publishView) string {
	if w.isRestore {
		return goLiveAgain
	}
	return publishName(w.publish)
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
func changedCount(n int) string       { return plural(n, "page changed", "pages changed") }
func restoreName(name string) string  { return "Restore " + name }
func scheduledCount(n int) string     { return plural(n, "publish scheduled", "publishes scheduled") }

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
