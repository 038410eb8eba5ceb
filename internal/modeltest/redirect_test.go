package modeltest

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"galley/internal/cms"
	"galley/internal/service"
)

// sources and targets are those of the redirects that steps create.
var (
	sources = []string{"/a", "/b", "/c", "/a/x", "/a/*", "/b/*"}
	targets = []string{"/a", "/b", "/c", "/a/x", "/a/*", "/b/*", "/b/x/*", origin + "/b", origin + "/c", origin + "/fr/a", origin + "/*", "https://example.org/x"}
)

// redirectAt is a redirect, mostly one that fits.
func redirectAt(s *Site, i int, fits func(Redirect) bool) cms.ID {
	return pick(likely(s.RedirectIDs, func(id cms.ID) bool { return fits(s.Redirects[id]) }), i, cms.NewID())
}

func isThere(r Redirect) bool { return !r.Deleted }

// redirectOf is a redirect as a step has it, for the service and for the model.
func redirectOf(s *Site, st step) (cms.RedirectPatch, Redirect) {
	r := Redirect{Source: st.path, Target: st.target}
	if !r.wild() {
		r.Target = strings.TrimSuffix(r.Target, "/*")
		if r.Target == origin {
			r.Target = "/c"
		}
	}
	patch := cms.RedirectPatch{Source: cms.Some(r.Source), Target: cms.Some(r.Target), Locale: cms.Some[*string](nil)}
	if !st.every {
		r.Locale = localeAt(s, st.locale)
		patch.Locale.Value = new(r.Locale.String())
	}
	return patch, r
}

func (w *world) createRedirect(s *Site, st step) (cms.Code, error) {
	patch, r := redirectOf(s, st)
	view, err := w.svc.CreateRedirect(w.ctx(), w.who, service.Given(cms.NewRedirect{SiteID: cms.Some(s.ID), RedirectPatch: patch}))
	return s.CreateRedirect(view.ID, r), err
}

func (w *world) updateRedirect(s *Site, st step) (cms.Code, error) {
	patch, r := redirectOf(s, st)
	id := redirectAt(s, st.redirect, isThere)
	_, err := w.svc.UpdateRedirect(w.ctx(), w.who, id, service.Given(patch), nil)
	return s.UpdateRedirect(id, r), err
}

func (w *world) deleteRedirect(s *Site, st step) (cms.Code, error) {
	id := redirectAt(s, st.redirect, isThere)
	return s.DeleteRedirect(id), w.svc.DeleteRedirect(w.ctx(), w.who, id, nil)
}

func (w *world) restoreRedirect(s *Site, st step) (cms.Code, error) {
	id := redirectAt(s, st.redirect, func(r Redirect) bool { return r.Deleted })
	_, err := w.svc.RestoreRedirect(w.ctx(), w.who, id, nil)
	return s.RestoreRedirect(id), err
}

func (w *world) discardRedirect(s *Site, st step) (cms.Code, error) {
	id := redirectAt(s, st.redirect, func(Redirect) bool { return true })
	_, err := w.svc.DiscardRedirect(w.ctx(), w.who, id, nil)
	return s.DiscardRedirect(id), err
}

// readRedirects are all redirects of a version that readers see.
func (w *world) readRedirects(siteID cms.ID, ref service.VersionRef) Redirects {
	all := Redirects{}
	for q := (cms.ListQuery{Limit: 1 + w.steps%7}); ; {
		list, err := w.svc.Redirects(w.ctx(), w.who, service.ReadRedirects{SiteID: siteID, Version: ref, List: q})
		w.must(err)
		for _, v := range list.Items {
			q.After = v.ID
			all[v.ID] = redirectSeen(v.Redirect)
		}
		if !list.HasMore {
			return all
		}
	}
}

func redirectSeen(r cms.Redirect) Redirect {
	return Redirect{Locale: r.LocaleID, Source: r.Source, Target: r.Target, Automatic: r.IsAutomatic}
}

// observes lets the model ask for what it leaves open.
func (w *world) observes(s *Site) *Site {
	s.Observe = func(v cms.Version) Redirects { return w.readRedirects(s.ID, service.VersionRef{Version: v}) }
	return s
}

