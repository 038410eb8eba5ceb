package main

import "context"

// copied is a Galley on a copy of another's store.
type copied struct {
	*galley
	of       *galley
	engine   engine
	from, to string // the stores
}

func (c *copied) does(op operation) bool { return op.isGet() }

// start waits for the copy: there is none before it is loaded.
func (c *copied) start(ctx context.Context) error {
	if c.loaded == nil {
		return nil
	}
	return c.galley.start(ctx)
}

func (c *copied) load(ctx context.Context, _ dataset) error {
	if err := c.of.stop(); err != nil {
		return err
	}
	if err := c.engine.copy(ctx, c.from, c.to); err != nil {
		return err
	}
	c.loaded, c.key = c.of.loaded, c.of.key
	return c.of.start(ctx)
}
