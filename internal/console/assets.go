package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files of the console. Their addresses have a hash of all of them, so
// that browsers may keep them.
type assets struct {
	hash  string
	files map[string]asset
}

type asset struct {
	media      string
	content    []byte
	compressed func() []byte // nil: it is not smaller
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2",
	".txt": "text/plain; charset=utf-8",
}

func loadAssets() assets {
	loaded := assets{files: map[string]asset{}}
	hash := sha256.New()
	err := fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(name)
		_, _ = hash.Write(content) // a hash never fails
		loaded.files[strings.TrimPrefix(name, "assets/")] = newAsset(name, content)
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}
	loaded.hash = hex.EncodeToString(hash.Sum(nil)[:6])
	return loaded
}

func newAsset(name string, content []byte) asset {
	a := asset{media: mediaTypes[path.Ext(name)], content: content}
	if strings.HasSuffix(name, ".woff2") {
		return a
	}
	a.compressed = sync.OnceValue(func() []byte { return compress(content) })
	return a
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = w.Write(content) // memory never fails
	_ = w.Close()
	return out.Bytes()
}

func (a assets) address(name string) string { return "/console/assets/" + a.hash + "/" + name }

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	file, ok := c.assets.files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if r.PathValue("hash") == c.assets.hash { // a node of another version may have other files
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", file.media)
	h.Set("Vary", "Accept-Encoding")
	content := file.content
	if file.compressed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = file.compressed()
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // it fails if the client has disconnected
}
