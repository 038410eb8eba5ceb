package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// A node remembers where it gave a walk's last item out. Another node may have
// given it out since, at another place: the walk goes on from there.
func TestAWalkGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, 2)
	key := nodes[0].key(t)
	siteID, _ := nodes[0].newSite(t, key)
	for _, pathname := range []string{"/a", "/b", "/c", "/d", "/e", "/f"} {
		nodes[0].must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":%q}`, siteID, pathname))
	}
	type item struct{ ID, Pathname string }
	list := func(node *process, query string) (items []item, pathnames []string) {
		t.Helper()
		var list struct{ Data []item }
		if err := json.Unmarshal([]byte(node.must(t, 200, key, "GET", "/v6/pages?siteId="+siteID+query, "").body), &list); err != nil {
			t.Fatal(err)
		}
		for _, i := range list.Data {
			pathnames = append(pathnames, i.Pathname)
		}
		return list.Data, pathnames
	}
	var all []item
	eventually(t, "the second node has all pages", func() bool { all, _ = list(nodes[1], ""); return len(all) == 6 })
	last := all[5]
	list(nodes[1], "&limit=3") // another walk begins, or the same one anew
	nodes[0].must(t, 200, key, "PATCH", "/v6/pages/"+last.ID, `{"pathname":"/a5"}`)
	if _, got := list(nodes[0], "&limit=2"); !slices.Equal(got, []string{"/a", "/a5"}) {
		t.Fatalf("the walk begins with %v", got)
	}
	eventually(t, "the walk goes on from there", func() bool {
		_, got := list(nodes[1], "&limit=2&startingAfter="+last.ID)
		return slices.Equal(got, []string{"/b", "/c"})
	})
}
