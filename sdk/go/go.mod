module galley/sdk/go

go 1.26
