package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	galley "galley/sdk/go"
)

const (
	// maxOperations is how many operations the service takes in a batch.
	maxOperations = 1000
	// maxBatch leaves some of the 8 MiB of a batch to what surrounds the operations.
	maxBatch = 8<<20 - 4<<10
)

// step is what has to be done to some pages in one batch.
type step []Change

// orderPages puts changes of pages in an order in which each takes only pathnames that are
// free by then. Those that wait for each other, because they swap pathnames, are one step.
func orderPages(changes []Change, codes []string) []step {
	var steps, last []step
	var moves []Change
	for _, c := range changes {
		switch {
		case c.Kind != pageKind:
		case c.Action == Delete:
			steps = append(steps, step{c})
		case c.Action == Create || slices.Equal(c.beforePage.claims(codes), c.afterPage.claims(codes)):
			last = append(last, step{c})
		default:
			moves = append(moves, c)
		}
	}
	// Those that only change come before those that are created.
	slices.SortStableFunc(last, func(a, b step) int { return actionOrder(a[0]) - actionOrder(b[0]) })
	return slices.Concat(steps, orderMoves(moves, codes), last)
}

// orderMoves orders pages that move. A move waits for those that hold its new pathnames.
func orderMoves(moves []Change, codes []string) []step {
	holder := map[claim]int{}
	for i, c := range moves {
		for _, held := range c.beforePage.claims(codes) {
			holder[held] = i
		}
	}
	waits := make([][]int, len(moves)) // for each, those that it waits for
	waiting := make([][]int, len(moves))
	for i, c := range moves {
		for _, wanted := range c.afterPage.claims(codes) {
			if j, ok := holder[wanted]; ok && j != i {
				waits[i], waiting[j] = append(waits[i], j), append(waiting[j], i)
			}
		}
	}
	count := make([]int, len(moves))
	var free []int
	for i := range moves {
		if count[i] = len(waits[i]); count[i] == 0 {
			free = append(free, i)
		}
	}
	var steps []step
	for len(free) > 0 {
		i := free[0]
		free = free[1:]
		steps = append(steps, step{moves[i]})
		for _, j := range waiting[i] {
			if count[j]--; count[j] == 0 {
				free = append(free, j)
			}
		}
	}
	// The others are in circles, or wait for some: what hangs together is done together.
	for i := range moves {
		if count[i] == 0 {
			continue
		}
		var together step
		for group := []int{i}; len(group) > 0; group = group[1:] {
			j := group[0]
			if count[j] == 0 {
				continue
			}
			count[j] = 0
			together = append(together, moves[j])
			group = append(group, slices.Concat(waits[j], waiting[j])...)
		}
		steps = append(steps, together)
	}
	return steps
}

// pageBatch is the operations of a batch, with the changes that they are part of.
type pageBatch struct {
	operations []galley.PageOperation
	changes    []Change
	size       int
}

// lateContent is a content that was too large for the batch of its page.
type lateContent struct {
	change Change
	pageID string
	locale string // "" is the default one
	digest string
}

// applyPages changes pages in as few batches as the limits allow.
func (r *run) applyPages(ctx context.Context) error {
	var batch, names pageBatch
	var late []lateContent
	for _, s := range orderPages(r.Changes, r.bundle.codes()) {
		next, heavy, err := r.operations(s)
		if err == nil && len(s) > 1 && len(next.operations) > maxOperations {
			err = refused(s[0], fmt.Errorf("%d pages swap their pathnames in a ring, and a batch takes %d: move some of them elsewhere first", len(s), maxOperations))
		}
		if err != nil {
			return err
		}
		if len(batch.operations)+len(next.operations) > maxOperations || batch.size+next.size > maxBatch {
			if err := r.send(ctx, batch, &names, late); err != nil {
				return err
			}
			batch = pageBatch{}
		}
		batch.operations = append(batch.operations, next.operations...)
		batch.changes = append(batch.changes, next.changes...)
		batch.size += next.size
		late = append(late, heavy...)
	}
	if err := r.send(ctx, batch, &names, late); err != nil {
		return err
	}
	for chunk := range slices.Chunk(names.operations, maxOperations) {
		if err := r.send(ctx, pageBatch{operations: chunk, changes: names.changes}, nil, nil); err != nil {
			return err
		}
	}
	for _, l := range late {
		if err := r.putContent(ctx, l); err != nil {
			return refused(l.change, err)
		}
	}
	return nil
}

// operations returns the operations of a step, and contents that have to wait because the
// step is too large with them.
func (r *run) operations(s step) (batch pageBatch, late []lateContent, err error) {
	for _, c := range s {
		operations, err := r.pageOperations(c, true)
		if err != nil {
			return batch, nil, refused(c, err)
		}
		size, err := sizeOf(operations)
		if err == nil && size > maxBatch/len(s) {
			operations, err = r.pageOperations(c, false)
			for _, f := range c.Fields {
				if f.Field == contentField && f.To != nil {
					late = append(late, lateContent{c, c.ID, f.Locale, (*f.To).(string)})
				}
			}
		}
		if err == nil {
			size, err = sizeOf(operations)
		}
		if err != nil {
			return batch, nil, refused(c, err)
		}
		batch.operations = append(batch.operations, operations...)
		batch.changes = append(batch.changes, slices.Repeat([]Change{c}, len(operations))...)
		batch.size += size
	}
	return batch, late, nil
}

