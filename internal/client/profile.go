package client

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"
)

// profile is a server and the key for it.
type profile struct {
	URL string `yaml:"url"`
	Key string `yaml:"key"`
}

// profiles are what a user's configuration folder keeps.
type profiles struct {
	Current  string             `yaml:"current"`
	Profiles map[string]profile `yaml:"profiles"`
}

func (p profiles) names() []string { return slices.Sorted(maps.Keys(p.Profiles)) }

// profileFile is the name of the file. It holds keys, so only its owner may read it.
func profileFile() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for profiles: %w; set GALLEY_URL and GALLEY_KEY instead", err)
	}
	return filepath.Join(folder, "galley", "profiles.yaml"), nil
}

func loadProfiles() (profiles, error) {
	var p profiles
	name, err := profileFile()
	if err != nil {
		return p, err
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("can't read the profiles: %w", err)
	}
	if err := yaml.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("the profiles in %s are not understood: repair or remove the file", name)
	}
	return p, nil
}

// save replaces the file whole, so that a cut leaves the old one.
func (p profiles) save() error {
	name, err := profileFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("can't save the profile: %w", err)
	}
	file, err := os.CreateTemp(folder, "profiles") // its mode is 0600
	if err != nil {
		return fmt.Errorf("can't save the profile: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("can't save the profile: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// checkURL checks the URL of a server.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return usage("%q is not the URL of a server: write it like https://cms.example.com", text)
	}
	return nil
}

type profilesCommand struct {
	List profilesListCommand `cmd:"" default:"1" help:"List the servers that you are signed in to (the default)."`
	Use  profilesUseCommand  `cmd:"" help:"Use a profile from now on."`
}

type profilesListCommand struct{}

func (profilesListCommand) Run(t *Terminal) error {
	all, err := loadProfiles()
	if err != nil {
		return err
	}
	if len(all.Profiles) == 0 {
		t.note("You are not signed in: run 'galley login URL'.")
		return nil
	}
	rows := [][]string{{"CURRENT", "PROFILE", "URL"}}
	for _, name := range all.names() {
		mark := ""
		if name == all.Current {
			mark = "*"
		}
		rows = append(rows, []string{mark, name, all.Profiles[name].URL})
	}
	return t.print(layOut(rows, t.width()))
}

type profilesUseCommand struct {
	Name string `arg:"" help:"Name of the profile."`
}

func (c *profilesUseCommand) Run(t *Terminal) error {
	all, err := loadProfiles()
	if err != nil {
		return err
	}
	if _, ok := all.Profiles[c.Name]; !ok {
		return usage("there is no profile %q.%s", c.Name, suggest(c.Name, all.names()))
	}
	all.Current = c.Name
	if err := all.save(); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("Using %s, %s.\n", c.Name, all.Profiles[c.Name].URL))
}
