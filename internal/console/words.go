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
	navSites     = "All sites"
	navPages     = "Pages"
	navReview    = "Review"
	navPublishes = "Publishes"
	navScheduled = "Scheduled"
	navLocales   = "Locales"
	navRoutes    = "Routes"
	navRedirects = "Redirects"
	navPreviews  = "Previews"
	navSettings  = "Settings"
	navKeys      = "Keys"
	navAudit     = "Audit"
	navWebhooks  = "Webhooks"
	navEvents    = "Events"
	navOperator  = "Operator"
	navYou       = "You"
	navDocs      = "API reference"
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
	pagesEmpty = "No pages yet."
)

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
