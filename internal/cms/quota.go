package cms

import "fmt"

// Quota is how much the sites of a workspace may have together; nil: no limit.
type Quota struct{ Sites, Pages, ContentBytes *int }

// Usage is how much the sites of a workspace have together, without deleted sites.
type Usage struct {
	Sites        int
	Pages        int // of drafts, without deleted ones
	ContentBytes int // of contents in every version
}

// Plus adds the usage of others.
func (u Usage) Plus(other Usage) Usage {
	return Usage{u.Sites + other.Sites, u.Pages + other.Pages, u.ContentBytes + other.ContentBytes}
}

// Check refuses a write that adds to what exceeds its limit. A workspace that had more
// before it got the limit may still do everything else.
func (q Quota) Check(used, added Usage) error {
	for _, of := range []struct {
		name        string
		limit       *int
		used, added int
	}{
		{"sites", q.Sites, used.Sites, added.Sites},
		{"pages", q.Pages, used.Pages, added.Pages},
		{"content bytes", q.ContentBytes, used.ContentBytes, added.ContentBytes},
	} {
		if of.limit != nil && of.added > 0 && of.used > *of.limit {
			return Forbidden(fmt.Sprintf("This exceeds the workspace's quota of %s, which is %d", of.name, *of.limit))
		}
	}
	return nil
}
