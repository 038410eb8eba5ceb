package modeltest

import (
	"maps"
	"slices"
	"strings"

	"galley/internal/cms"
)

// Redirect is a redirect in one version.
type Redirect struct {
	Locale         cms.ID // NoID: every locale
	Source, Target string
	Automatic      bool
	Deleted        bool // of the draft alone
}

func (r Redirect) wild() bool { return strings.HasSuffix(r.Source, "/*") }

// base is what a source with a star covers everything below.
func (r Redirect) base() string { return strings.TrimSuffix(r.Source, "/*") }

// Redirects are the redirects of a version.
type Redirects map[cms.ID]Redirect

// giveWay returns the redirects without the automatic ones whose source pages and routes
// have now. Others, and those that were moved, do not give way.
func (s *Site) giveWay(v Version, rs Redirects, moved map[cms.ID]bool) (Redirects, bool) {
	next := maps.Clone(rs)
	for _, id := range s.sharing(v, rs) {
		r := next[id]
		if !r.Automatic || moved[id] {
			return nil, false
		}
		r.Deleted = true
		next[id] = r
	}
	return next, s.allowed(v, next)
}

// saveRedirect stores the draft of a redirect.
func (s *Site) saveRedirect(id cms.ID, r Redirect) cms.Code {
	next := maps.Clone(s.Redirects)
	if next[id] = r; !s.allowed(s.Draft, next) {
		return conflict
	}
	if _, known := s.Redirects[id]; !known {
		s.RedirectIDs = append(s.RedirectIDs, id)
	}
	s.Redirects = next
	return done
}

// redirect is the draft of a redirect that can be read.
func (s *Site) redirect(id cms.ID) (Redirect, bool) {
	r, ok := s.visibleRedirects(s.Redirects)[id]
	return r, ok && !s.Deleted
}

// CreateRedirect creates a redirect in the draft.
func (s *Site) CreateRedirect(id cms.ID, r Redirect) cms.Code {
	if s.Deleted || (r.Locale != cms.NoID && !s.visible(r.Locale)) {
		return notFound
	}
	return s.saveRedirect(id, r)
}

// UpdateRedirect changes a redirect of the draft, which is then an ordinary one.
func (s *Site) UpdateRedirect(id cms.ID, set Redirect) cms.Code {
	before, ok := s.redirect(id)
	if !ok || (set.Locale != cms.NoID && !s.visible(set.Locale)) {
		return notFound
	}
	if set.Automatic = before.Automatic; set == before {
		return done
	}
	set.Automatic = false
	return s.saveRedirect(id, set)
}

// DeleteRedirect deletes a redirect from the draft.
func (s *Site) DeleteRedirect(id cms.ID) cms.Code {
	r, ok := s.redirect(id)
	if !ok {
		return notFound
	}
	r.Deleted = true
	return s.saveRedirect(id, r)
}

// RestoreRedirect brings a redirect that was deleted from the draft back.
func (s *Site) RestoreRedirect(id cms.ID) cms.Code {
	r, ok := s.Redirects[id]
	switch {
	case s.Deleted || !ok || (r.Locale != cms.NoID && !s.visible(r.Locale)):
		return notFound
	case !r.Deleted:
		return conflict
	}
	r.Deleted = false
	return s.saveRedirect(id, r)
}

// DiscardRedirect takes the draft of a redirect back to what is live.
func (s *Site) DiscardRedirect(id cms.ID) cms.Code {
	if !s.has(Selection{Redirects: []cms.ID{id}}) {
		return notFound
	}
	return s.saveRedirect(id, s.discardedRedirect(id))
}

func (s *Site) discardedRedirect(id cms.ID) Redirect {
	r := s.Redirects[id]
	if live, ok := s.LiveRedirects[id]; ok {
		return live
	}
	r.Deleted = true
	return r
}

// hasRedirect reports whether a redirect is selected. Pages alone select none, and those
// of every locale belong to the default one.
func (s *Site) hasRedirect(sel Selection, id cms.ID) bool {
	r := s.Redirects[id]
	locale := r.Locale
	if locale == cms.NoID {
		locale = s.Default
	}
	named := sel.Redirects == nil && sel.Pages == nil || slices.Contains(sel.Redirects, id)
	return named && s.visible(locale) && (sel.Locales == nil || slices.Contains(sel.Locales, locale))
}
