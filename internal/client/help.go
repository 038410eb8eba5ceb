package client

// Examples are the longer help texts of the commands, by their names.
var Examples = map[string]string{
	"login": `The key is asked for, or read from the standard input or a file, and checked. It is
kept in a file that only you can read.

Examples:
  galley login https://cms.example.com
  galley login https://cms.example.com --profile work --key-file key.txt
  pass galley/key | galley login https://cms.example.com`,
	"logout":        "Example:\n  galley logout --profile work",
	"profiles list": "Example:\n  galley profiles",
	"profiles use":  "Example:\n  galley profiles use work",

	"sites list": `Examples:
  galley sites list
  galley sites list --label eu --output json`,
	"sites get": `Examples:
  galley sites get Shop
  galley sites get https://shop.example.com --output yaml`,
	"sites create":     "Example:\n  galley sites create --name Shop --host-origin https://shop.example.com --labels eu,retail",
	"sites update":     "Examples:\n  galley sites update Shop --site-key-access live\n  galley sites update Shop --clear host-origin",
	"sites delete":     "Example:\n  galley sites delete Shop",
	"sites restore":    "Example:\n  galley sites restore Shop",
	"sites duplicate":  "Example:\n  galley sites duplicate Shop --name \"Shop, new design\"",
	"sites rotate-key": "Example:\n  galley sites rotate-key Shop --grace 1d",
	"sites summary":    "Example:\n  galley sites summary Shop",
	"sites discard":    "Examples:\n  galley sites discard Shop\n  galley sites discard Shop --page /about --yes",
	"sites sitemap":    "Example:\n  galley sites sitemap Shop > sitemap.xml",
	"sites robots":     "Example:\n  galley sites robots Shop",

	"locales list":    "Example:\n  galley locales list --site Shop",
	"locales get":     "Example:\n  galley locales get fr --site Shop",
	"locales create":  "Example:\n  galley locales create --site Shop --locale fr --domain https://shop.example.fr",
	"locales update":  "Example:\n  galley locales update fr --site Shop --path-prefix france",
	"locales delete":  "Example:\n  galley locales delete fr --site Shop",
	"locales restore": "Example:\n  galley locales restore fr --site Shop",

	"pages list": `Examples:
  galley pages list --site Shop
  galley pages list --site Shop --status new,changed --all
  galley pages list --site Shop --search about --output ids`,
	"pages tree":   "Example:\n  galley pages tree /blog --site Shop",
	"pages get":    "Examples:\n  galley pages get /about --site Shop\n  galley pages get /a-propos --site Shop --locale fr --version ref:live",
	"pages create": "Example:\n  galley pages create --site Shop --pathname /about --title \"About us\"",
	"pages update": `With --locale, the values are those of the locale; --clear inherits them again.

Examples:
  galley pages update /about --site Shop --title "About us"
  galley pages update /about --site Shop --locale fr --pathname /a-propos
  galley pages update /about --site Shop --is-online false`,
	"pages delete":     "Example:\n  galley pages delete /about --site Shop",
	"pages restore":    "Example:\n  galley pages restore 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"pages delocalize": "Example:\n  galley pages delocalize /about fr --site Shop",
	"pages publish":    "Example:\n  galley pages publish /about --site Shop",
	"pages discard":    "Example:\n  galley pages discard /about --site Shop",
	"pages publishes":  "Example:\n  galley pages publishes /about --site Shop",
	"pages content get": `Examples:
  galley pages content get /about --site Shop > about.json
  galley pages content get /about --site Shop --version ref:live`,
	"pages content set":    "Examples:\n  galley pages content set /about about.json --site Shop\n  render | galley pages content set /about - --site Shop --locale fr",
	"pages content delete": "Example:\n  galley pages content delete /about --site Shop --locale fr",
	"pages content diff":   "Example:\n  galley pages content diff /about --site Shop",
	"pages import": `The first line names the columns: pathname, and any of name, title, description,
canonicalUrl, socialImageUrl, sitemapPriority, sitemapFrequency, isOnline,
excludedFromSearchEngines and content. A line with a locale holds the values of that
locale. Empty values are left as they are. Lines that are refused are reported, and the
others are imported.

Examples:
  galley pages import pages.csv --site Shop
  galley pages import pages.csv --site Shop --update`,

	"routes list":   "Example:\n  galley routes list --site Shop",
	"routes get":    "Example:\n  galley routes get /cart --site Shop",
	"routes create": "Examples:\n  galley routes create --site Shop --pathname /cart\n  galley routes create --site Shop --pathname '/products/[slug]' --skip-validation",
	"routes update": "Example:\n  galley routes update /cart --site Shop --pathname /basket",
	"routes delete": "Example:\n  galley routes delete /cart --site Shop",

	"redirects list":    "Example:\n  galley redirects list --site Shop --source-prefix /old",
	"redirects get":     "Example:\n  galley redirects get 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"redirects create":  "Examples:\n  galley redirects create --site Shop --source /old --target /new\n  galley redirects create --site Shop --source '/blog/*' --target 'https://blog.example.com/*' --status 301",
	"redirects update":  "Example:\n  galley redirects update 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --target /newer",
	"redirects delete":  "Example:\n  galley redirects delete 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"redirects restore": "Example:\n  galley redirects restore 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"redirects discard": "Example:\n  galley redirects discard 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"redirects import": `The first line names the columns: source, target, and status or locale. Lines that are
refused are reported, and the others are imported.

Examples:
  galley redirects import redirects.csv --site Shop
  galley redirects import redirects.csv --site Shop --update`,

	"changes": `The plan stands for exactly these changes: 'galley publish' with it publishes them, or
nothing.

Examples:
  galley changes Shop
  galley changes Shop --page /about
  galley changes Shop --output json`,
	"export": `Writes site.yaml, locales.yaml, routes.yaml, redirects.yaml, a file for each page in
pages/ and its content in content/. The same site gives the same files. Files of pages
that are gone are removed; nothing else in the folder is touched.

Examples:
  galley export Shop ./shop
  galley export Shop ./shop --ids`,
	"plan": `Changes nothing. A page that was renamed is found by its id, if the files have ids, or by
movedFrom in its file.

Examples:
  galley plan ./shop --site Shop
  galley plan ./shop --site Shop --output json`,
	"apply": `Shows the plan and asks. If the command is cut off, run it again. With --publish, the
site goes live exactly as the files have it; if others have changed it meanwhile, the exit
code is 3.

Examples:
  galley apply ./shop --site Shop
  galley apply ./shop --site Shop --publish --yes`,
	"publish": `Shows what would change and asks. With a plan of 'galley changes', it publishes exactly
that without asking; if the draft has changed since, the exit code is 3.

Examples:
  galley publish Shop
  galley publish Shop --page /about,/contact
  galley publish Shop --plan 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
  galley publish Shop --at "2030-01-31 08:00" --yes`,
	"publishes list":    "Examples:\n  galley publishes list --site Shop\n  galley publishes list --scheduled",
	"publishes get":     "Example:\n  galley publishes get 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"publishes changes": "Example:\n  galley publishes changes 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"publishes urls":    "Example:\n  galley publishes urls 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --all",
	"publishes restore": "Example:\n  galley publishes restore 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"publishes cancel":  "Example:\n  galley publishes cancel 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",

	"previews list":   "Example:\n  galley previews list --site Shop",
	"previews get":    "Example:\n  galley previews get 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"previews create": "Example:\n  galley previews create --site Shop --name \"For review\" --path-prefix /blog --expires 12h",
	"previews delete": "Example:\n  galley previews delete 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",

	"resolve": "Examples:\n  galley resolve https://shop.example.com/fr/a-propos\n  galley resolve /about --site Shop --version ref:draft",

	"keys list":   "Example:\n  galley keys list",
	"keys get":    "Example:\n  galley keys get 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"keys create": "Example:\n  galley keys create --name Importer --scopes read,write --sites Shop --expires-at 2030-01-31",
	"keys update": "Example:\n  galley keys update 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --scopes read",
	"keys rotate": "Example:\n  galley keys rotate 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --grace 1d",
	"keys delete": "Example:\n  galley keys delete 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",

	"webhooks list":          "Example:\n  galley webhooks list",
	"webhooks get":           "Example:\n  galley webhooks get 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"webhooks create":        "Example:\n  galley webhooks create --url https://example.com/hook --types page.updated,publish.published --sites Shop",
	"webhooks update":        "Example:\n  galley webhooks update 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --is-enabled true",
	"webhooks delete":        "Example:\n  galley webhooks delete 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"webhooks rotate-secret": "Example:\n  galley webhooks rotate-secret 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --grace 2d",
	"webhooks test":          "Example:\n  galley webhooks test 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"webhooks replay":        "Example:\n  galley webhooks replay 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --since \"2030-01-31 08:00\"",
	"webhooks deliveries":    "Example:\n  galley webhooks deliveries 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --status failed",
	"webhooks delivery":      "Example:\n  galley webhooks delivery 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"webhooks redeliver":     "Example:\n  galley webhooks redeliver 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",

	"events list": `Examples:
  galley events --follow
  galley events --site Shop --types page.updated,publish.published --since 2030-01-31
  galley events --follow --output json | while read -r event; do echo "$event"; done`,
	"audit list": "Examples:\n  galley audit --site Shop\n  galley audit --resource 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b --output json",

	"completion": `Examples:
  source <(galley completion bash)
  galley completion zsh > ~/.zfunc/_galley
  galley completion fish > ~/.config/fish/completions/galley.fish`,
}
