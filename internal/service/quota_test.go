package service

import (
	"testing"

	"galley/internal/cms"
)

// Without a quota no statement is sent: there is no transaction that could send one.
func TestWorkspaceWithoutAQuotaIsNotCounted(t *testing.T) {
	who := Caller{App: &cms.App{}}
	if err := checkQuota(t.Context(), nil, who, cms.Usage{Sites: 1, Pages: 1, ContentBytes: 1}); err != nil {
		t.Error(err)
	}
	if err := checkSiteQuota(t.Context(), nil, who, cms.NewID()); err != nil {
		t.Error(err)
	}
	if err := checkCopyQuota(t.Context(), nil, who, cms.NewID()); err != nil {
		t.Error(err)
	}
}