// checkRedirects compares the redirects of a version, and trusts nothing but what was read
// for what must always be so.
func (w *world) checkRedirects(s *Site, name string, ref service.VersionRef, want Redirects, pages map[cms.ID][]seenPage) {
	w.t.Helper()
	got := w.readRedirects(s.ID, ref)
	if diff := cmp.Diff(s.visibleRedirects(want), got, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("readers of %s see other redirects (-model +service):\n%s", name, diff)
	}
	if ref.Publish != cms.NoID {
		return // locales and routes may have changed since
	}
	if s.circle(got) {
		w.t.Fatalf("redirects of %s come round: %v", name, got)
	}
	for _, l := range s.shown() {
		for _, p := range pages[l.ID] {
			for _, r := range got {
				if r.Source == p.Fields["pathname"] && (r.Locale == cms.NoID || r.Locale == l.ID) {
					w.t.Fatalf("%s belongs to a page and a redirect in %s in %s", r.Source, name, l.Code)
				}
			}
		}
	}
	for _, route := range s.Routes {
		for _, r := range got {
			if !route.Deleted && r.Source == route.Pathname {
				w.t.Fatalf("%s belongs to a route and a redirect in %s", r.Source, name)
			}
		}
	}
}

// redirectChangesOf are the changes of redirects in a list, those of new automatic ones
// without their ids.
func redirectChangesOf(s *Site, views []service.ChangeView) []RedirectChange {
	var list []RedirectChange
	for _, v := range views {
		if v.RedirectID == cms.NoID {
			continue
		}
		c := RedirectChange{ID: v.RedirectID, Kind: v.Kind, Locale: v.Locale, Source: v.Pathname}
		if _, known := s.Redirects[c.ID]; !known {
			c.ID = cms.NoID
		}
		// What is not listed is as it was, and so it is as it is shown.
		side := func(of func(cms.FieldChange) any) (r Redirect) {
			r.Source = v.Pathname
			for _, f := range v.Fields {
				value := of(f)
				switch f.Field {
				case "source":
					r.Source, _ = value.(string)
				case "target":
					r.Target, _ = value.(string)
				case "isAutomatic":
					r.Automatic, _ = value.(bool)
				}
			}
			return r
		}
		c.Before, c.After = side(func(f cms.FieldChange) any { return f.From }), side(func(f cms.FieldChange) any { return f.To })
		list = append(list, c)
	}
	return sortedChanges(list)
}

// listed are changes in the form of redirectChangesOf: values that do not differ are not
// listed.
func listed(changes []RedirectChange) []RedirectChange {
	changes = slices.Clone(changes)
	for i, c := range changes {
		if c.Before.Target == c.After.Target {
			c.Before.Target, c.After.Target = "", ""
		}
		if c.Before.Automatic == c.After.Automatic {
			c.Before.Automatic, c.After.Automatic = false, false
		}
		c.Before.Locale, c.After.Locale = cms.NoID, cms.NoID
		changes[i] = c
	}
	return changes
}

var unseen = cmpopts.IgnoreUnexported(RedirectChange{})

// checkRedirectChanges compares what a publish does to redirects.
func (w *world) checkRedirectChanges(s *Site, what string, want []RedirectChange, views []service.ChangeView) {
	w.t.Helper()
	if diff := cmp.Diff(listed(want), redirectChangesOf(s, views), cmpopts.EquateEmpty(), unseen); diff != "" {
		w.t.Fatalf("the changes of redirects of %s are others (-model +service):\n%s", what, diff)
	}
}

// copiedRedirects are the ids of a site's redirects in its copy.
func (w *world) copiedRedirects(s *Site, twin cms.ID, locales map[cms.ID]cms.ID) map[cms.ID]cms.ID {
	ids := map[cms.ID]cms.ID{}
	for version, of := range map[cms.Version]Redirects{cms.Draft: s.Redirects, cms.Live: s.LiveRedirects} {
		there := w.readRedirects(twin, service.VersionRef{Version: version})
		for id, r := range s.visibleRedirects(of) {
			r.Locale = locales[r.Locale]
			for copied := range maps.Keys(there) {
				if there[copied] == r && s.copiesRedirect(id) {
					ids[id] = copied
				}
			}
		}
	}
	return ids
}
