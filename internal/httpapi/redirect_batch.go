package httpapi

import (
	"galley/internal/cms"
	"galley/internal/service"
)

// RedirectBatch is the body that changes many redirects.
type RedirectBatch struct {
	SiteID     cms.Opt[cms.ID]              `json:"siteId" required:"true" doc:"The site that the redirects belong to."`
	Operations cms.Opt[[]RedirectOperation] `json:"operations" required:"true" minItems:"1" maxItems:"1000" doc:"What to do; 1 to 1,000 operations."`
}

// RedirectOperation is one change of a batch.
type RedirectOperation struct {
	Op         cms.Opt[cms.BatchOp] `json:"op" required:"true" doc:"What to do." example:"create"`
	RedirectID cms.Opt[cms.ID]      `json:"redirectId" doc:"The redirect to update or delete. Without it, source and locale name the redirect."`
	RedirectPatch
}

// BatchOfRedirects is the result of a batch.
type BatchOfRedirects struct {
	Object  string           `json:"object" enum:"batch" doc:"Always batch."`
	Results []RedirectResult `json:"results" doc:"The redirects as they are then, in the order of the operations; of a deleted one only object, id and deleted."`
}

// RedirectResult is a Redirect or a DeletedRedirect.
type RedirectResult struct{ any }

// MarshalJSON encodes the redirect or the deletion itself.
func (r RedirectResult) MarshalJSON() ([]byte, error) { return encode(r.any), nil }

// DeletedRedirect is the result of an operation that deletes a redirect.
type DeletedRedirect struct {
	Object  string `json:"object" enum:"redirect" doc:"Always redirect."`
	ID      cms.ID `json:"id" doc:"Identifier of the redirect."`
	Deleted bool   `json:"deleted" const:"true" doc:"Always true." example:"true"`
}

func (b RedirectBatch) domain(p *cms.Problems) cms.RedirectBatch {
	batch := cms.RedirectBatch{SiteID: b.SiteID, Operations: cms.Opt[[]cms.RedirectOperation]{Set: b.Operations.Set}}
	for _, op := range b.Operations.Value {
		batch.Operations.Value = append(batch.Operations.Value, cms.RedirectOperation{Op: op.Op, RedirectID: op.RedirectID, RedirectPatch: op.patch()})
	}
	batch.Clean(p)
	return batch
}

func (a *API) batchRedirects(r *request) (response, error) {
	results, err := a.svc.BatchRedirects(r.Context(), r.who, input(r, RedirectBatch.domain))
	batch := BatchOfRedirects{Object: "batch", Results: make([]RedirectResult, len(results))}
	for i, result := range results {
		batch.Results[i] = newRedirectResult(result)
	}
	return ok(batch), err
}

func newRedirectResult(r service.RedirectResult) RedirectResult {
	if r.Deleted {
		return RedirectResult{DeletedRedirect{"redirect", r.Redirect.ID, true}}
	}
	return RedirectResult{newRedirect(r.Redirect)}
}
