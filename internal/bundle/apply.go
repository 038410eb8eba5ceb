package bundle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	galley "galley/sdk/go"
)

// ErrMovedOn means that the site was changed by others since the plan was made.
var ErrMovedOn = errors.New("the site has changed since the plan was made: look at the plan again")

// maxReplans is how often a plan is made anew because some of it was done already.
const maxReplans = 3

// Apply does what the plan says. What a run that was cut off has done meanwhile is not done
// again; anything else that was changed in the site ends it with ErrMovedOn. publishes says
// that Publish follows: routes at the pathnames of pages that are still live are left to it.
func (p *Plan) Apply(ctx context.Context, publishes bool, progress Progress) error {
	p.progress, p.publishes = progress, publishes
	for range maxReplans {
		err := newRun(p).apply(ctx)
		var refused *galley.Error
		if err == nil || !errors.As(err, &refused) || (refused.Status != http.StatusConflict && refused.Status != http.StatusNotFound) {
			return err
		}
		fresh, planErr := NewPlan(ctx, p.client, p.SiteID, p.dir, p.progress)
		switch {
		case planErr != nil:
			return err
		case !p.covers(fresh):
			return ErrMovedOn
		case len(fresh.Changes) == len(p.Changes):
			return err // nothing has changed: the service refuses it
		}
		fresh.publishes = p.publishes
		*p = *fresh
	}
	return ErrMovedOn
}

// covers reports whether a plan has all changes of another, which was made after some of it
// was done. A route or redirect may have been removed by then, to be created anew.
func (p *Plan) covers(o *Plan) bool {
	known := map[string]bool{}
	for _, c := range p.Changes {
		known[c.fingerprint()] = true
		if c.Action == Move && (c.Kind == routeKind || c.Kind == redirectKind) {
			known[c.anew().fingerprint()] = true
		}
	}
	return !slices.ContainsFunc(o.Changes, func(c Change) bool { return !known[c.fingerprint()] })
}

// anew returns the change that creates a route or redirect that was removed.
func (c Change) anew() Change {
	s := map[string]schema{routeKind: routeFields, redirectKind: redirectFields}[c.Kind]
	return Change{Action: Create, Kind: c.Kind, Name: c.Name, Locale: c.Locale, File: c.File, Fields: diff(s, nil, c.after.values, "")}
}

func (c Change) fingerprint() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it has nothing but texts and numbers
	}
	return string(text)
}

// run is one execution of a plan.
type run struct {
	*Plan
	done   int
	needed map[claim]bool // the pathnames that pages, routes and redirects of the bundle have
}

func newRun(p *Plan) *run {
	return &run{Plan: p, needed: p.bundle.pathnames()}
}

// pathnames are those that a state needs.
func (s *state) pathnames() map[claim]bool {
	needed := map[claim]bool{}
	codes := s.codes()
	for _, p := range s.pages {
		for _, c := range p.claims(codes) {
			needed[c] = true
		}
	}
	for _, list := range [][]resource{s.routes, s.redirects} {
		for _, r := range list {
			for _, c := range r.claims(codes) {
				needed[c] = true
			}
		}
	}
	return needed
}

// claims are the pathnames of a route, or those that a redirect leads from.
func (r *resource) claims(codes []string) []claim {
	pathname := r.text(pathnameField) + r.text(sourceField)
	if code := r.text(localeField); code != "" {
		return []claim{{code, pathname}}
	}
	p := page{resource: resource{values: values{pathnameField: pathname}}}
	return p.claims(codes)
}

// isInTheWay reports whether something else of the bundle needs a pathname that a route or
// redirect gives up.
func (r *run) isInTheWay(c Change) bool {
	if c.before == nil {
		return false
	}
	var kept []claim
	if c.after != nil {
		kept = c.after.claims(r.bundle.codes())
	}
	return slices.ContainsFunc(c.before.claims(r.bundle.codes()), func(c claim) bool { return r.needed[c] && !slices.Contains(kept, c) })
}

