package httpapi_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sitemapFile is a sitemap or an index of sitemaps.
type sitemapFile struct {
	XMLName xml.Name
	URLs    []struct {
		Loc        string        `xml:"loc"`
		LastMod    string        `xml:"lastmod"`
		ChangeFreq string        `xml:"changefreq"`
		Priority   string        `xml:"priority"`
		Links      []sitemapLink `xml:"http://www.w3.org/1999/xhtml link"`
	} `xml:"url"`
	Parts []struct {
		Loc string `xml:"loc"`
	} `xml:"sitemap"`
}

type sitemapLink struct {
	HrefLang string `xml:"hreflang,attr"`
	Href     string `xml:"href,attr"`
}

// sitemap reads a sitemap, validates it against the schema and returns it.
func (s *system) sitemap(t *testing.T, siteID, query string) sitemapFile {
	t.Helper()
	r := s.must(t, 200, "GET", "/v2/sites/"+siteID+"/sitemap.xml"+query, "")
	checkEqual(t, "content type", "application/xml; charset=utf-8", r.header.Get("Content-Type"))
	var file sitemapFile
	if err := xml.Unmarshal(r.body, &file); err != nil {
		t.Fatalf("%v\n%s", err, r.body)
	}
	if len(file.URLs)+len(file.Parts) > 0 { // the schema has no empty sitemap
		validateSitemap(t, r.body)
	}
	again := s.call(t, "GET", "/v2/sites/"+siteID+"/sitemap.xml"+query, "", "If-None-Match", r.header.Get("ETag"))
	checkEqual(t, "status with the entity tag", 304, again.status)
	return file
}

func validateSitemap(t *testing.T, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sitemap.xml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	lint := exec.CommandContext(t.Context(), "xmllint", "--nonet", "--noout", "--schema", "testdata/sitemap/sitemap.xsd", file)
	lint.Stderr = &problems
	if err := lint.Run(); err != nil {
		t.Fatalf("xmllint (package libxml2-utils, run 'make deps'): %v\n%s", err, problems.String()[:min(problems.Len(), 2000)])
	}
}

func locs(file sitemapFile) string {
	var list []string
	for _, u := range file.URLs {
		list = append(list, u.Loc)
	}
	return strings.Join(list, " ")
}

func TestSitemap(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site := newWebsite(t, s)
		checkEqual(t, "nothing is live", "", locs(s.sitemap(t, site, "")))
		s.newPage(t, site, "/")
		about := s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/about & é","sitemapPriority":0.25,"sitemapFrequency":"weekly"}`).str(t, "id")
		s.must(t, 200, "PATCH", "/v6/pages/"+about+"?locale=fr", `{"pathname":"/a-propos","sitemapPriority":1}`)
		hidden := s.newPage(t, site, "/hidden")
		s.must(t, 200, "PATCH", "/v6/pages/"+hidden, `{"excludedFromSearchEngines":true}`)
		offline := s.newPage(t, site, "/offline")
		s.must(t, 200, "PATCH", "/v6/pages/"+offline, `{"isOnline":false}`)
		s.must(t, 200, "PATCH", "/v6/pages/"+offline+"?locale=de", `{"isOnline":true}`)
		s.newPage(t, site, "/fr/shadowed")
		s.newPage(t, site, "/"+strings.Repeat("é", 400)) // its URL is longer than a sitemap allows
		s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")

		com := s.sitemap(t, site, "")
		checkEqual(t, "at the site's origin", "https://www.example.com https://www.example.com/fr"+
			" https://www.example.com/about%20&%20%C3%A9 https://www.example.com/fr/a-propos https://www.example.com/fr/fr/shadowed", locs(com))
		de := s.sitemap(t, site, "?origin=https://www.example.de")
		checkEqual(t, "at the German origin", "https://www.example.de https://www.example.de/about%20&%20%C3%A9"+
			" https://www.example.de/fr/shadowed https://www.example.de/offline", locs(de))

		english, french := com.URLs[2], com.URLs[3]
		checkEqual(t, "priorities", "0.25 1", english.Priority+" "+french.Priority)
		checkEqual(t, "frequency", "weekly", english.ChangeFreq)
		publishedAt := s.must(t, 200, "GET", "/v6/pages/"+about, "").str(t, "publishedAt")
		checkEqual(t, "lastmod", publishedAt, english.LastMod)
		checkReciprocal(t, com, de)

		checkEqual(t, "a draft", "https://www.example.com", s.sitemap(t, site, "?versionRef=ref:draft").URLs[0].Loc)
		s.must(t, 404, "GET", "/v2/sites/"+site+"/sitemap.xml?origin=https://www.example.net", "")
		s.must(t, 404, "GET", "/v2/sites/"+site+"/sitemap.xml?part=2", "")
		s.must(t, 400, "GET", "/v2/sites/"+site+"/sitemap.xml?part=0", "")
		s.must(t, 400, "GET", "/v2/sites/"+site+"/sitemap.xml?origin=example", "")
		bare, _ := s.newSite(t)
		s.must(t, 409, "GET", "/v2/sites/"+bare+"/sitemap.xml", "")
		s.must(t, 409, "GET", "/v2/sites/"+bare+"/robots.txt", "")

		robots := s.must(t, 200, "GET", "/v2/sites/"+site+"/robots.txt?origin=https://www.example.de", "")
		checkEqual(t, "robots.txt", "User-agent: *\nAllow: /\n\nSitemap: https://www.example.de/sitemap.xml\n", string(robots.body))
		checkEqual(t, "its type", "text/plain; charset=utf-8", robots.header.Get("Content-Type"))
	})
}

// checkReciprocal checks that every alternate is in a sitemap, and has the same
// alternates.
func checkReciprocal(t *testing.T, files ...sitemapFile) {
	t.Helper()
	alternates := map[string]string{}
	for _, file := range files {
		for _, u := range file.URLs {
			links := fmt.Sprint(u.Links)
			alternates[u.Loc] = links
			if !slices.ContainsFunc(u.Links, func(l sitemapLink) bool { return l.Href == u.Loc }) {
				t.Errorf("%s does not name itself: %s", u.Loc, links)
			}
		}
	}
	for _, file := range files {
		for _, u := range file.URLs {
			for _, l := range u.Links {
				if alternates[l.Href] != alternates[u.Loc] {
					t.Errorf("%s has the alternates %s, and its alternate %s has %s", u.Loc, alternates[u.Loc], l.Href, alternates[l.Href])
				}
			}
		}
	}
}
