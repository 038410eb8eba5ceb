// Package galley is a client of Galley, a content management service for sites.
//
//	client, err := galley.New("http://127.0.0.1:8080", galley.WithKey(os.Getenv("GALLEY_KEY")))
//	site, err := client.Sites.Create(ctx, galley.SiteCreate{Name: "Shop"})
//	page, err := client.Pages.Create(ctx, galley.PageCreate{SiteID: site.ID, Pathname: "/about", Title: galley.Value("About us")})
//	publish, err := client.Sites.Publish(ctx, site.ID, galley.PublishCreate{})
//	for page, err := range client.Pages.All(ctx, galley.PageQuery{SiteID: site.ID}) {
//		...
//	}
//
// Requests that were refused because the server was busy or because of a rate limit, and
// those whose response was lost, are sent again. Every POST has an Idempotency-Key, the
// same in each attempt, so that none is done twice.
//
// Errors of the service are of type [*Error]. Optional fields of bodies are of type [Opt]:
// absent, null or a value.
package galley
