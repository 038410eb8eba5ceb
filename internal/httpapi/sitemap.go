package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/crypto/blake2b"

	"galley/internal/cms"
	"galley/internal/service"
)

// XMLDocument is a response in XML.
type XMLDocument string

// TextDocument is a response in plain text.
type TextDocument string

const (
	mediaXML  = "application/xml; charset=utf-8"
	mediaText = "text/plain; charset=utf-8"
)

// The limits of sitemaps.org for one file.
const (
	maxSitemapURLs  = 50_000
	maxSitemapBytes = 50_000_000
)

// smallSitemap is the size up to which a sitemap is kept in memory.
const smallSitemap = 256 << 10

const (
	sitemapHead = xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">` + "\n"
	sitemapTail = "</urlset>\n"
)

type xmlURL struct {
	XMLName    xml.Name       `xml:"url"`
	Loc        string         `xml:"loc"`
	LastMod    string         `xml:"lastmod,omitempty"`
	ChangeFreq *cms.Frequency `xml:"changefreq"`
	Priority   string         `xml:"priority,omitempty"`
	Links      []xmlLink
}

type xmlLink struct {
	XMLName  xml.Name `xml:"xhtml:link"`
	Rel      string   `xml:"rel,attr"`
	HrefLang string   `xml:"hreflang,attr"`
	Href     string   `xml:"href,attr"`
}

// sitemapEncoder encodes entries in one buffer: a sitemap may have 50,000 of them.
type sitemapEncoder struct {
	text bytes.Buffer
	xml  *xml.Encoder
}

func newSitemapEncoder() *sitemapEncoder {
	e := &sitemapEncoder{}
	e.xml = xml.NewEncoder(&e.text)
	return e
}

// encode returns an entry as a line of XML, until the next one is encoded.
func (e *sitemapEncoder) encode(u service.SitemapURL) []byte {
	wire := xmlURL{Loc: u.URL, ChangeFreq: u.Frequency}
	if u.PublishedAt != nil {
		wire.LastMod = string(newTimestamp(*u.PublishedAt))
	}
	if u.Priority != nil {
		wire.Priority = strconv.FormatFloat(*u.Priority, 'f', -1, 64)
	}
	for _, alternate := range u.Alternates {
		wire.Links = append(wire.Links, xmlLink{Rel: "alternate", HrefLang: alternate.Locale, Href: alternate.URL})
	}
	e.text.Reset()
	if err := e.xml.Encode(wire); err != nil {
		panic(err) // plain texts
	}
	e.text.WriteByte('\n')
	return e.text.Bytes()
}

// sitemapPlan is where the parts of a sitemap begin, and the tag of the whole.
type sitemapPlan struct {
	parts []sitemapPart
	tag   string
	small []byte // the entries of a small one, unless it was remembered
	reading
}

// maxSitemapPlans bounds the plans in memory.
const maxSitemapPlans = 1000

// sitemapPart begins after a place, with some entries of the next pages left out
// that are in the part before.
type sitemapPart struct {
	after service.SitemapPlace
	skip  int
	urls  int
}

// sitemapPlan returns the plan of a large sitemap from memory, or makes one.
func (a *API) sitemapPlan(r *request, m service.Sitemap, version service.VersionRef) (sitemapPlan, error) {
	key := fmt.Sprint(r.pathID, m.Origin, version, m.Under)
	if known, ok := a.cache.sitemaps.GetIfPresent(key); ok && a.cache.isCurrent(known.reading) {
		return known, nil
	}
	plan, err := planSitemap(r.Context(), m)
	if err == nil && plan.small == nil {
		plan.reading = reading{m.About, r.version, r.start}
		a.cache.sitemaps.Set(key, plan)
	}
	return plan, err
}