func sizeOf(operations []galley.PageOperation) (int, error) {
	text, err := encode(operations)
	return len(text), err
}

// pageOperations returns the operations of a change: one for the page, and one for each
// locale that overrides something else than before.
func (r *run) pageOperations(c Change, withContent bool) ([]galley.PageOperation, error) {
	if c.Action == Delete {
		return []galley.PageOperation{{Op: "delete", PageID: c.ID}}, nil
	}
	fields, err := r.pageFields(c, "", withContent)
	if err != nil {
		return nil, err
	}
	localized := map[string]map[string]any{}
	for _, f := range c.Fields {
		if f.Locale != "" && localized[f.Locale] == nil {
			if localized[f.Locale], err = r.pageFields(c, f.Locale, withContent); err != nil {
				return nil, err
			}
		}
	}
	var all []map[string]any
	if c.Action == Create {
		fields["op"], fields[localizationsField] = "create", localized
		all = append(all, fields)
	} else {
		if len(fields) > 0 {
			fields["op"], fields["pageId"] = "update", c.ID
			all = append(all, fields)
		}
		for _, code := range slices.Sorted(maps.Keys(localized)) {
			fields := localized[code]
			if len(fields) == 0 {
				continue // its content has to wait
			}
			fields["op"], fields["pageId"], fields["locale"] = "update", c.ID, code
			all = append(all, fields)
		}
	}
	operations := make([]galley.PageOperation, len(all))
	for i, fields := range all {
		if operations[i], err = body[galley.PageOperation](fields); err != nil {
			return nil, err
		}
	}
	return operations, nil
}

// pageFields are the fields of a change in a locale, with content in place of its digest.
func (r *run) pageFields(c Change, locale string, withContent bool) (map[string]any, error) {
	s := sentFields
	if locale != "" {
		s = localizationFields
	}
	fields := sent(s, c.Fields, locale)
	digest, ok := fields[contentField].(string)
	if !ok {
		return fields, nil
	}
	if !withContent {
		delete(fields, contentField)
		return fields, nil
	}
	content, err := r.content(digest)
	fields[contentField] = content
	return fields, err
}

// content reads a content of the bundle again.
func (r *run) content(digest string) (json.RawMessage, error) {
	name := r.bundle.contents[digest]
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if now, _, err := digestOf(text); err != nil || now != digest {
		return nil, fmt.Errorf("%s was changed meanwhile", name)
	}
	var b bytes.Buffer
	err = json.Compact(&b, text)
	return b.Bytes(), err
}

// send sends a batch. A page that was given a name once keeps it when its title changes:
// names collects the operations that give it the one that the bundle wants.
func (r *run) send(ctx context.Context, batch pageBatch, names *pageBatch, late []lateContent) error {
	if len(batch.operations) == 0 {
		return nil
	}
	result, err := r.client.Pages.Batch(ctx, galley.PageBatch{SiteID: r.SiteID, Operations: batch.operations})
	if err != nil {
		return explained(err, func(i int) Change { return batch.changes[i] })
	}
	if len(result.Results) != len(batch.operations) {
		return fmt.Errorf("the service answered %d operations of %d", len(result.Results), len(batch.operations))
	}
	for i, page := range result.Results {
		c, op := batch.changes[i], batch.operations[i]
		if page.Deleted {
			delete(r.updated, page.ID)
			continue
		}
		r.updated[page.ID] = page.UpdatedAt
		for j := range late {
			if op.Op == "create" && late[j].change.Name == c.Name && late[j].pageID == "" {
				late[j].pageID = page.ID
			}
		}
		if want := c.afterPage.shownName(); names != nil && op.Locale == "" && page.Name != want {
			names.operations = append(names.operations, galley.PageOperation{Op: "update", PageID: page.ID, PageValues: galley.PageValues{PagePatch: galley.PagePatch{Name: galley.Value(want)}}})
			names.changes = append(names.changes, c)
		}
	}
	if names != nil {
		r.step(len(slices.CompactFunc(batch.changes, func(a, b Change) bool { return a.afterPage == b.afterPage && a.ID == b.ID })))
	}
	return nil
}

// shownName is the name that the service shows.
func (p *page) shownName() string {
	if has(p.values, nameField) {
		return p.text(nameField)
	}
	return p.derivedName()
}

func (r *run) putContent(ctx context.Context, l lateContent) error {
	value, err := r.content(l.digest)
	if err != nil {
		return err
	}
	content, err := r.client.Content.Put(ctx, l.pageID, galley.ContentQuery{Locale: l.locale}, value)
	if err == nil {
		r.updated[l.pageID] = content.UpdatedAt
	}
	return err
}
