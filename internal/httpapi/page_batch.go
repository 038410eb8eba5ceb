package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// PageBatch is the body that changes many pages.
type PageBatch struct {
	SiteID     cms.Opt[cms.ID]          `json:"siteId" required:"true" doc:"The site that the pages belong to."`
	Operations cms.Opt[[]PageOperation] `json:"operations" required:"true" minItems:"1" maxItems:"1000" doc:"What to do; 1 to 1,000 operations."`
}

// PageOperation is one change of a batch.
type PageOperation struct {
	Op            cms.Opt[cms.BatchOp]           `json:"op" required:"true" doc:"What to do. With a locale, update writes its overrides and delete drops them." example:"update"`
	PageID        cms.Opt[cms.ID]                `json:"pageId" doc:"The page to update or delete. Without it, pathname names the page."`
	Locale        cms.Opt[string]                `json:"locale" doc:"A locale of the site, by code or id." example:"fr"`
	Localizations cms.Opt[map[string]PageValues] `json:"localizations" doc:"Of a new page: the values that other locales override, by locale code or id; at most 100."`
	PageValues
}

// PageValues are the values of a page that a batch changes.
type PageValues struct {
	PagePatch
	Content cms.Opt[*contentText] `json:"content" doc:"The content, in at most 1 MiB unless the server is configured otherwise. Null clears it or, with a locale, returns it to inheritance."`
}

func (v PageValues) domain(p *cms.Problems, maxContent int64) cms.PagePatch {
	patch := v.patch()
	if v.Content.Set {
		patch.Content = cms.Some[*cms.Content](nil)
	}
	if text := v.Content.Value; text != nil {
		patch.Content.Value = parseContent(p, "content", *text, maxContent)
	}
	return patch
}

// Batch is the result of a batch.
type Batch struct {
	Object  string       `json:"object" enum:"batch" doc:"Always batch."`
	Results []PageResult `json:"results" doc:"The pages as they are then, in the order of the operations; of a deleted page only object, id and deleted."`
}

// PageResult is a Page or a DeletedPage.
type PageResult any

// DeletedPage is the result of an operation that deletes a page.
type DeletedPage struct {
	Object  string `json:"object" enum:"page" doc:"Always page."`
	ID      cms.ID `json:"id" doc:"Identifier of the page."`
	Deleted bool   `json:"deleted" const:"true" doc:"Always true." example:"true"`
}

func (b PageBatch) domain(p *cms.Problems, maxContent int64) cms.PageBatch {
	operations := make([]cms.PageOperation, len(b.Operations.Value))
	for i, op := range b.Operations.Value {
		operations[i] = op.domain(p.In(cms.OperationField(i, "")), maxContent)
	}
	batch := cms.PageBatch{SiteID: b.SiteID, Operations: cms.Opt[[]cms.PageOperation]{Set: b.Operations.Set, Value: operations}}
	batch.Clean(p)
	return batch
}

func (o PageOperation) domain(p *cms.Problems, maxContent int64) cms.PageOperation {
	op := cms.PageOperation{Op: o.Op, PageID: o.PageID, Locale: o.Locale, PagePatch: o.PageValues.domain(p, maxContent)}
	if o.Localizations.Set {
		op.Localizations = cms.Some(map[string]cms.PagePatch{})
		for locale, fields := range o.Localizations.Value {
			op.Localizations.Value[locale] = fields.domain(p.In("localizations."+locale+"."), maxContent)
		}
	}
	return op
}

func (a *API) batchPages(r *request) (response, error) {
	results, err := a.svc.BatchPages(r.Context(), r.who, input(r, func(b PageBatch, p *cms.Problems) cms.PageBatch { return b.domain(p, a.maxContent) }))
	batch := Batch{Object: "batch", Results: make([]PageResult, len(results))}
	for i, result := range results {
		batch.Results[i] = newPageResult(result)
	}
	return ok(batch), err
}

func newPageResult(r service.BatchResult) PageResult {
	if r.Deleted {
		return DeletedPage{"page", r.Page.ID, true}
	}
	return newPage(r.Page)
}
