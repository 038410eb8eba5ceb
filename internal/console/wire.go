package console

// The resources of the REST interface, as far as screens show them.

// page is a page in a version and locale.
type page struct {
	ID, SiteID, Name, Pathname   string
	Title, Description           *string
	CanonicalURL, SocialImageURL *string
	SitemapPriority              *float64
	SitemapFrequency             *string
	CreatedAt, UpdatedAt         string
	PublishedAt                  *string
	IsOnline                     bool
	ExcludedFromSearchEngines    *bool
	Localizations                []struct{ Pathname, Locale, ID string }
	Locale                       string
	Status                       string
	Overrides                    []string
}

// segment is a pathname one segment below another.
type segment struct {
	Pathname    string
	Page        *segmentPage
	RouteID     *string
	HasChildren bool
	Count       int
}

type segmentPage struct {
	ID        string
	Title     *string
	Status    *string
	IsOnline  bool
	UpdatedAt string
	Overrides []string
}

// locale is a language of a site.
type locale struct {
	ID, Locale         string
	Domain, PathPrefix *string
	IsDefault          bool
}

// route is a pathname of another system.
type route struct{ ID, SiteID, Pathname string }

// publish is a publish.
type publish struct {
	ID, SiteID                       string
	Name                             *string
	Status                           string
	PublishAt, PublishedAt           *string
	ChangeCount                      int
	PreviousID, RestoredFrom, Reason *string
	CreatedAt, CreatedBy             string
	CreatedByName, Actor             *string
}

// content is the content of a page in a locale.
type content struct {
	Digest      string
	Locale      string
	IsInherited bool
	UpdatedAt   string
}