// apply frees pathnames before they are taken: pages can be deleted and moved only when no
// route or redirect has their pathname, and these can follow when pages have left theirs.
func (r *run) apply(ctx context.Context) error {
	if err := r.applySettings(ctx); err != nil {
		return err
	}
	// Those that are in the way of others are removed first, and created anew if need be.
	first, then := map[string][]Change{}, map[string][]Change{}
	for _, c := range r.Changes {
		if c.Kind != routeKind && c.Kind != redirectKind {
			continue
		}
		if r.isInTheWay(c) {
			first[c.Kind] = append(first[c.Kind], Change{Action: Delete, Kind: c.Kind, Name: cmp.Or(c.Previous, c.Name), ID: c.ID})
			if c.Action == Delete {
				continue
			}
			c = c.anew()
		}
		then[c.Kind] = append(then[c.Kind], c)
	}
	if _, err := r.applyRoutes(ctx, first[routeKind]); err != nil {
		return err
	}
	if err := r.applyRedirects(ctx, first[redirectKind]); err != nil {
		return err
	}
	if err := r.applyPages(ctx); err != nil {
		return err
	}
	if err := r.applyRedirects(ctx, then[redirectKind]); err != nil {
		return err
	}
	left, err := r.applyRoutes(ctx, then[routeKind])
	if errors.Is(err, galley.ErrConflict) && r.publishes {
		r.waiting = left
		return nil
	}
	var refused *RefusedError
	if errors.Is(err, galley.ErrConflict) && errors.As(err, &refused) {
		refused.lines = append(refused.lines, "a page that is still live may have this pathname: apply with --publish")
	}
	return err
}

// step tells the progress of changes.
func (r *run) step(changes int) {
	r.done += changes
	r.progress("Applying", min(r.done, len(r.Changes)), len(r.Changes))
}