// planSitemap walks through a sitemap once and divides it.
func planSitemap(ctx context.Context, m service.Sitemap) (sitemapPlan, error) {
	hash, err := blake2b.New(tagLength, nil)
	if err != nil {
		return sitemapPlan{}, err
	}
	plan := sitemapPlan{parts: []sitemapPart{{}}, small: []byte{}}
	encoder, size := newSitemapEncoder(), 0
	for place := service.SitemapPlace(nil); ; {
		entries, next, err := m.Next(ctx, place)
		if err != nil {
			return plan, err
		}
		for i, entry := range entries {
			text := encoder.encode(entry)
			_, _ = hash.Write(text) // a hash never fails
			part := &plan.parts[len(plan.parts)-1]
			if part.urls == maxSitemapURLs || size+len(text) > maxSitemapBytes-len(sitemapHead)-len(sitemapTail) {
				plan.parts = append(plan.parts, sitemapPart{after: place, skip: i})
				part, size = &plan.parts[len(plan.parts)-1], 0
			}
			part.urls++
			size += len(text)
			if plan.small != nil {
				plan.small = append(plan.small, text...)
			}
			if len(plan.small) > smallSitemap {
				plan.small = nil
			}
		}
		if next == nil {
			break
		}
		place = next
	}
	plan.tag = base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
	return plan, nil
}

func (a *API) getSitemap(r *request) (response, error) {
	version := r.liveUnlessGiven()
	m, err := a.svc.OpenSitemap(r.Context(), r.who, service.ReadSitemap{SiteID: r.pathID, Origin: r.query.origin, Version: version})
	if err != nil {
		return response{}, err
	}
	plan, err := a.sitemapPlan(r, m, version)
	if err != nil {
		return response{}, err
	}
	part := r.query.part
	if part > len(plan.parts) {
		return response{}, &cms.Error{Code: cms.CodeNotFound, Message: fmt.Sprintf("The sitemap has %d parts", len(plan.parts))}
	}
	res := response{status: http.StatusOK, media: mediaXML}
	switch {
	case part == 0 && len(plan.parts) > 1:
		res.raw, res.about = sitemapIndex(m.Origin, len(plan.parts)), m.About
	case plan.small != nil:
		res.raw, res.about = bytes.Join([][]byte{[]byte(sitemapHead), plan.small, []byte(sitemapTail)}, nil), m.About
	default:
		res.tag = r.tagOf([]byte(plan.tag + m.Origin + strconv.Itoa(part)))
		res.stream = func(w io.Writer) error { return a.streamSitemap(w, m, plan.parts[max(part-1, 0)]) }
	}
	return res, nil
}

func sitemapIndex(origin string, parts int) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range parts {
		fmt.Fprintf(&b, "<sitemap><loc>%s/sitemap.xml?part=%d</loc></sitemap>\n", origin, i+1)
	}
	b.WriteString("</sitemapindex>\n")
	return b.Bytes()
}

// chunkTimeout bounds the reading of some entries.
const chunkTimeout = 10 * time.Second

// streamSitemap writes one part. It has a slot while it reads from the store, and none
// while the client receives.
func (a *API) streamSitemap(w io.Writer, m service.Sitemap, part sitemapPart) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if _, err := out.WriteString(sitemapHead); err != nil {
		return err
	}
	encoder := newSitemapEncoder()
	place, skip, left := part.after, part.skip, part.urls
	for left > 0 {
		var entries []service.SitemapURL
		ctx, cancel := context.WithTimeout(context.Background(), chunkTimeout)
		err := a.admission.do(ctx, false, func() (err error) {
			entries, place, err = m.Next(ctx, place)
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		entries = entries[min(skip, len(entries)):]
		entries, skip = entries[:min(left, len(entries))], 0
		for _, entry := range entries {
			if _, err := out.Write(encoder.encode(entry)); err != nil {
				return err
			}
		}
		if left -= len(entries); place == nil {
			break
		}
	}
	if _, err := out.WriteString(sitemapTail); err != nil {
		return err
	}
	return out.Flush()
}

func (a *API) getRobots(r *request) (response, error) {
	m, err := a.svc.OpenSitemap(r.Context(), r.who, service.ReadSitemap{
		SiteID: r.pathID, Origin: r.query.origin, Version: service.VersionRef{Version: cms.Live},
	})
	text := "User-agent: *\nAllow: /\n\nSitemap: " + m.Origin + "/sitemap.xml\n"
	res := response{status: http.StatusOK, raw: []byte(text), media: mediaText}
	return res.of(r.pathID), err
}
