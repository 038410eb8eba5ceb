package cli

// details are the longer help texts of the commands, by their names.
var details = map[string]string{
	"serve": `Examples:
  galley serve
  galley serve --addr :80 --data /var/lib/galley
  galley serve --database-url postgres://galley:secret@db.internal/galley
  galley serve --config /etc/galley.yaml`,
	"backup": `The backup is a consistent snapshot, taken while the server runs and writes. The
format is the same for both databases: 'galley restore' reads it into either.

Examples:
  galley backup /backups/monday.galley
  galley backup --database-url postgres://galley@localhost/galley monday.galley
  galley backup - | ssh vault 'cat > monday.galley'`,
	"restore": `The store must be empty. The file is verified before anything is written. Ids and
keys stay the same.

Examples:
  galley restore --data ./new-data /backups/monday.galley
  galley restore --database-url postgres://galley@localhost/new /backups/monday.galley`,
	"copy": `The copy is a consistent snapshot. Stop the server first: later writes are not copied.

Examples:
  galley copy --from ./galley-data --to postgres://galley@localhost/galley
  galley copy --from postgres://galley@localhost/galley --to ./galley-data`,
	"doctor": `Takes the same settings as 'galley serve', changes nothing, and can run beside a
server. The exit code is 1 if a check fails.

Examples:
  galley doctor --data /var/lib/galley
  galley doctor --config /etc/galley.yaml --deep --json`,
	"apps create": `Examples:
  galley apps create --name Importer
  galley apps create --name Reader --scopes read --rate 600/60 --json
  galley apps create --name Agency --new-workspace "Second customer"`,
	"apps list": "Example:\n  galley apps list",
	"apps rate": `The limit applies within a tenth of a second on running servers.

Example:
  galley apps rate 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b 600/60`,
	"apps scopes": "Example:\n  galley apps scopes 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b read,write,publish,admin,operator",
	"apps revoke": "Example:\n  galley apps revoke 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b",
	"healthcheck": "Example:\n  galley healthcheck --addr 127.0.0.1:8080",
	"migrate":     "Examples:\n  galley migrate --data ./galley-data\n  galley migrate --database-url postgres://galley@localhost/galley",
}
