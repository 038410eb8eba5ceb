// Drives the client that oapi-codegen generates: a page goes live.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"document/client"
)

func main() {
	baseURL, key := os.Args[1], os.Args[2]
	ctx := context.Background()
	c, err := client.NewClientWithResponses(baseURL, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-Api-Key", key)
		return nil
	}))
	check(err)
	site, err := c.CreateSiteWithResponse(ctx, nil, client.CreateSiteJSONRequestBody{Name: "Shop"})
	check(err)
	siteID := site.JSON201.Id
	body := client.CreatePageJSONRequestBody{SiteId: siteID, Pathname: "/about"}
	page, err := c.CreatePageWithResponse(ctx, nil, body)
	check(err)
	_, err = c.PublishSiteWithResponse(ctx, siteID, nil, client.PublishSiteJSONRequestBody{})
	check(err)
	version := "ref:live"
	live, err := c.GetPageWithResponse(ctx, page.JSON201.Id.String(), &client.GetPageParams{VersionRef: &version})
	check(err)
	twice, err := c.CreatePageWithResponse(ctx, nil, body)
	check(err)
	fmt.Println(live.JSON200.Pathname, twice.JSON409.Code)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
