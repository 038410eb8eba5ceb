package cms

// SiteCounts are how many there are of each kind in the draft of a site, in one locale.
// Pages are counted by NoID, and by each other locale that overrides something of them.
type SiteCounts struct {
	Online, Offline int // pages that are not deleted
	Dirty           int // pages that may differ from what is live
	Redirects       int // those of the locale alone; of every locale by NoID
	Routes          int // by NoID
	ContentBytes    int // of contents, by NoID
}
