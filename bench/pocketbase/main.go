// Command pocketbase is the peer of the comparison: PocketBase used as a
// framework, with collections that hold what Galley's tables hold, a rule that
// asks for a user on every request, and commits that are synced to the disk.
//
//	pocketbase HOST:PORT FOLDER
//
// It prints the user's token once it is about to listen.
package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: pocketbase HOST:PORT FOLDER")
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func serve(address, folder string) error {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		HideStartBanner: true, DefaultDataDir: folder, DBConnect: connect,
	})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil // nobody is there to open its page
		token, err := prepare(e.App)
		if err != nil {
			return err
		}
		fmt.Println("token", token)
		return e.Next()
	})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	return apis.Serve(app, apis.ServeConfig{HttpAddr: address})
}

// connect is PocketBase's own choice of settings, but with full syncs: without
// them an answered write may be gone after a power cut.
func connect(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=journal_size_limit(200000000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"+
		"&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)&_defensive=1")
}

// prepare makes the settings, the collections and the user, unless they exist,
// and returns a token of the user.
func prepare(app core.App) (string, error) {
	const email = "bench@example.com"
	user, err := app.FindAuthRecordByEmail("users", email)
	if err == nil {
		return user.NewAuthToken()
	}
	settings := app.Settings()
	settings.Logs.MaxDays = 0 // in its favour: no log of requests
	settings.Batch = core.BatchConfig{Enabled: true, MaxRequests: 1000, Timeout: 60}
	if err := app.Save(settings); err != nil {
		return "", err
	}
	if err := createCollections(app); err != nil {
		return "", err
	}
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return "", err
	}
	user = core.NewRecord(users)
	user.SetEmail(email)
	user.SetRandomPassword()
	if err := app.Save(user); err != nil {
		return "", err
	}
	return user.NewAuthToken()
}

func createCollections(app core.App) error {
	sites := core.NewBaseCollection("sites")
	guard(sites)
	sites.Fields.Add(&core.TextField{Name: "name", Required: true})
	if err := app.Save(sites); err != nil {
		return err
	}

	// One record for each row of Galley's: a page in a version and locale.
	pages := core.NewBaseCollection("pages")
	guard(pages)
	pages.Fields.Add(
		&core.RelationField{Name: "siteId", CollectionId: sites.Id, Required: true, MaxSelect: 1},
		&core.TextField{Name: "version", Required: true},
		&core.TextField{Name: "locale"},
		&core.TextField{Name: "name"},
		&core.TextField{Name: "pathname", Required: true},
		&core.TextField{Name: "title"},
		&core.TextField{Name: "description"},
		&core.URLField{Name: "canonicalUrl"},
		&core.URLField{Name: "socialImageUrl"},
		&core.NumberField{Name: "sitemapPriority"},
		&core.SelectField{Name: "sitemapFrequency", Values: []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}},
		&core.BoolField{Name: "isOnline"},
		&core.BoolField{Name: "excludedFromSearchEngines"},
		&core.AutodateField{Name: "createdAt", OnCreate: true},
		&core.AutodateField{Name: "updatedAt", OnCreate: true, OnUpdate: true},
	)
	pages.AddIndex("pages_pathname", true, "siteId, version, locale, pathname", "")
	for _, column := range []string{"title", "description", "createdAt", "updatedAt"} {
		pages.AddIndex("pages_"+column, false, "siteId, version, locale, "+column+", id", "")
	}
	return app.Save(pages)
}

// guard lets users in, and nobody else.
func guard(c *core.Collection) {
	rule := `@request.auth.id != ""`
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule = &rule, &rule, &rule, &rule
}
