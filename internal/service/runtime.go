package service

import (
	"context"
	"slices"
	"strings"

	"galley/internal/cms"
)

// LivePage is a page that is online in the live version, in one locale, with the
// other locales where it is online.
type LivePage struct {
	SiteID     cms.ID
	Pathname   string
	Locale     string // the code
	Alternates []PageLocalization
}

// LivePage finds an online page by its pathname in a locale.
func (s *Service) LivePage(ctx context.Context, who Caller, siteID cms.ID, pathname, locale string) (LivePage, error) {
	page, err := s.readPage(ctx, who, ReadPage{
		Ref: Ref{SiteID: siteID, Name: pathname}, Version: VersionRef{Version: cms.Live}, Locale: locale,
	})
	if err != nil {
		return LivePage{}, err
	}
	shown := page.In(page.lv.localeID).Values
	if !shown.IsOnline {
		return LivePage{}, cms.NotFound(cms.KindPage)
	}
	return LivePage{siteID, shown.Pathname, page.lv.code, page.lv.alternates(page.Page)}, nil
}

// alternates are the other locales where a page is online, ordered by code.
func (lv localeView) alternates(page cms.Page) []PageLocalization {
	var all []PageLocalization
	for _, l := range lv.locales {
		values := page.In(l.ID).Values
		if l.ID != lv.id && l.DeletedAt == nil && values.IsOnline {
			all = append(all, PageLocalization{l.ID, l.Code, values.Pathname})
		}
	}
	slices.SortFunc(all, func(a, b PageLocalization) int { return strings.Compare(a.Locale, b.Locale) })
	return all
}