// body returns a body of the interface with some fields.
func body[T any](fields map[string]any) (T, error) {
	var b T
	text, err := encode(fields)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// encode encodes JSON and keeps content letter for letter, < and its like, too.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// sent returns the fields of a change as requests have them. A value that is gone is null.
func sent(s schema, fields []FieldChange, locale string) map[string]any {
	all := map[string]any{}
	for _, c := range fields {
		if c.Locale != locale {
			continue
		}
		f, _ := s.find(c.Field)
		all[c.Field] = nil
		if c.To != nil {
			all[c.Field] = f.sent(*c.To)
		}
	}
	return all
}

func (f field) sent(value any) any {
	if s, ok := value.(string); ok && f.send != nil {
		return f.send(s)
	}
	return value
}

// isRefusal reports whether the service could do the same when something else was done.
func isRefusal(err error) bool {
	var e *galley.Error
	return errors.As(err, &e) && (e.Status == http.StatusConflict || e.Status == http.StatusBadRequest)
}

// inSomeOrder does each change, and those that are refused again when others are done.
// unblock may prepare a change that is refused even so, and reports whether it did. With an
// error come the changes that were not done.
func (r *run) inSomeOrder(changes []Change, do func(Change) error, unblock func(*Change) (bool, error)) ([]Change, error) {
	for len(changes) > 0 {
		var left []Change
		var first error
		for _, c := range changes {
			switch err := do(c); {
			case err == nil:
				r.step(1)
			case isRefusal(err):
				left, first = append(left, c), cmp.Or(first, refused(c, err))
			default:
				return nil, refused(c, err)
			}
		}
		unblocked := len(left) < len(changes)
		for i := 0; i < len(left) && !unblocked; i++ {
			var err error
			if unblocked, err = unblock(&left[i]); err != nil {
				return nil, refused(left[i], err)
			}
		}
		if !unblocked {
			return left, first
		}
		changes = left
	}
	return nil, nil
}

// applySettings changes the site and its locales.
func (r *run) applySettings(ctx context.Context) error {
	var changes []Change
	// The default locale is to exist before it is the default, and may not be deleted.
	for _, order := range []struct{ kind, action string }{
		{localeKind, Create}, {siteKind, Alter}, {localeKind, Move}, {localeKind, Delete}, {localeKind, Alter},
	} {
		for _, c := range r.Changes {
			if c.Kind == order.kind && c.Action == order.action {
				changes = append(changes, c)
			}
		}
	}
	spared := map[string]bool{}
	_, err := r.inSomeOrder(changes, func(c Change) error {
		if c.Kind == siteKind {
			patch, err := body[galley.SitePatch](sent(siteFields, c.Fields, ""))
			if err == nil {
				_, err = r.client.Sites.Update(ctx, r.SiteID, patch)
			}
			return err
		}
		return r.applyLocale(ctx, c)
	}, func(c *Change) (bool, error) {
		// Two locales that swap their prefixes need a third one.
		if c.Kind != localeKind || c.ID == "" || spared[c.ID] || !slices.ContainsFunc(c.Fields, func(f FieldChange) bool { return f.Field == pathPrefixField }) {
			return false, nil
		}
		spared[c.ID] = true
		spare := galley.Value("moving-" + c.Name)
		_, err := r.client.Locales.Update(ctx, c.ID, galley.SiteRef{}, galley.LocalePatch{PathPrefix: spare})
		return true, err
	})
	return err
}

func (r *run) applyLocale(ctx context.Context, c Change) (err error) {
	fields := sent(localeFields, c.Fields, "")
	switch c.Action {
	case Create:
		fields["siteId"] = r.SiteID
		create, err := body[galley.LocaleCreate](fields)
		if err == nil {
			_, err = r.client.Locales.Create(ctx, create)
		}
		return err
	case Delete:
		return r.client.Locales.Delete(ctx, c.ID, galley.SiteRef{})
	default:
		patch, err := body[galley.LocalePatch](fields)
		if err == nil {
			_, err = r.client.Locales.Update(ctx, c.ID, galley.SiteRef{}, patch)
		}
		return err
	}
}

// applyRoutes changes routes, which the interface has no batch for. With an error come those
// that were not changed.
func (r *run) applyRoutes(ctx context.Context, changes []Change) ([]Change, error) {
	return r.inSomeOrder(changes, func(c Change) error {
		pathname := routeFields[0].send(c.Name)
		switch c.Action {
		case Delete:
			return r.client.Routes.Delete(ctx, c.ID, galley.SiteRef{})
		case Create:
			_, err := r.client.Routes.Create(ctx, galley.RouteCreate{SiteID: r.SiteID, Pathname: pathname}, galley.RouteRef{SkipValidation: true})
			return err
		default:
			_, err := r.client.Routes.Update(ctx, c.ID, galley.RouteRef{SkipValidation: true}, galley.RoutePatch{Pathname: galley.Value(pathname)})
			return err
		}
	}, func(c *Change) (bool, error) {
		// Routes that swap pathnames: nothing but the id is lost.
		if c.Action != Move {
			return false, nil
		}
		c.Action = Create
		return true, r.client.Routes.Delete(ctx, c.ID, galley.SiteRef{})
	})
}

// applyRedirects changes redirects in batches.
func (r *run) applyRedirects(ctx context.Context, changes []Change) error {
	slices.SortStableFunc(changes, func(a, b Change) int { return actionOrder(a) - actionOrder(b) })
	for batch := range slices.Chunk(changes, maxOperations) {
		operations := make([]galley.RedirectOperation, len(batch))
		for i, c := range batch {
			fields := sent(redirectFields, c.Fields, "")
			fields["op"] = map[string]string{Create: "create", Delete: "delete"}[c.Action]
			if c.Action == Alter || c.Action == Move {
				fields["op"] = "update"
			}
			if c.Action != Create {
				fields["redirectId"] = c.ID
			}
			var err error
			if operations[i], err = body[galley.RedirectOperation](fields); err != nil {
				return refused(c, err)
			}
		}
		if _, err := r.client.Redirects.Batch(ctx, galley.RedirectBatch{SiteID: r.SiteID, Operations: operations}); err != nil {
			return explained(err, func(i int) Change { return batch[i] })
		}
		r.step(len(batch))
	}
	return nil
}

func actionOrder(c Change) int { return slices.Index([]string{Delete, Move, Alter, Create}, c.Action) }
